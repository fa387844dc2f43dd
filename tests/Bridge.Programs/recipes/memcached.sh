package=memcached
tests='4,800 commands by a socket, two threads'
built='configure'
needs="libevent-dev"
build() { ./configure --disable-dependency-tracking > /dev/null && make -s memcached; }
check() {
  rm -f socket
  ./memcached -u root -s "$PWD/socket" -m 8 -t 2 & server=$!
  for _ in $(seq 200); do [ -S socket ] && break; sleep 0.1; done
  perl -MIO::Socket::UNIX -e '
    my $s = IO::Socket::UNIX->new("socket") or die; my ($sum, $hits) = (0, 0);
    sub line { my $l = <$s>; $l =~ s/\r\n//; $l }
    for my $i (0 .. 4000) { my $v = "x" x ($i % 400) . $i; print $s "set k" . $i % 700 . " 0 0 " . length($v) . "\r\n$v\r\n"; line() eq "STORED" or die }
    for my $i (0 .. 800) { print $s "get k$i\r\n"; my $l = line(); if ($l =~ /^VALUE \S+ 0 (\d+)/) { $hits++; $sum += $1; line(); line() } }
    print "$hits $sum\n";
    print $s "add n 0 0 1\r\n5\r\nincr n 37\r\ndecr n 2\r\nappend n 0 0 2\r\nab\r\nget n\r\ndelete n\r\nget n\r\ntouch k1 100\r\ngets k1\r\nflush_all\r\nget k1\r\nversion\r\nquit\r\n";
    while (<$s>) { print }'
  kill $server
  wait $server || true
}
