# What programs.py runs: a function for each recipe of tests/Bridge.Programs, with what it prints to compare. INPUT is 5 MB of C. `text` names the files whose code is measured.
# About a second each by clang, nearly all of it in the program itself.

work_bc() { text=bc/bc; echo 'scale=1500; 4*a(1); e(1); sqrt(2)' | BC_LINE_LENGTH=0 bc/bc -l; }
work_bzip2() { text="bzip2 libbz2.so.1.0.4"; export LD_LIBRARY_PATH=$PWD; ./bzip2 -9 < "$INPUT" > out && ./bzip2 -d < out; }
work_dash() { text=src/dash; src/dash -c 'i=0; s=; while [ $i -lt 150000 ]; do i=$((i + 1)); s="${s#???????????????????}$((i % 10))x"; case $i in *0000) echo "$i ${#s}" ;; esac; done'; }
work_duktape() { text=duk; ./duk "$script"; }
work_ed() { text=ed; { for _ in 1 2 3; do echo 'g/static/s/t/T/g'; echo 'g/int/m0'; echo 'u'; done; echo ',n'; echo Q; } | ./ed -s "$INPUT"; }
work_expat() { text=expat/xmlwf/xmlwf; mkdir -p meta plain; expat/xmlwf/xmlwf -m -d meta "$XML"; expat/xmlwf/xmlwf -d plain "$XML"; cat meta/input.xml plain/input.xml | md5sum; }
work_figlet() { text=figlet; head -n 40000 "$INPUT" | tr -cd 'a-zA-Z \n' | ./figlet -d fonts -f small -k -w 200; }
work_gawk() { text=gawk; ./gawk "$words" "$INPUT"; }
work_grep() { text=src/grep; src/grep -c -E '(.)\1[a-z]+|[[:upper:]]{3,}_[^A-Z]' "$INPUT"; src/grep -c -i -w -E '[a-z]+(a|e)[^ ]*\(' "$INPUT"; }
work_gzip() { text=gzip; ./gzip -9n < "$INPUT" > out && ./gzip -d < out; }
work_jq() { text=jq; ./jq -n -c '[range(60000) | {key: "k\(. * 7919 % 60013)", n: .}] | (sort_by(.key) | .[17], .[4711]), (group_by(.n % 97) | map(length) | add), (map(.n) | add)'; }
work_jsoncpp() { text=out/bin/jsontestrunner_exe; cp "$JSON" in.json; for _ in 1 2 3; do out/bin/jsontestrunner_exe in.json; done; md5sum < in.actual; }
work_libyaml() { text=out/run-parser-test-suite; for _ in 1 2 3 4; do out/run-parser-test-suite "$YAML"; done | md5sum; }
work_lua() { text=src/lua; src/lua "$lua"; }
work_lz4() { text=programs/lz4; programs/lz4 -q -12 -c "$INPUT" > out; for _ in 1 2 3 4 5 6 7 8; do programs/lz4 -q -1 -c "$INPUT" | programs/lz4 -q -dc | md5sum; done; }
work_mawk() { text=mawk; ./mawk "$words" "$INPUT"; ./mawk "$words" "$INPUT"; }
work_mujs() { text=build/plain/mujs; build/plain/mujs "$script"; }
work_ninja() { text=ninja; awk "$graph" > build.ninja; ./ninja -n | md5sum; ./ninja -t graph | sed -E 's/0x[0-9a-f]+//g' | sort | md5sum; ./ninja -t commands | md5sum; }
work_pcre2() { text=pcre2grep; ./pcre2grep -c '(?<=static )\w+(?=\s)|\b(\w)\w*\1\b' "$INPUT"; }
work_sed() { text=sed/sed; sed/sed -E 's/([a-z_]+)\(([a-z]+)/\2<\1>/g; /^$/d; s/[0-9]+/#/g' "$INPUT"; }
work_sqlite() { text=sqlite3; ./sqlite3 < "$sql"; }
work_tcc() { text=tcc; for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do ./tcc -B. -Iinclude -c -o out.o tcc.c -DONE_SOURCE=1 -DTCC_TARGET_X86_64 -I. && md5sum < out.o; done; }
work_tcl() { text=unix/tclsh; TCL_LIBRARY=$PWD/library unix/tclsh "$tcl"; }
work_xz() { text=src/xz/xz; src/xz/xz -2 -c "$INPUT" > out && src/xz/xz -dc out; }
work_yajl() { text="out/yajl-2.1.0/bin/json_reformat out/yajl-2.1.0/lib/libyajl.so.2.1.0"; for _ in 1 2 3 4 5 6; do out/yajl-*/bin/json_reformat < "$JSON" | md5sum; done; }
work_zlib() { text=minigzip; ./minigzip -6 < "$INPUT" > out && ./minigzip -d < out; }
work_zstd() { text=programs/zstd; programs/zstd -q -9 --single-thread -c "$INPUT" > out; for _ in 1 2 3 4; do programs/zstd -q -1 --single-thread -c "$INPUT" | programs/zstd -q -dc; done | md5sum; }

words='{ for (i = 1; i <= NF; i++) { n[$i]++; if (match($i, /[a-z_]+\(/)) calls[substr($i, RSTART, RLENGTH)]++ } gsub(/[ \t]+/, " "); total += length($0) }
  END { for (w in n) { sum += n[w]; words++ } for (c in calls) k++; print total, words, sum, k }'
