package=libzstd
tests='levels, a dictionary, two threads, what is cut off'
built='make'
# Without its decoder in assembly, which would follow handles by a fault for each access.
build() { make -s -C programs CC="$CC" CFLAGS="$CFLAGS" HAVE_LZMA=0 HAVE_LZ4=0 HAVE_ZLIB=0 ZSTD_NO_ASM=1 zstd; }
check() {
  cat lib/*/*.c > all
  local level
  for level in 1 7; do
    programs/zstd -q -$level -c all > all.zst
    md5sum < all.zst
    programs/zstd -q -dc all.zst | cmp - all
  done
  programs/zstd -q -19 -c lib/compress/zstd_opt.c | tee opt.zst | md5sum
  programs/zstd -q -dc opt.zst | cmp - lib/compress/zstd_opt.c
  programs/zstd -q -T2 -3 -c all | md5sum
  programs/zstd -q --train lib/*/*.[ch] --maxdict=4000 -o dictionary
  programs/zstd -q -D dictionary -c lib/common/xxhash.c | programs/zstd -q -D dictionary -dc | cmp - lib/common/xxhash.c
  head -c 3000 all.zst | programs/zstd -q -t && exit 1
  true
}
