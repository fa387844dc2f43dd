package=ed
tests='its own tests'
built='configure'
quick=true
build() { ./configure CC="$CC" CFLAGS="$CFLAGS" > /dev/null && make -s; }
# Its own tests.
check() { sh testsuite/check.sh testsuite 1.19 | sed '/^testing/d'; }
