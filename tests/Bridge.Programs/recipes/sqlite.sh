package=sqlite3
tests='tables, indexes, joins, triggers, a recursive query'
built='configure'
needs="tcl"
build() { ./configure --disable-dependency-tracking --disable-shared --disable-tcl --disable-readline > /dev/null && make -s sqlite3; }
check() { ./sqlite3 < "$here/recipes/sqlite.sql"; }
