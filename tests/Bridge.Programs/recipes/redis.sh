package=redis
tests='10,000 commands, its Lua, saving and loading, a child that rewrites'
built='make'
needs="tcl"
build() { make -s -C src MALLOC=libc USE_SYSTEMD=no BUILD_TLS=no OPTIMIZATION= CFLAGS="$CFLAGS" V=1 redis-server redis-cli redis-benchmark > /dev/null 2>&1; }
# Commands of most kinds, a script in its Lua, and what it saves and loads again.
check() {
  rm -f dump.rdb socket
  start() {
    src/redis-server --port 0 --unixsocket "$PWD/socket" --save '' --dbfilename dump.rdb --dir "$PWD" --logfile log > /dev/null & server=$!
    for _ in $(seq 300); do src/redis-cli -s socket ping > /dev/null 2>&1 && break; sleep 0.1; done
  }
  start
  { for i in $(seq 1500); do
    echo "set s$((i % 400)) value-$i"; echo "rpush l$((i % 9)) $i"; echo "hset h$((i % 11)) f$i $((i * i))"; echo "zadd z $((i * 7919 % 1501)) m$i"
    echo "sadd set$((i % 5)) $((i % 333))"; echo "incrby n $i"; echo "append a x$i"; if [ $((i % 3)) = 0 ]; then echo "del s$((i % 100))"; echo "lpop l$((i % 9))"; fi
  done; } | src/redis-cli -s socket | md5sum
  { printf 'zrange z 0 20 withscores\nzrevrank z m77\nsinter set1 set2\nsort l3 desc limit 0 10\nhgetall h3\ngetrange a 100 160\nobject encoding h3\nxadd x 1-1 a b\nxadd x 1-2 c d\nxrange x - +\npfadd p a b c d\npfcount p\nbitcount a\nsetrange s1 10 abc\nget s1\ngeoadd g 13.36 38.11 one 15.08 37.5 two\ngeodist g one two\nbitfield b set u8 0 200 get u4 2\nmulti\nincr n\nlrange l1 0 3\nexec\nget missing\nwrong\n'; } | src/redis-cli -s socket | md5sum
  src/redis-cli -s socket eval 'local t = {} for i = 1, 300 do redis.call("rpush", KEYS[1], i .. string.rep("y", i % 20)) t[#t + 1] = redis.call("llen", KEYS[1]) end return {#t, cjson.encode({a = t[#t]}), redis.sha1hex("x")}' 1 lua
  src/redis-cli -s socket debug digest
  src/redis-cli -s socket save
  src/redis-cli -s socket debug reload
  src/redis-cli -s socket debug digest
  src/redis-cli -s socket bgrewriteaof > /dev/null
  src/redis-cli -s socket shutdown nosave
  wait $server
  start
  src/redis-cli -s socket debug digest
  src/redis-cli -s socket dbsize
  src/redis-cli -s socket shutdown nosave
  wait $server
}
