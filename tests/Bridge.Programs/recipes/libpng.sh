package=libpng1.6
tests='its own tests (`pngvalid` without stress), over a zlib with handles'
built='configure'
also=zlib
build() {
  (cd zlib && ./configure --static > /dev/null && make -s libz.a)
  ./configure --disable-dependency-tracking --disable-shared CPPFLAGS=-I"$PWD/zlib" LDFLAGS=-L"$PWD/zlib" > /dev/null && make -s libpng16.la pngtest pngunknown pngstest pngvalid
}
# Its own tests.
check() {
  ./pngtest pngtest.png | sed -E '/CPU time|version|bufsize|library/d'
  md5sum < pngout.png
  ./pngstest --strict --log contrib/testpngs/gray-*1-linear.png contrib/testpngs/rgb-alpha-8-*.png contrib/testpngs/palette-*.png | sed 's/^.*PASS/PASS/'
  ./pngunknown --strict default=discard pngtest.png
  # It takes minutes while threads are stopped all the time.
  if [ -z "${FREEHOLD_NATIVE_STRESS:-}" ]; then ./pngvalid --size --nogamma-transform > /dev/null; fi
}
