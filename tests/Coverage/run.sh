#!/usr/bin/env bash
# The table of lines that no test can run, cannot-run.txt: each row names one line of the sources (or all of one definition), and lines.awk refuses rows that do not.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

count() {
  if [ "$1" = 0 ]; then
    echo "ok: $2"
    passed=$((passed + 1))
  else
    echo "FAILED: $2"
    failed=$((failed + 1))
  fi
}

mkdir "$scratch/heap"
cat > "$scratch/heap/a.cpp" <<'SOURCE'
bool first() noexcept;

// Not first() either: a comment.
bool first() noexcept {
  if (one()) return false;
  if (two()) return true;
  return false;
}

void only() noexcept { first(); }

void many(int a,
          int b) {
  first();
  return;
}

void many() {
  first();
}
SOURCE

# names <row> <lines>: what the row leads to.
names() {
  local output code=0
  echo "$1" > "$scratch/rows"
  output=$(awk -v "sources=$scratch" -f "$root/tests/Coverage/lines.awk" "$scratch/rows" 2>&1) || code=$?
  output=$(cut -f1,3 <<< "$output" | tr '\t\n' '  ')
  [ "$code" -eq 0 ] && [ "$output" = "$2 " ] || { echo "'$1': code $code, '$output', not '$2 '"; code=1; }
  count "$code" "$1"
}

# refuses <row> <what the message says>
refuses() {
  local output code=0
  echo "$1" > "$scratch/rows"
  output=$(awk -v "sources=$scratch" -f "$root/tests/Coverage/lines.awk" "$scratch/rows" 2>&1) || code=$?
  if [ "$code" -ne 0 ] && grep -qF -- "rows:1: $2" <<< "$output"; then code=0; else echo "'$1': code $code, '$output', not '$2'"; code=1; fi
  count "$code" "$1: refused"
}

names 'heap/a.cpp | bool first() | if (one()) | never | Why.' 'heap/a.cpp:5 never'
names 'heap/a.cpp | bool first() | if (two()) … return false; | rarely | Why.' 'heap/a.cpp:7 rarely'
names 'heap/a.cpp | void only() | {} | never | Why.' 'heap/a.cpp:10 never'
names 'heap/a.cpp | void many(int | return; | never | Why.' 'heap/a.cpp:15 never'
names 'heap/a.cpp | void many() | {} | never | Why.' 'heap/a.cpp:18 never heap/a.cpp:19 never heap/a.cpp:20 never'
refuses 'heap/a.cpp | bool first() | return false; | never | Why.' "heap/a.cpp: 'bool first()' has 2 lines with 'return false;' (5, 7)"
refuses 'heap/a.cpp | void many( | return; | never | Why.' "heap/a.cpp has 2 definitions (12, 18) whose first line has 'void many('"
refuses 'heap/a.cpp | bool first() | three() | never | Why.' "heap/a.cpp: 'bool first()' has no line with 'three()'"
refuses 'heap/a.cpp | bool first() | if (two()) … return none; | never | Why.' "heap/a.cpp: 'bool first()' has no line with 'return none;' behind 'if (two())'"
refuses 'heap/a.cpp | bool third() | {} | never | Why.' "heap/a.cpp has no definition whose first line has 'bool third()'"
refuses 'heap/b.cpp | bool first() | {} | never | Why.' "there is no $scratch/heap/b.cpp"
refuses 'heap/a.cpp | bool first() | {} | often | Why.' "'often' is neither never nor rarely"
refuses 'heap/a.cpp | return false; | never | Why.' "a row is 'file | definition | part of a line, or {} | never or rarely | why', not 4 cells"

printf '%s\n' 'heap/a.cpp | bool first() | {} | never | Why.' 'heap/a.cpp | bool first() | if (one()) | never | Why.' > "$scratch/rows"
code=0
output=$(awk -v "sources=$scratch" -f "$root/tests/Coverage/lines.awk" "$scratch/rows" 2>&1) || code=$?
[ "$code" -ne 0 ] && grep -qF "heap/a.cpp:5 has a row before: line 1" <<< "$output" && code=0 || code=1
count "$code" "a line with two rows: refused"

code=0
(cd "$root" && awk -v sources=src/Allocator -f tests/Coverage/lines.awk tests/Coverage/cannot-run.txt > "$scratch/named") || code=$?
count "$code" "cannot-run.txt"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
