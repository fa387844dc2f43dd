#!/usr/bin/env bash
# ./build.sh coverage: which lines of src/Allocator no native test runs. The table of files, the fewest covered first, and artifacts/coverage/never-run.txt
# with each such line.
set -euo pipefail
source "$(dirname "$0")/common.sh"
cd "$root"
eng/prerequisites.sh
build="$artifacts/coverage/build"
run cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFREEHOLD_INSTRUMENT=coverage
run cmake --build "$build" --parallel "$(nproc)" --target allocator_tests
find "$build" -name '*.gcda' -delete
run "$build/bin/allocator_tests" > "$artifacts/coverage/tests.log" 2>&1 || { tail -n 40 "$artifacts/coverage/tests.log"; exit 1; }

reports="$artifacts/coverage/gcov"
rm -rf "$reports"
mkdir -p "$reports"
(cd "$reports" && find "$build/src/Allocator" -name '*.gcda' -print0 | xargs -0 gcov -r -s "$root" -p > /dev/null)
never="$artifacts/coverage/never-run.txt"
# gcov: "count:line:text"; '#####' is a line that never ran. A header is in the report of many files: it ran if it did in one.
awk -F: '
  FNR == 1 { file = "" }
  $1 ~ /-/ && $3 == "Source" { file = $4 }
  { count = $1; gsub(/ /, "", count); line = $2 + 0 }
  file ~ /^src\/Allocator/ && line > 0 && count != "-" { key = file ":" line; seen[key] = 1; if (count !~ /^[#=]+$/) ran[key] = 1; text[key] = substr($0, index($0, $3)) }
  END { for (key in seen) if (!(key in ran)) print key ": " text[key]; else ok++; }
' "$reports"/*.gcov | LC_ALL=C sort -t: -k1,1 -k2,2n > "$never"
awk -F: '
  FNR == 1 { file = "" }
  $1 ~ /-/ && $3 == "Source" { file = $4 }
  { count = $1; gsub(/ /, "", count); line = $2 + 0 }
  file ~ /^src\/Allocator/ && line > 0 && count != "-" { key = file SUBSEP line; lines[key] = 1; if (count !~ /^[#=]+$/) ran[key] = 1 }
  END {
    for (key in lines) { split(key, part, SUBSEP); all[part[1]]++; total++; if (key in ran) { good[part[1]]++; covered++ } }
    for (file in all) printf "%5.1f %% of %4d  %s\n", 100 * good[file] / all[file], all[file], file
    printf "%5.1f %% of %4d  all\n", 100 * covered / total, total
  }
' "$reports"/*.gcov | LC_ALL=C sort -n
echo "$(wc -l < "$never") lines never ran: $never"
