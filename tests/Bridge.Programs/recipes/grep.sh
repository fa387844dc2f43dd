package=grep
tests='five searches of its source'
built='configure'
build() { ./configure --disable-dependency-tracking --disable-nls --disable-perl-regexp > /dev/null && make -s; }
check() {
  src/grep -rnE 'static (int|void|char \*)' src lib | sort | md5sum
  src/grep -c -i -w -E '(.)\1[a-z]+' lib/*.c | sort | md5sum
  src/grep -o -h -F -f <(printf 'regex\nmalloc\nhash') lib/*.c src/*.c | sort | uniq -c
  src/grep -A2 -B1 --color=always -m5 -E '^(static|#include)' src/dfasearch.c | md5sum
  src/grep -E '[[:upper:]]{3,}_[^A-Z]|^.{70,}$' -v README | md5sum
  src/grep '(\(' README && exit 1
  true
}
