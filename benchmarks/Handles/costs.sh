#!/usr/bin/env bash
# What the parts cost: calls between the two kinds of code, allocation, and repairs of handles in uncompiled code, beside clang's. Nanoseconds, the least of 5 runs.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here="$root/benchmarks/Handles"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang-19 -O2 -fno-inline -c "$here/costs.plain.c" -o "$work/plain.o"
clang-19 -O2 "$here/costs.c" "$work/plain.o" -o "$work/stock"
"$root/artifacts/native/bin/freehold-cc" -O2 "$here/costs.c" "$work/plain.o" -o "$work/handles"
for _ in 1 2 3 4 5; do
  "$work/stock" > "$work/one" && sed 's/^/stock /' "$work/one" >> "$work/all"
  "$work/handles" > "$work/one" && sed 's/^/handles /' "$work/one" >> "$work/all"
done
awk '{ value = $2; name = $0; sub(/^[^ ]+ [^ ]+ /, "", name); key = name SUBSEP $1; if (!(name in seen)) { seen[name] = 1; order[n++] = name }
       if (!(key in least) || value < least[key]) least[key] = value }
     END { print "| | clang | handles |\n| --- | --- | --- |"; for (i = 0; i < n; i++) printf "| %s | %s | %s |\n", order[i], least[order[i], "stock"], least[order[i], "handles"] }' "$work/all"
