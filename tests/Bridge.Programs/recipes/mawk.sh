package=mawk
tests='three scripts over its source'
built='configure'
quick=true
build() { ./configure --without-builtin-regex > /dev/null 2>&1 || ./configure > /dev/null; make -s; }
check() {
  cat ./*.c ./*.h | ./mawk '{ for (i = 1; i <= NF; i++) { n[$i]++; if (match($i, /[a-z_]+\(/)) calls[substr($i, RSTART, RLENGTH)]++ } }
    END { for (w in n) { total += n[w]; words++ } print words, total; for (c in calls) k++; print k }'
  cat ./*.c | ./mawk '{ gsub(/[ \t]+/, " "); sub(/^ /, ""); line[NR] = $0 } END { for (i = NR; i > NR - 200; i--) print length(line[i]), toupper(substr(line[i], 1, 20)) }'
  ./mawk 'BEGIN { for (i = 0; i < 20000; i++) { a[i % 977] = a[i % 977] i; if (i % 3 == 0) delete a[i % 500] } for (k in a) s += length(a[k]); print s; printf "%5.2f|%-8s|%x\n", 3.14159, "left", 255 }'
}
