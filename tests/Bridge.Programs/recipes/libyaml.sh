package=libyaml
tests='its own tests, 800 items there and back'
built='CMake'
needs="cmake"
quick=true
build() {
  cmake -S . -B out -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=OFF > /dev/null
  cmake --build out -j "$(nproc)" > /dev/null
}
# Its own tests.
check() {
  local one program
  out/test-reader | md5sum
  out/test-version
  for program in scanner parser loader emitter dumper; do (cd examples && "../out/run-$program" ./*.yaml) || echo "$program failed"; done | md5sum
  awk 'BEGIN { for (i = 0; i < 800; i++) print "- &a" i " {name: item " i ", list: [1, two, \"three\\n\"], text: |\n    line " i "\n    more\n  , tag: !!str " i "}" }' > flow.yaml || true
  awk 'BEGIN { for (i = 0; i < 800; i++) print "- name: &a" i " item " i "\n  list: [1, two, \"three\\n\", *a" i "]\n  text: |\n    line " i "\n    more" }' > big.yaml
  for one in flow.yaml big.yaml; do out/run-parser-test-suite "$one" 2>&1 | tee events | md5sum || true; done
  out/run-emitter-test-suite events | md5sum
  out/example-reformatter < big.yaml | md5sum
  out/example-deconstructor < big.yaml | md5sum
}
