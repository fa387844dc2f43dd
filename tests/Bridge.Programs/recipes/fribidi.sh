package=fribidi
tests='its own tests, the conformance test of Unicode'
built='Meson, a shared library'
needs="meson ninja-build python3"
# By Meson: a shared library, and programs that make parts of its source.
build() {
  meson setup out --buildtype=plain -Ddocs=false > /dev/null
  ninja -C out > /dev/null
}
# Its own tests.
check() {
  local one
  meson test -C out --no-rebuild -t 0 > log 2>&1 || tail -n 20 log
  sed -nE 's/^ *[0-9]+\/[0-9]+ +(.*[^ ]) +(OK|FAIL|TIMEOUT|ERROR|SKIP) .*/\1 \2/p' log | sort
  for one in test/test_UTF-8_*.input; do out/bin/fribidi --charset UTF-8 --ltr --width 40 --break "$one" | md5sum; done
}
