package=tinyxml2
quick=true
# C++: its own tests.
build() { $CXX $CXXFLAGS tinyxml2.cpp xmltest.cpp -o xmltest; }
check() { mkdir -p resources/out && ./xmltest | sed '/[Tt]ime\|seconds\|Parsing dream/d' | tail -n 60; }
