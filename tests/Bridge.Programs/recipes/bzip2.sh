package=bzip2
tests='its samples, its source there and back, what is cut off'
built='make, a shared library'
quick=true
build() { make -s CC="$CC" CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64" bzip2 bzip2recover; }
# Its own samples, its own source there and back, and what is cut off.
check() {
  export LD_LIBRARY_PATH=$PWD
  local n
  for n in 1 2 3; do
    ./bzip2 -dc < sample$n.bz2 | cmp - sample$n.ref
    ./bzip2 -$n < sample$n.ref | cmp - sample$n.bz2
  done
  cat ./*.c | ./bzip2 -9 > all.bz2
  md5sum < all.bz2
  ./bzip2 -d < all.bz2 | md5sum
  head -c 1000 all.bz2 | ./bzip2 -t && exit 1
  rm -f rec0*
  ./bzip2recover sample1.bz2
}
