package=duktape
tests='JavaScript: closures, sorting, regular expressions, its `mandel.js`'
built='one command'
build() {
  $CC $CFLAGS -DDUK_CMDLINE_PRINTALERT_SUPPORT -Isrc -Iexamples/cmdline -Iextras/print-alert src/duktape.c examples/cmdline/duk_cmdline.c \
    extras/print-alert/duk_print_alert.c -lm -o duk
}
check() {
  ./duk "$here/recipes/script.js"
  ./duk mandel.js | md5sum
}
