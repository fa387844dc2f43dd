package=sed
tests='seven scripts over its source'
built='configure'
build() { ./configure --disable-dependency-tracking --disable-nls > /dev/null && make -s; }
check() {
  sed/sed -E 's/([a-z_]+)\(([a-z]+)/\2<\1>/g; /^$/d' sed/*.c | md5sum
  sed/sed -n '$=; /static/{h;n;G;p}' sed/execute.c | md5sum
  sed/sed -e :a -e '$q;N;11,$D;ba' sed/compile.c
  sed/sed --posix 'y/abc/xyz/; s/x*/-/3; w written' README | md5sum
  md5sum < written
  printf 'one\ntwo\n' | sed/sed -z 's/\n/,/g; s/\(o\)\(n\)/\U\2\1/'
  sed/sed 's/(/' README && exit 1
  true
}
