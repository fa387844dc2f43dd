package=bc
tests='its `bc` and `dc`: digits of π, functions, bases, errors'
built='configure'
needs="ed flex bison"
build() { CFLAGS="$CFLAGS -Wno-error=implicit-function-declaration" ./configure --disable-dependency-tracking > /dev/null && make -s MAKEINFO=true; }
check() {
  printf 'scale=60\n4*a(1)\ne(1)\nfor (i = 1; i < 40; i++) p = p + i^i\np\nsqrt(2)\ndefine f(n) { if (n < 2) return 1; return n * f(n - 1) }\nf(120)\nobase=16\n2^200+1\n' | bc/bc -l
  printf '20k 2 v p [la1+dsa*pla100>y]sy 0sa1lyx 3 100^p\n' | dc/dc
  echo '1/(' | bc/bc 2>&1 | head -n 1
}
