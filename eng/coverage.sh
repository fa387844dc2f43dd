#!/usr/bin/env bash
# ./build.sh coverage: which lines of src/Allocator no test runs. The native tests, then the cases of tests/Contract as a published program with a libfreehold.a that
# counts. Prints a table of files, the fewest covered first. artifacts/coverage/never-run.txt has each line that never ran. Fails if one of heap/ or runtime/ is
# not in tests/Coverage/cannot-run.txt, which says why, or if one there did run that never should. The suite tests/Coverage finds rows that name no line, or several.
#   eng/coverage.sh [--report | --cases]     --report: only the report, of the runs so far; --cases: the published program again
set -euo pipefail
source "$(dirname "$0")/common.sh"
cd "$root"
build="$artifacts/coverage/build"
reports="$artifacts/coverage/gcov"
never="$artifacts/coverage/never-run.txt"
ran="$artifacts/coverage/ran.txt"
parts=$(nproc)

# In parts at a time: processes that end together add their counts to the files one after the other.
run_native() {
  local part process code=0 running=()
  for ((part = 0; part < parts; part++)); do
    run env "GTEST_TOTAL_SHARDS=$parts" "GTEST_SHARD_INDEX=$part" "$build/bin/allocator_tests" > "$artifacts/coverage/tests.$part.log" 2>&1 &
    running+=($!)
  done
  for process in "${running[@]}"; do wait "$process" || code=$?; done
  if [ "$code" -ne 0 ]; then
    grep -hE '^\[  FAILED|Failure' "$artifacts"/coverage/tests.*.log || true
    tail -n 20 "$artifacts"/coverage/tests.*.log
    exit 1
  fi
}

# one <setting…> -- <case> <its arguments…>: begins a case of the contract in these settings, when fewer than there are processors run. Programs that end by a signal write no counts.
one() {
  local settings=()
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  shift
  while [ "$(jobs -rp | wc -l)" -ge "$parts" ]; do wait -n || true; done
  {
    log="$artifacts/coverage/case.$BASHPID.log"
    env FREEHOLD_HEAP_LIMIT=2G "${settings[@]}" timeout -k 5 120 "$artifacts/coverage/Contract/Contract" run "$@" > "$log" 2>&1 ||
      echo "${settings[*]} $*: $(tail -n 1 "$log")" >> "$artifacts/coverage/failed-cases.txt"
    rm -f "$log"
  } &
}

run_published() {
  source "$root/tests/Stress/programs.sh"
  forget_settings
  local version native="$artifacts/coverage/native" case cases i settings
  version=$(version_of FreeholdRuntimeVersions)
  version=${version%%;*}
  mkdir -p "$native/$version"
  cp "$build/lib/$version/libfreehold.a" "$native/$version/"
  cp "$build/lib/libfreehold_jit.so" "$native/"
  run dotnet publish "$root/tests/Contract" -c Release -nologo -v quiet "-p:FreeholdNativePath=$native/" "-p:CoverageLibrary=$(gcc -print-file-name=libgcov.a)" \
    --artifacts-path "$artifacts/coverage/obj" -o "$artifacts/coverage/Contract"
  rm -f "$artifacts/coverage/failed-cases.txt"
  "$artifacts/coverage/Contract/Contract" list > "$artifacts/coverage/cases.txt"
  # Marking in between takes away what the cases of unreachable objects look for, and addresses that are used again keep a scope.
  mapfile -t cases < <(grep -vE "$left_out|^unreachable-|^scope-goes$" "$artifacts/coverage/cases.txt")
  # Each case in one of four settings: all of them in all is what the stress suites are for.
  for i in "${!cases[@]}"; do
    case $((i % 4)) in
      0) settings=(FREEHOLD_VERIFY=1) ;;
      1) settings=(FREEHOLD_STRESS=promote:2000,dedangle,delay:50,seed:1 FREEHOLD_PROTECTION=mprotect) ;;
      2) settings=(FREEHOLD_STRESS=deletion:50,sites,seed:1) ;;
      3) settings=(FREEHOLD_STRESS=promote:3000,reclaim:20000,reuse,delay:50,seed:1 FREEHOLD_RECLAIM_CONCURRENT=1) ;;
    esac
    one "${settings[@]}" -- "${cases[i]}"
  done
  for case in $(grep -E '^moving-' "$artifacts/coverage/cases.txt"); do one FREEHOLD_STRESS=promote:1000,fault,seed:1 -- "$case"; done
  for case in $(grep '^debug-' "$artifacts/coverage/cases.txt"); do one FREEHOLD_DEBUG=stacks -- "$case"; done
  for case in $(grep '^guarded-' "$artifacts/coverage/cases.txt" | grep -v rate); do one FREEHOLD_SAMPLE=1 -- "$case"; done
  for case in $(grep -E '^(unreachable-|scope-goes$|reclaim-)' "$artifacts/coverage/cases.txt"); do one FREEHOLD_VERIFY=1 -- "$case"; done
  for case in moving-in-other-thread stops-within-clearing-of-references; do one FREEHOLD_STRESS=preempt:300,seed:1 -- "$case"; done
  # As tests/Integration.Tests runs them.
  for case in leaks-found leaks-sites leaks-sites-large leaks-threads leaks-event; do one FREEHOLD_RECLAIM=report -- "$case"; done
  for case in leaks-found leaks-exact; do one FREEHOLD_RECLAIM=report FREEHOLD_DEBUG=stacks -- "$case"; done
  for case in $(grep '^pressure-' "$artifacts/coverage/cases.txt"); do one FREEHOLD_HEAP_LIMIT=64M -- "$case"; done
  for case in small large text dangling threads; do one FREEHOLD_HEAP_LIMIT=64M -- "out-of-memory-$case" $((64 << 20)); done
  one FREEHOLD_HEAP_LIMIT= -- out-of-memory-refreshed $((200 << 20))
  one FREEHOLD_STATS=1 -- statistics
  wait
  # They end at their start, with a message.
  DOTNET_gcConservative=1 "$artifacts/coverage/Contract/Contract" list > "$artifacts/coverage/case.log" 2>&1 || true
  FREEHOLD_STRESS=nonsense "$artifacts/coverage/Contract/Contract" list > "$artifacts/coverage/case.log" 2>&1 || true
  FREEHOLD_PROTECTION=userfaultfd FREEHOLD_FAIL=userfaultfd:1 "$artifacts/coverage/Contract/Contract" list > "$artifacts/coverage/case.log" 2>&1 || true
  (ulimit -v 50000000 && exec "$artifacts/coverage/Contract/Contract" list) > "$artifacts/coverage/case.log" 2>&1 || true
  if [ -f "$artifacts/coverage/failed-cases.txt" ]; then
    echo "cases that failed (their lines are counted none the less):"
    cat "$artifacts/coverage/failed-cases.txt"
  fi
}

