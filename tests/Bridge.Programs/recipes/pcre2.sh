package=pcre2
tests='11 of its own tests'
built='configure'
build() { ./configure --disable-dependency-tracking --disable-shared > /dev/null && make -s; }
# Its own tests.
check() {
  local n
  for n in 1 2 3 8 9 10 11 12 15 18 20; do
    [ -f testdata/testinput$n ] && ./pcre2test -q -8 testdata/testinput$n out > /dev/null 2>&1 || true
    echo "$n $(md5sum < out)"
  done
  ./pcre2grep -n '(?<=static )\w+(?=\s)' src/*.c | md5sum
}
