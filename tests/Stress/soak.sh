#!/usr/bin/env bash
# A long run through a small heap: 100 GB (or so many) through a limit of 256 MB, by a program that deletes nothing, and then by one that deletes half of what it replaces.
#   tests/Stress/soak.sh [gigabytes] [--seed N] [--no-publish]
# Called by ./build.sh stress soak, which packs first. Every second the program says what it holds: PSS, mappings, the kernel's page tables, the heap's, and the longest time that a thread was
# held up. It fails if one of these grows, or if an object is not what it was (tests/Soak). artifacts/logs/soak has the figures and, with gnuplot, a plot of each run.
# Ends with 'N passed, N failed'.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/common.sh"
source "$root/tests/Stress/programs.sh"

usage() {
  echo "error: $1 (tests/Stress/soak.sh [gigabytes] [--seed N] [--no-publish])" >&2
  exit 2
}

gigabytes=100
seed=$((RANDOM * 32768 + RANDOM))
publish=true
while [ $# -gt 0 ]; do
  case "$1" in
    --seed) seed=${2:-}; shift; [ $# -eq 0 ] || shift ;;
    --no-publish) publish=false; shift ;;
    -*) usage "unknown option '$1'" ;;
    *) gigabytes=$1; shift ;;
  esac
done
[[ $gigabytes =~ ^[1-9][0-9]{0,5}$ ]] || usage "the gigabytes must be a number of at least 1, not '$gigabytes'"
[[ $seed =~ ^(0|[1-9][0-9]{0,9})$ ]] || usage "--seed needs a number of at most ten digits, not '$seed'"

publish Soak freehold true
forget_settings
logs="$artifacts/logs/soak"
rm -rf "$logs"
mkdir -p "$logs"
passed=0
failed=0

# plot <name>: memory, tables and stalls over time.
plot() {
  if ! grep -qE '^[0-9.]+ [0-9.]+ ' "$logs/$1.txt"; then return 0; fi
  if ! command -v gnuplot > /dev/null; then echo "no plot: gnuplot is not there (Debian: gnuplot-nox)"; return 0; fi
  gnuplot << END
set terminal pngcairo size 1200,1000
set output '$logs/$1.png'
set multiplot layout 3,1 title '$1'
set xlabel 's'
set key outside
set yrange [0:*]
set ylabel 'MB'
plot '$logs/$1.txt' using 1:3 title 'PSS' with lines, '' using 1:5 title 'page tables' with lines, '' using 1:6 title 'tables of the heap' with lines
set ylabel 'mappings'
plot '$logs/$1.txt' using 1:4 title 'mappings' with lines
set ylabel 'longest stall, ms'
plot '$logs/$1.txt' using 1:7 title 'stall' with points pt 7 ps 0.6
END
  echo "${logs#"$root"/}/$1.png"
}

for deleted in 0 50; do
  name="deletes-$deleted-percent"
  echo "$name: $gigabytes GB through 256 MB, seed $seed"
  code=0
  FREEHOLD_HEAP_LIMIT=256M "$artifacts/integration/Soak-freehold/Soak" --gigabytes "$gigabytes" --deleted "$deleted" --seed "$seed" > "$logs/$name.txt" 2>&1 || code=$?
  grep -vE '^[0-9.]+ [0-9.]+ ' "$logs/$name.txt" | tail -n 20
  plot "$name"
  if [ "$code" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
