package=tinyxml2
quick=true
# C++: its own tests.
build() { $CXX $CXXFLAGS tinyxml2.cpp xmltest.cpp -o xmltest; }
check() { mkdir -p resources/out && ./xmltest | sed '/[Tt]ime\|seconds\|Parsing dream/d' | md5sum; ./xmltest resources/utf8test.xml | tail -n 3; }
