package=zlib
tests='its own tests'
built='configure'
quick=true
build() { ./configure --static && make -s; }
# Its own tests.
check() {
  ./example
  cat ./*.c ChangeLog | ./minigzip -9 > all.gz
  md5sum < all.gz
  ./minigzip -d < all.gz | md5sum
}
