package=yajl
tests='its own cases; callbacks in both directions'
built='CMake, a shared library'
needs="cmake"
quick=true
build() {
  cmake -S . -B out -DCMAKE_BUILD_TYPE=None > /dev/null
  cmake --build out > /dev/null
}
# Its own cases: callbacks in both directions.
check() {
  local case options
  for case in test/parsing/cases/*.json; do
    options=
    case ${case##*/} in ac_*) options="-c" ;; am_*) options="-m" ;; ag_*) options="-g" ;; ap_*) options="-p" ;; esac
    # shellcheck disable=SC2086
    out/test/parsing/yajl_test $options -b 1024 "$case" || echo "refused ${case##*/}"
  done 2>&1 | md5sum
  awk 'BEGIN { printf "["; for (i = 0; i < 4000; i++) printf "%s{\"n\":%d,\"t\":\"text \\u00e9 %d\",\"a\":[1,2.5e3,null,true,{}]}", i ? "," : "", i, i % 97; print "]" }' > big.json
  out/yajl-*/bin/json_reformat < big.json | tee nice.json | md5sum
  out/yajl-*/bin/json_reformat -m < nice.json | md5sum
  out/yajl-*/bin/json_verify < big.json
  head -c 20000 big.json | out/yajl-*/bin/json_verify || echo refused
}