graph='BEGIN { print "rule copy\n  command = cp $in $out\n  description = COPY $out"
  for (i = 0; i < 30000; i++) { printf "build out/dir%d/a%d: copy in%d", i % 100, i, i % 50; for (j = 1; j < 6 && i >= j * 97; j++) printf " out/dir%d/a%d", (i - j * 97) % 100, i - j * 97; print "" }
  print "build in: phony"; for (i = 0; i < 50; i++) print "build in" i ": phony" }'

# The inputs, once: input <folder of sources> <folder>
make_inputs() {
  cat "$1"/sqlite3/*/src/[a-v]*.c > "$2/all" && head -c 5000000 "$2/all" > "$2/input.c" && rm "$2/all"
  awk 'BEGIN { print "<?xml version=\"1.0\"?><a>"; for (i = 0; i < 150000; i++) print "<b n=\"" i "\" m=\"" i % 7 "\">text " i " &lt;<c/><![CDATA[<" i ">]]></b>"; print "</a>" }' > "$2/input.xml"
  awk 'BEGIN { printf "["; for (i = 0; i < 40000; i++) printf "%s{\"n\":%d,\"t\":\"text \\u00e9 %d\",\"a\":[1,2.5e3,null,true,{}]}", i ? "," : "", i, i % 97; print "]" }' > "$2/input.json"
  awk 'BEGIN { for (i = 0; i < 25000; i++) print "- name: &a" i " item " i "\n  list: [1, two, \"three\\n\", *a" i "]\n  text: |\n    line " i "\n    more" }' > "$2/input.yaml"
  cat > "$2/script.js" <<'END'
var seed = 42;
function random(n) { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; }
function Node(key) { this.key = key; this.left = null; this.right = null; }
function insert(node, key) { if (node === null) return new Node(key); if (key < node.key) node.left = insert(node.left, key); else node.right = insert(node.right, key); return node; }
function depth(node) { return node === null ? 0 : 1 + Math.max(depth(node.left), depth(node.right)); }
var root = null, text = "", counts = {}, array = [], i;
for (i = 0; i < 12000; i++) root = insert(root, random(30000));
for (i = 0; i < 60000; i++) { var key = "k" + random(5000); counts[key] = (counts[key] || 0) + 1; array.push(random(1000)); }
array.sort(function (a, b) { return a - b; });
for (i = 0; i < 20000; i++) { text += String.fromCharCode(97 + random(26)); if (text.length > 500) text = text.substring(250); }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
print(depth(root), Object.keys(counts).length, array[30000], text.length, fib(24));
END
  cat > "$2/script.lua" <<'END'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local words, list, tree = {}, {}, nil
local seed = 42
local function random(n) seed = (seed * 1103515245 + 12345) % 2147483648; return (seed // 65536) % n end
local function insert(node, key)
  if not node then return {key = key} end
  if key < node.key then node.left = insert(node.left, key) else node.right = insert(node.right, key) end
  return node
end
for i = 1, 60000 do tree = insert(tree, random(30000)) end
for i = 1, 200000 do local key = "k" .. random(5000); words[key] = (words[key] or 0) + 1; list[#list + 1] = random(1000) end
table.sort(list)
local parts = {}
for i = 1, 60000 do parts[#parts + 1] = string.format("%d-%s", i, string.char(97 + random(26))) end
local text = table.concat(parts, " ")
local count = 0
for word in text:gmatch("%d+%-[aeiou]") do count = count + 1 end
local n = 0
for _ in pairs(words) do n = n + 1 end
print(fib(27), n, list[100000], #text, count)
END
  cat > "$2/script.tcl" <<'END'
set seed 42
proc random {n} { global seed; set seed [expr {($seed * 1103515245 + 12345) % 2147483648}]; return [expr {($seed / 65536) % $n}] }
proc fib {n} { if {$n < 2} { return $n }; return [expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}] }
for {set i 0} {$i < 60000} {incr i} { incr words(k[random 5000]); lappend list [random 1000]; dict incr counts [random 777] }
set list [lsort -integer $list]
set text ""
for {set i 0} {$i < 20000} {incr i} { append text [format "%d-%c " $i [expr {97 + [random 26]}]] }
puts "[array size words] [lindex $list 30000] [dict size $counts] [string length $text] [regexp -all {[0-9]+-[aeiou]} $text] [fib 20] [llength [split $text]]"
END
  cat > "$2/script.sql" <<'END'
CREATE TABLE t(a INTEGER PRIMARY KEY, b INT, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000) INSERT INTO t SELECT i, i * 7919 % 120011, 'text ' || (i * 31 % 997) FROM n;
CREATE INDEX tb ON t(b);
CREATE INDEX tc ON t(c, b);
SELECT count(*), sum(b), max(c) FROM t WHERE b BETWEEN 1000 AND 50000;
SELECT c, count(*), avg(b) FROM t GROUP BY c ORDER BY 2 DESC, 1 LIMIT 5;
SELECT count(*) FROM t x JOIN t y ON x.a = y.b WHERE x.c LIKE '%7%';
UPDATE t SET c = replace(c, 'text', 'word') WHERE a % 3 = 0;
DELETE FROM t WHERE b % 5 = 0;
SELECT count(*), sum(length(c)), group_concat(b) FROM (SELECT * FROM t ORDER BY c, b LIMIT 30);
END
}
