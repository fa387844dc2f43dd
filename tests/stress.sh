#!/usr/bin/env bash
# Long random runs against models that hold no references. Each run has a seed, printed with the command that repeats it.
#   tests/stress.sh [minutes] [--seed N] [--no-publish]      default: 10 minutes, a random seed
# Called by ./build.sh stress, which packs first. In turn, until the time is up and at least once each:
#   heap         the model tests of tests/Allocator.Tests: 1 and 4 threads, userfaultfd and mprotect
#   failures     the same with every system call failing somewhere, and racing double deletes
#   model        tests/Contract's random object graphs in a published program, with 1 to 16 threads, under each of six settings
# Ends with 'N passed, N failed' and 1 after a failure. Output of failed runs stays in artifacts/logs/stress.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../eng/common.sh"

usage() {
  echo "error: $1 (tests/stress.sh [minutes] [--seed N] [--no-publish])" >&2
  exit 2
}

minutes=10
seed=$((RANDOM * 32768 + RANDOM))
publish=true
while [ $# -gt 0 ]; do
  case "$1" in
    --seed) seed=${2:-}; shift; [ $# -eq 0 ] || shift ;;
    --no-publish) publish=false; shift ;;
    -*) usage "unknown option '$1'" ;;
    *) minutes=$1; shift ;;
  esac
done
[[ $minutes =~ ^[1-9][0-9]{0,4}$ ]] || usage "the minutes must be a number of at least 1, not '$minutes'"
[[ $seed =~ ^(0|[1-9][0-9]{0,9})$ ]] || usage "--seed needs a number of at most ten digits, not '$seed'"

run_limit=300  # seconds; a run that takes longer hangs
tests="$artifacts/native/bin/allocator_tests"
contract="$artifacts/integration/Contract-freehold/Contract"
logs="$artifacts/logs/stress"

"$root/eng/native.sh" allocator_tests
if $publish || [ ! -x "$contract" ]; then
  # As tests/Integration.Tests publishes it, into the same folders.
  run dotnet publish "$root/tests/Contract" -c Release -nologo -v quiet -p:FreeholdEnabled=true \
    --artifacts-path "$artifacts/integration/obj-Contract-freehold" -o "$(dirname "$contract")"
fi
rm -rf "$logs"
mkdir -p "$logs"

# Nothing of the developer's own settings may change a result.
for variable in $(compgen -e | grep -E '^(FREEHOLD_|DOTNET_GC)' || true); do unset "$variable"; done

passed=0
failed=0
runs=0
start=$SECONDS
end=$((SECONDS + minutes * 60))
RANDOM=$((seed % 32768))

# one <expected last line, or empty> <variable=value…> -- <command…>
one() {
  local wanted=$1 code=0 log began=$SECONDS settings=()
  shift
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  shift
  runs=$((runs + 1))
  log="$logs/$runs.log"
  env "${settings[@]}" timeout --signal=ABRT --kill-after=10 "$run_limit" "$@" > "$log" 2>&1 || code=$?
  local shown="${settings[*]} ${*/#"$root"\//}" clock
  clock=$(printf '%d:%02d of %d:00' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)) "$minutes")
  if [ "$code" -eq 0 ] && { [ -z "$wanted" ] || grep -qx -- "$wanted" "$log"; }; then
    passed=$((passed + 1))
    echo "[$clock] ok $((SECONDS - began)) s  ${shown# }"
    rm -f "$log"
  else
    failed=$((failed + 1))
    echo "[$clock] FAILED, exit code $code after $((SECONDS - began)) s  ${shown# }"
    echo "--- the end of ${log#"$root"/}:"
    tail -n 30 "$log"
    echo "---"
  fi
}

settings_of_model=(
  ""
  "FREEHOLD_VERIFY=1"
  "FREEHOLD_PROTECTION=mprotect"
  "FREEHOLD_DEBUG=1"
  "FREEHOLD_PROTECTION=mprotect FREEHOLD_VERIFY=1"
  "FREEHOLD_PROTECTION=mprotect FREEHOLD_DEBUG=1"
)
threads_of_model=(1 4 2 16 8 3)
steps_of_model=160000  # of all threads together
steps_of_verified=16000  # where each step may walk the heap

echo "seed $seed, $minutes minutes"
round=0
while [ "$SECONDS" -lt "$end" ] || [ "$round" -eq 0 ]; do
  # Seeds that fit the programs' 32-bit arithmetic; the round is part of it, so that no two are alike.
  next=$(((seed + round * 7919 + RANDOM) % 2000000 + 1))
  one "" "FREEHOLD_TEST_SEED=$next" -- "$tests" '--gtest_filter=*HeapModelTest.*' --gtest_brief=1
  for i in "${!settings_of_model[@]}"; do
    if [ "$SECONDS" -ge "$end" ] && [ "$round" -ne 0 ]; then break; fi
    threads=${threads_of_model[$(((i + round) % ${#threads_of_model[@]}))]}
    steps=$steps_of_model
    if [[ ${settings_of_model[i]} == *VERIFY* ]]; then steps=$steps_of_verified; fi
    # shellcheck disable=SC2086
    one ok ${settings_of_model[i]} -- "$contract" run model "$((next + i))" "$((steps / threads))" "$threads"
  done
  if [ "$SECONDS" -lt "$end" ] || [ "$round" -eq 0 ]; then
    one "" "FREEHOLD_TEST_SEED=$next" -- "$tests" '--gtest_filter=*HeapFailureTest.*:*RacingDoubleDeletes' --gtest_brief=1
  fi
  round=$((round + 1))
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
