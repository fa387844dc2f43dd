package=gzip
tests='its source there and back, what is cut off'
built='configure'
quick=true
build() { ./configure --disable-dependency-tracking > /dev/null && make -s; }
check() {
  cat ./*.c | ./gzip -9n > all.gz
  md5sum < all.gz
  ./gzip -dc all.gz | md5sum
  cat ChangeLog* | ./gzip -1n | ./gzip -dc | md5sum
  head -c 2000 all.gz | ./gzip -t && exit 1
  ./gzip -lv all.gz | tail -n 1 | awk '{ print $1, $2, $6, $7 }'
}
