package=gawk
tests='27 of its own tests, scripts with arrays of arrays'
built='configure'
build() { ./configure --disable-dependency-tracking --disable-nls --disable-extensions --without-readline > /dev/null && make -s -C support && make -s gawk; }
# A dozen of its own tests beside a script.
check() {
  local name
  cat ./*.c | ./gawk '{ for (i = 1; i <= NF; i++) n[$i]++ } END { PROCINFO["sorted_in"] = "@val_num_desc"; for (w in n) { print w, n[w]; if (++k == 40) break } }'
  ./gawk 'BEGIN { for (i = 0; i < 5000; i++) { a[i % 97][i] = sprintf("%d-%s", i, substr("abcdefgh", i % 8)); if (i % 3 == 0) delete a[i % 50] }
    for (k in a) for (j in a[k]) s += length(a[k][j]); print s; print gensub(/([a-c]+)/, "<\\1>", "g", "xxabcyycab"); print asort(ENVIRON) > 0 }'
  for name in addcomma anchgsub arrayref arrymem1 asort asorti concat1 dynlj fsfwfs funstack gensub getline gsubtest mbprintf1 nasty nested nlfldsep \
    opasnidx prdupval rebt8b1 reparse rsnul1nl sortfor splitarr strfieldnum swaplns uninit2 wideidx; do
    if [ -f test/$name.in ]; then ./gawk -f test/$name.awk test/$name.in > out 2>&1 || echo "EXIT CODE: $?" >> out; else ./gawk -f test/$name.awk < /dev/null > out 2>&1 || echo "EXIT CODE: $?" >> out; fi
    echo "$name $(md5sum < out)"
  done
}
