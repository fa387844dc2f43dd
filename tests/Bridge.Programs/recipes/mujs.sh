package=mujs
tests='the script of duktape'
built='make'
quick=true
build() { make -s build=plain HAVE_READLINE=no CC="$CC" XCFLAGS= CFLAGS="$CFLAGS -std=c99" build/plain/mujs; }
check() { build/plain/mujs "$here/recipes/script.js"; }
