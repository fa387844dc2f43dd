package=jq
tests='its own tests, 300 objects grouped and sorted'
built='configure'
needs="autoconf automake libtool"
build() {
  autoreconf -fi > /dev/null 2>&1
  ./configure --disable-dependency-tracking --disable-shared --disable-maintainer-mode --disable-docs --without-oniguruma > /dev/null
  # libtool's object does not depend on it, and make works on several files at a time.
  make -s src/builtin.inc && make -s jq
}
# Its own tests. Each compiles jq's own functions first: minutes for all of them while threads are stopped all the time.
check() {
  if [ -z "${FREEHOLD_NATIVE_STRESS:-}" ]; then ./jq -L tests/modules --run-tests tests/jq.test > log || { tail -n 3 log; exit 1; }; fi
  awk -v RS= -v ORS='\n\n' 'NR % 40 == 0' tests/jq.test > some.test
  ./jq -L tests/modules --run-tests some.test | tail -n 3
  ./jq -n '[range(300) | {key: "k\(. * 7919 % 301)", value: {n: ., list: [., . + 1]}}] | from_entries' > big.json
  md5sum < big.json
  ./jq -c 'to_entries | group_by(.value.n % 7) | map({n: length, sum: map(.value.n) | add, last: (sort_by(.key) | last.key)})' big.json
  ./jq '[paths] | length' big.json
  ./jq -S -c '.. | numbers? | select(. > 290)' big.json | sort | md5sum
  ./jq --stream -c . big.json | md5sum
  ./jq -n 'def f: if . > 1 then . * (. - 1 | f) else 1 end; [range(15) | f], ([limit(5; repeat("x"))] | join("-")), (try error("y") catch .)'
  head -c 1000 big.json | ./jq . && exit 1
  true
}
