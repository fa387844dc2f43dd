#!/usr/bin/env bash
# Runs every suite, or with arguments those whose names contain one of them, and ends with the line 'N passed, N failed'. Suites are found, not listed:
#   artifacts/native/bin/*_tests      GoogleTest executables, their tests in random order: the log begins with the command, which has the seed
#   tests/*.Tests/*.csproj            xUnit projects
#   tests/*/run.sh                    anything else that ends with a line 'N passed, N failed'
#   eng/test.sh --at-once [part of a name…]     native suites in as many parts at a time as there are processors, beside the managed ones: for ./build.sh check
# Output goes to artifacts/logs/<suite>.log. A suite that ends with an error, or without having run a test, counts as a failure.
set -euo pipefail
source "$(dirname "$0")/common.sh"
cd "$root"
own_temporary_files
logs="$artifacts/logs"
mkdir -p "$logs"
passed=0
failed=0
failures=()
last=$SECONDS

# record <suite> <exit code> <passed> <failed>: also says how many seconds have gone since the suite before it.
record() {
  local suite=$1 code=$2 good=$3 bad=$4 now=$SECONDS
  if [ "$bad" -eq 0 ] && { [ "$code" -ne 0 ] || [ "$good" -eq 0 ]; }; then bad=1; fi
  passed=$((passed + good))
  failed=$((failed + bad))
  printf '%-40s %5d passed, %d failed  %5d s\n' "$suite" "$good" "$bad" $((now - last))
  last=$now
  if [ "$bad" -ne 0 ]; then
    failures+=("$suite ($bad)")
    echo "--- $logs/$suite.log, its first line, what failed, and the end:"
    head -n 1 "$logs/$suite.log"
    grep -E '^\[  FAILED|\[FAIL\]|^ *Failed |error|Failure' "$logs/$suite.log" | head -40 || true
    tail -n 40 "$logs/$suite.log"
    echo "---"
  fi
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

# test_project <project>: how it ended is in a file.
test_project() {
  local suite code=0
  suite=$(basename "$1" .csproj)
  rm -f "$logs/$suite.code"
  run dotnet test -c Release -nologo "$1" > "$logs/$suite.log" 2>&1 || code=$?
  echo "$code" > "$logs/$suite.code"
}
projects=()
for project in tests/*.Tests/*.csproj; do
  if [ -f "$project" ] && wanted "$(basename "$project" .csproj)"; then projects+=("$project"); fi
done
# Native tests wait for much of their time: at once, the managed suites run beside them.
if [ "$parts" -gt 1 ]; then
  for project in "${projects[@]}"; do test_project "$project"; done &
  managed=$!
fi

for binary in "$artifacts"/native/bin/*_tests; do
  suite=$(basename "$binary")
  [ -x "$binary" ] && wanted "$suite" || continue
  code=0
  seed=$((RANDOM + 1))
  running=()
  rm -f "$logs/$suite".part*.log
  for ((part = 0; part < parts; part++)); do
    run env "GTEST_TOTAL_SHARDS=$parts" "GTEST_SHARD_INDEX=$part" "$binary" --gtest_shuffle "--gtest_random_seed=$seed" > "$logs/$suite.part$part.log" 2>&1 &
    running+=($!)
  done
  for process in "${running[@]}"; do wait "$process" || code=$?; done
  cat "$logs/$suite".part*.log > "$logs/$suite.log"
  rm "$logs/$suite".part*.log
  record "$suite" "$code" "$(grep -c '^\[       OK \]' "$logs/$suite.log" || true)" "$(grep -c '^\[  FAILED  \].*ms)' "$logs/$suite.log" || true)"
done

if [ "$parts" -gt 1 ]; then wait "$managed" || true; fi
for project in "${projects[@]}"; do
  suite=$(basename "$project" .csproj)
  if [ "$parts" -eq 1 ]; then test_project "$project"; fi
  code=$(cat "$logs/$suite.code" || echo 1)
  rm -f "$logs/$suite.code"
  summary=$(grep -oE 'Failed: +[0-9]+, Passed: +[0-9]+' "$logs/$suite.log" || true)
  record "$suite" "$code" "$(echo "$summary" | grep -oE 'Passed: +[0-9]+' | grep -oE '[0-9]+' | sum)" "$(echo "$summary" | grep -oE 'Failed: +[0-9]+' | grep -oE '[0-9]+' | sum)"
done

for script in tests/*/run.sh; do
  suite=$(basename "$(dirname "$script")")
  [ -x "$script" ] && wanted "$suite" || continue
  code=0
  run "$script" > "$logs/$suite.log" 2>&1 || code=$?
  summary=$(grep -oE '[0-9]+ passed, [0-9]+ failed' "$logs/$suite.log" | tail -n 1 || true)
  record "$suite" "$code" "$(echo "$summary" | grep -oE '^[0-9]+' | sum)" "$(echo "$summary" | grep -oE '[0-9]+ failed' | grep -oE '[0-9]+' | sum)"
done

# Once more: what a suite says of its failure is long, and whoever shows the end of this shows not all.
if [ ${#failures[@]} -ne 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
