package=tinyxml2
tests='its own tests; C++'
built='one command'
quick=true
# C++: its own tests.
build() { $CXX $CXXFLAGS tinyxml2.cpp xmltest.cpp -o xmltest; }
check() { mkdir -p resources/out && ./xmltest | sed '/[Tt]ime\|seconds\|Parsing dream/d' | tail -n 60; }
