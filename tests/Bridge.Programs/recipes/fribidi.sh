package=fribidi
needs="meson ninja-build python3"
# By Meson: a shared library, and programs that make parts of its source.
build() {
  meson setup out --buildtype=plain -Ddocs=false > /dev/null
  ninja -C out > /dev/null
}
# Its own tests.
check() {
  meson test -C out --no-rebuild -t 0 > log 2>&1 || tail -n 20 log
  sed -nE 's/^ *[0-9]+\/[0-9]+ +(.*[^ ]) +(OK|FAIL|TIMEOUT|ERROR|SKIP) .*/\1 \2/p' log | sort
  local one
  for one in test/test_UTF-8_*.input; do out/bin/fribidi --test --charset UTF-8 --ltr --width 40 --breakall "$one" | md5sum; done
  out/bin/fribidi --charset CapRTL --caprtl --test test/test_CapRTL_explicit.input > /dev/null 2>&1 || true
  out/bin/fribidi-bidi-types "$(printf '\327\251\327\234a1')" 2>&1 | md5sum || true
}
