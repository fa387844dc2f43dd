package=expat
tests='its own tests in C and C++ (without stress), `xmlwf` on 3,000 elements'
built='configure'
needs="autoconf automake libtool"
build() {
  cd expat
  autoreconf -fi > /dev/null 2>&1
  ./configure --disable-dependency-tracking --disable-shared --without-docbook --without-examples > /dev/null
  make -s && make -s -C tests check TESTS=
}
# Its own tests, in C and in C++, and its program.
check() {
  cd expat
  # A test of them fills buffers of 16 MB byte by byte: minutes while threads are stopped all the time.
  local one
  if [ -z "${FREEHOLD_NATIVE_STRESS:-}" ]; then
    for one in tests/runtests tests/runtestspp; do $one > log || { tail -n 5 log; exit 1; }; done
  fi
  awk 'BEGIN { print "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY e \"text of &#38;lt; an entity\"><!ATTLIST b kind CDATA \"none\">]><a>"
    for (i = 0; i < 3000; i++) print "<b n=\"" i "\" m=\"" i % 7 "\">&e;<c/>" i "<![CDATA[<" i ">]]></b>"; print "</a>" }' > big.xml
  mkdir -p plain meta
  xmlwf/xmlwf -d plain big.xml && md5sum < plain/big.xml
  xmlwf/xmlwf -m -d meta big.xml && md5sum < meta/big.xml
  sed '2000s/<c/<d>/' big.xml > wrong.xml
  xmlwf/xmlwf wrong.xml || true
}
