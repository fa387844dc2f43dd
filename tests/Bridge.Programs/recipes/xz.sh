package=xz-utils
tests='levels, filters, two threads, what is cut off'
built='configure'
build() { ./configure --disable-dependency-tracking --disable-shared --disable-nls --disable-doc > /dev/null && make -s; }
check() {
  cat src/liblzma/*/*.c > all
  local level
  for level in 0 3 6e; do
    src/xz/xz -$level -c --check=sha256 all > all.xz
    md5sum < all.xz
    src/xz/xz -dc all.xz | cmp - all
  done
  src/xz/xz --format=lzma -T2 -c all | md5sum
  src/xz/xz -T2 --block-size=40000 -c all | src/xz/xz -dc -T2 | cmp - all
  src/xz/xz --x86 --lzma2=preset=4 -c src/xz/xz.1 | src/xz/xz -dc | cmp - src/xz/xz.1
  src/xz/xz --robot -l all.xz | awk '{ print $1, $2, $3 }'
  head -c 3000 all.xz | src/xz/xz -t && exit 1
  true
}
