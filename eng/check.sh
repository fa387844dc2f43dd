#!/usr/bin/env bash
# ./build.sh check: what is quick, before a commit: the native tests, golden IL, layers, the documentation's links. Three minutes.
#   ./build.sh check --sanitize address|undefined|thread     builds the native tests under that sanitizer of g++, and runs them in as many parts at
#                                                           a time as there are processors
# Ends with 'N passed, N failed'.
set -euo pipefail
source "$(dirname "$0")/common.sh"
cd "$root"
usage() {
  echo "error: $1 (./build.sh check [--sanitize address|undefined|thread])" >&2
  exit 2
}

if [ $# -eq 0 ]; then exec eng/test.sh --at-once _tests Compiler Layers Format Coverage; fi
[ "$1" = --sanitize ] || usage "unknown option '$1'"
case "${2:-}" in address|undefined|thread) ;; *) usage "no sanitizer is called '${2:-}'" ;; esac
[ $# -eq 2 ] || usage "too many arguments"
kind=$2

eng/prerequisites.sh
build="$artifacts/sanitize-$kind"
run cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DFREEHOLD_INSTRUMENT=$kind"
run cmake --build "$build" --parallel "$(nproc)" --target allocator_tests mesh_tests
# The heap answers SIGSEGV and SIGBUS itself. tests/Sanitizers has the suppressions, and the tests that are left out, each with its reason.
export ASAN_OPTIONS="handle_segv=0:handle_sigbus=0:allow_user_segv_handler=1:detect_leaks=0:suppressions=$root/tests/Sanitizers/address.txt"
export UBSAN_OPTIONS="print_stacktrace=1:suppressions=$root/tests/Sanitizers/undefined.txt"
# The thread sanitizer has four bytes for each byte that was ever used, and the heap's addresses are always new: it forgets them at 4 GB.
export TSAN_OPTIONS="die_after_fork=0:memory_limit_mb=4000:hard_rss_limit_mb=12000:handle_segv=0:handle_sigbus=0:second_deadlock_stack=1:history_size=7:suppressions=$root/tests/Sanitizers/thread.txt"
log="$artifacts/logs/sanitize-$kind.log"
mkdir -p "$artifacts/logs"
code=0
parts=$(nproc)
rm -f "$log".*_tests.*
for suite in allocator_tests mesh_tests; do
  left_out=$(sed -n "s/^$kind $suite \([^ ]*\) .*/\1/p" tests/Sanitizers/left-out.txt | paste -sd:)
  running=()
  for ((part = 0; part < parts; part++)); do
    run env "GTEST_TOTAL_SHARDS=$parts" "GTEST_SHARD_INDEX=$part" "$build/bin/$suite" "--gtest_filter=-$left_out" > "$log.$suite.$part" 2>&1 &
    running+=($!)
  done
  for process in "${running[@]}"; do wait "$process" || code=$?; done
done
cat "$log".*_tests.* > "$log"
rm "$log".*_tests.*
passed=$(grep -c '^\[       OK \]' "$log" || true)
failed=$(grep -c '^\[  FAILED  \].*ms)' "$log" || true)
if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
if [ "$failed" -ne 0 ]; then
  echo "--- $log:"
  grep -nE '^\[  FAILED|runtime error|ERROR: |WARNING: ThreadSanitizer' "$log" | head -40
  tail -n 40 "$log"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
