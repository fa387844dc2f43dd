package=ninja-build
tests='a graph of 100 files: dry, for real, its tools; C++'
built='configure.py'
needs="python3"
build() { CFLAGS="$CXXFLAGS" ./configure.py --bootstrap > /dev/null; }
# C++ with containers: graphs of many files, dry and for real.
check() {
  awk 'BEGIN { print "rule copy\n  command = cp $in $out && touch $out\n  description = COPY $out\nrule join\n  command = cat $in > $out\n  depfile = $out.d"
    for (i = 0; i < 40; i++) print "build out/a" i ": copy source\nbuild out/b" i ": copy out/a" i " | out/a" (i * 7) % 40
    for (i = 0; i < 20; i++) print "build out/j" i ": join out/b" i " out/b" (i + 20) " || out/a1"
    print "build all: phony out/j1 out/j2 out/j3\nbuild every: phony out/j0 out/j19 all\ndefault every" }' > build.ninja
  echo text > source
  ./ninja -n -v | sed 's/^\[[^]]*\] //' | sort | md5sum
  # Which of two commands ends first is no matter of ninja's.
  ended() { sed 's/^\[[^]]*\] //; s/[0-9]\{6,\}//g' | sort; }
  ./ninja -j 2 | ended
  ./ninja | ended
  touch out/a7 && ./ninja -d explain 2>&1 | ended
  ./ninja -t graph | sed -E 's/0x[0-9a-f]+//g' | sort | md5sum
  ./ninja -t targets all | md5sum
  ./ninja -t query out/j3
  ./ninja -t commands every | sort | md5sum
  ./ninja -t compdb copy | sed '/"directory"/d' | md5sum
  ./ninja -t clean
  ./ninja missing || true
  cat out/j3 2> /dev/null || echo gone
}
