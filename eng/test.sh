#!/usr/bin/env bash
# Runs every suite, or with arguments those whose names contain one of them, and ends with the line 'N passed, N failed'. Suites are found, not listed:
#   artifacts/native/bin/*_tests      GoogleTest executables, their tests in random order: the log begins with the command, which has the seed
#   tests/*.Tests/*.csproj            xUnit projects
#   tests/*/run.sh                    anything else that ends with a line 'N passed, N failed'
#   eng/test.sh --at-once [part of a name…]     native suites in as many parts at a time as there are processors: for ./build.sh check
# Three lanes run side by side, for each suite waits for much of its time: Integration.Tests; the other projects and whatever else calls dotnet, one after
# the other because they share what is built; all others. Output goes to artifacts/logs/<suite>.log. Each suite's line has its seconds and its processor
# seconds. A suite that ends with an error, or without having run a test, counts as a failure.
set -euo pipefail
source "$(dirname "$0")/common.sh"
cd "$root"
own_temporary_files
logs="$artifacts/logs"
results="$logs/results"
rm -rf "$results"
mkdir -p "$results"

# record <suite> <exit code> <passed> <failed> <seconds>
record() {
  local suite=$1 code=$2 good=$3 bad=$4 seconds=$5
  if [ "$bad" -eq 0 ] && { [ "$code" -ne 0 ] || [ "$good" -eq 0 ]; }; then bad=1; fi
  echo "$good $bad" > "$results/$suite"
  exec 8> "$results/.lock"
  flock 8
  printf '%-32s %5d passed, %d failed  %s\n' "$suite" "$good" "$bad" "$seconds"
  if [ "$bad" -ne 0 ]; then
    echo "--- $logs/$suite.log, its first line, what failed, and the end:"
    head -n 1 "$logs/$suite.log"
    grep -E '^\[  FAILED|\[FAIL\]|^ *Failed |error|Failure' "$logs/$suite.log" | head -40 || true
    tail -n 40 "$logs/$suite.log"
    echo "---"
  fi
  exec 8>&-
}

wanted() {
  if [ ${#only[@]} -eq 0 ]; then return 0; fi
  local part
  for part in "${only[@]}"; do
    if [[ "$1" == *"$part"* ]]; then return 0; fi
  done
  return 1
}

sum() { awk '{ total += $1 } END { print total + 0 }'; }

# timed <suite> <command…>: its output goes to the suite's log, its exit code to `code`, and its times to `seconds`.
timed() {
  local suite=$1 times
  shift
  code=0
  TIMEFORMAT='%0R s, processor %0U + %0S s'
  times=$({ time "$@" > "$logs/$suite.log" 2>&1; } 2>&1) || code=$?
  seconds=${times##*$'\n'}
}

native_parts() {
  local binary=$1 seed=$2 part process code=0 running=() suite
  suite=$(basename "$binary")
  for ((part = 1; part < parts; part++)); do
    run env "GTEST_TOTAL_SHARDS=$parts" "GTEST_SHARD_INDEX=$part" "$binary" --gtest_shuffle "--gtest_random_seed=$seed" > "$results/.$suite.part$part" 2>&1 &
    running+=($!)
  done
  run env "GTEST_TOTAL_SHARDS=$parts" GTEST_SHARD_INDEX=0 "$binary" --gtest_shuffle "--gtest_random_seed=$seed" || code=$?
  for process in "${running[@]}"; do wait "$process" || code=$?; done
  for ((part = 1; part < parts; part++)); do cat "$results/.$suite.part$part"; done
  return "$code"
}

test_native() {
  local suite
  suite=$(basename "$1")
  timed "$suite" native_parts "$1" $((RANDOM + 1))
  record "$suite" "$code" "$(grep -c '^\[       OK \]' "$logs/$suite.log" || true)" "$(grep -c '^\[  FAILED  \].*ms)' "$logs/$suite.log" || true)" "$seconds"
}

test_project() {
  local suite summary
  suite=$(basename "$1" .csproj)
  timed "$suite" run dotnet test -c Release -nologo "$1"
  summary=$(grep -oE 'Failed: +[0-9]+, Passed: +[0-9]+' "$logs/$suite.log" || true)
  record "$suite" "$code" "$(echo "$summary" | grep -oE 'Passed: +[0-9]+' | grep -oE '[0-9]+' | sum)" "$(echo "$summary" | grep -oE 'Failed: +[0-9]+' | grep -oE '[0-9]+' | sum)" "$seconds"
}

test_script() {
  local suite summary
  suite=$(basename "$(dirname "$1")")
  timed "$suite" run "$1"
  summary=$(grep -oE '[0-9]+ passed, [0-9]+ failed' "$logs/$suite.log" | tail -n 1 || true)
  record "$suite" "$code" "$(echo "$summary" | grep -oE '^[0-9]+' | sum)" "$(echo "$summary" | grep -oE '[0-9]+ failed' | grep -oE '[0-9]+' | sum)" "$seconds"
}

parts=1
if [ "${1:-}" = --at-once ]; then
  parts=$(nproc)
  shift
fi
only=("$@")
eng/prerequisites.sh native
eng/pack.sh
eng/native.sh all
# The tests of the JIT hook read the JIT out of the ILCompiler package, which this project names.
run dotnet restore tests/Compiler.Tests/Compiler.Tests.csproj > "$logs/restore.log"

# A lane has one line for each suite: the function that runs it, and what.
longest=() dotnet=() others=()
for binary in "$artifacts"/native/bin/*_tests; do
  if [ -x "$binary" ] && wanted "$(basename "$binary")"; then others+=("test_native $binary"); fi
done
for project in tests/*.Tests/*.csproj; do
  suite=$(basename "$project" .csproj)
  if [ ! -f "$project" ] || ! wanted "$suite"; then continue; fi
  if [ "$suite" = Integration.Tests ]; then longest+=("test_project $project"); else dotnet+=("test_project $project"); fi
done
for script in tests/*/run.sh; do
  if [ ! -x "$script" ] || ! wanted "$(basename "$(dirname "$script")")"; then continue; fi
  if grep -q dotnet "$script"; then dotnet+=("test_script $script"); else others+=("test_script $script"); fi
done

lane() {
  local each
  for each in "$@"; do $each; done
}
# Each lane is a process group of its own, which ends with the script.
lanes=()
trap 'for process in "${lanes[@]}"; do kill -- "-$process" 2> /dev/null || true; done; rm -rf "$TMPDIR"' EXIT
set -m
lane "${longest[@]}" & lanes+=($!)
lane "${dotnet[@]}" & lanes+=($!)
lane "${others[@]}" & lanes+=($!)
set +m
for process in "${lanes[@]}"; do
  if ! wait "$process"; then echo "0 1" > "$results/lane-$process"; fi
done

# Once more: what a suite says of its failure is long, and whoever shows the end of this shows not all.
passed=0 failed=0
for result in "$results"/*; do
  [ -f "$result" ] || continue
  read -r good bad < "$result"
  passed=$((passed + good))
  failed=$((failed + bad))
  if [ "$bad" -ne 0 ]; then echo "failed: $(basename "$result") ($bad)"; fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
