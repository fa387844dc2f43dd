package=dash
tests='scripts: loops, functions, traps, substitutions'
built='configure'
needs="autoconf automake"
build() { autoreconf -fi > /dev/null 2>&1 && ./configure > /dev/null && make -s; }
check() {
  src/dash -c 'i=0; s=; while [ $i -lt 3000 ]; do i=$((i + 1)); s="$s$((i % 10))"; case $i in *00) echo "$i ${#s} ${s#*5}" | cut -c1-60 ;; esac; done'
  src/dash -c 'f() { local a="$1"; if [ "$a" -gt 0 ]; then f $((a - 1)); else echo deep; fi; }; f 200; trap "echo bye" EXIT; set -- a "b c" d; for x in "$@"; do echo "<$x>"; done; cat <<END
${1}-$(echo "nested $(echo twice)")
END'
  src/dash -c 'for f in src/*.c; do echo "${f##*/}" "$(wc -l < $f)"; done; (exit 3) || echo $?; printf "%s|%5d\n" x 7; echo "${undefined:-none}"; unset -v f; eval "v=5"; echo $((v * 0x10))'
  src/dash -c 'if then' 2> /dev/null && exit 1
  true
}
