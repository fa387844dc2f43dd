package=cjson
tests='its own tests'
built='CMake'
needs="cmake"
quick=true
build() {
  cmake -S . -B out -DCMAKE_BUILD_TYPE=None -DENABLE_CJSON_UTILS=ON -DBUILD_SHARED_LIBS=OFF -DENABLE_CUSTOM_COMPILER_FLAGS=OFF > /dev/null
  cmake --build out -j "$(nproc)" > /dev/null
}
# Its own tests.
check() {
  cd out/tests
  local one
  for one in *_tests *_test parse_* print_* misc_utils_tests; do
    if [ -x "$one" ] && [ -f "$one" ]; then echo "$one"; "./$one" 2>&1 | sed -E 's/^.*\/([a-z_0-9]+\.c)/\1/' | tail -n 30 || true; fi
  done
  cd .. && ./cJSON_test
}
