package=sqlite3
needs="tcl"
build() { ./configure --disable-dependency-tracking --disable-shared --disable-tcl --disable-readline > /dev/null && make -s sqlite3; }
check() { ./sqlite3 < "$here/recipes/sqlite.sql"; }