if [ "${1:-}" = --cases ]; then run_published; fi
if [ $# -eq 0 ]; then
  eng/prerequisites.sh
  eng/pack.sh
  run cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFREEHOLD_INSTRUMENT=coverage
  run cmake --build "$build" --parallel "$(nproc)" --target freehold freehold_jit allocator_tests
  find "$build" -name '*.gcda' -delete
  run_native
  run_published
fi

rm -rf "$reports"
mkdir -p "$reports"
(cd "$reports" && find "$build/src/Allocator" "$build/tests/Allocator.Tests" -name '*.gcda' -print0 | xargs -0 gcov -r -s "$root" -p > /dev/null)
# gcov: "count:line:text"; '#####' is a line that never ran. A file is in several reports, a header in those of many files: a line ran if it did in one.
awk -F: -v never="$never" -v ran_file="$ran" '
  $1 ~ /-/ && $3 == "Source" { file = $4 }
  { count = $1; gsub(/ /, "", count); line = $2 + 0 }
  file ~ /^src\/Allocator/ && line > 0 && count != "-" {
    key = file SUBSEP line
    lines[key] = 1
    text[key] = substr($0, index($0, $2 ":") + length($2) + 1)
    if (count !~ /^[#=]+$/) ran[key] = 1
  }
  END {
    for (key in lines) {
      split(key, part, SUBSEP)
      all[part[1]]++
      total++
      if (key in ran) { good[part[1]]++; covered++ }
      print part[1] ":" part[2] ":" text[key] > (key in ran ? ran_file : never ".part")
    }
    for (file in all) printf "%5.1f %% of %4d  %s\n", 100 * good[file] / all[file], all[file], file
    printf "%5.1f %% of %4d  all\n", 100 * covered / total, total
  }
' "$reports"/*.gcov | LC_ALL=C sort -n
LC_ALL=C sort -t: -k1,1 -k2,2n "$never.part" > "$never"
rm "$never.part"
echo "$(wc -l < "$never") lines never ran: $never"

# Each of them in heap/ and runtime/ has a row in cannot-run.txt, which names that line. A line that a row calls 'never' must not run; one that runs 'rarely' may.
named="$artifacts/coverage/named.txt"
run awk -v sources=src/Allocator -f tests/Coverage/lines.awk tests/Coverage/cannot-run.txt > "$named"
awk -F '\t' -v never="$never" '
  FILENAME == ARGV[1] { number["src/Allocator/" $1] = $2; often["src/Allocator/" $1] = $3; row[$2] = $4; if ($3 == "never") needed[$2] = 1; next }
  !/^src\/Allocator\/(heap|runtime)\// { next }
  {
    split($0, part, ":")
    place = part[1] ":" part[2]
    if (FILENAME == never) {
      if (place in number) { used[number[place]] = 1; next }
      print "no test runs " $0
      wrong++
    } else if (often[place] == "never") {
      print "runs: " place ", by the row " row[number[place]]
      wrong++
    }
  }
  END {
    for (i in needed) if (!(i in used)) { print "no line of it can run, or be left out: " row[i]; wrong++ }
    printf "%d lines of heap/ and runtime/ without a test or a reason, or with a wrong row\n", wrong
    exit wrong != 0
  }
' "$named" "$never" "$ran"
