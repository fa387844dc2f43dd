package=pugixml
tests='its own tests; C++'
built='one command'
# C++: its own tests.
build() { $CXX $CXXFLAGS -DNDEBUG -fexceptions src/pugixml.cpp $(ls tests/*.cpp | grep -v fuzz_) -o unit; }
check() { ./unit | tail -n 3; }
