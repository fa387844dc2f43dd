package=lz4
tests='its source there and back at two levels'
built='make'
quick=true
build() {
  make -s -C lib CC="$CC" CFLAGS="$CFLAGS" liblz4.a
  make -s -C programs CC="$CC" CFLAGS="$CFLAGS" LDFLAGS=-L../lib lz4
}
check() {
  cat lib/lz4*.c > all
  local level
  for level in 1 12; do
    programs/lz4 -q -$level -c all > all.lz4
    md5sum < all.lz4
    programs/lz4 -q -dc all.lz4 | cmp - all
  done
  head -c 3000 all.lz4 | programs/lz4 -q -dc > /dev/null && exit 1
  true
}
