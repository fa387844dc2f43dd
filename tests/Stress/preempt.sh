#!/usr/bin/env bash
# Every suite of programs while threads are preempted at random instructions and everything moves (FREEHOLD_STRESS=preempt), in slices.
#   tests/Stress/preempt.sh [--slice K/N] [--minutes M] [--seed N] [--again] [--no-publish]      default: all slices, 60 minutes
# Called by ./build.sh stress preempt, which packs first. The cases of tests/Contract, the programs of tests/Differential and tests/Ecosystem, whose output must
# be that of the stock collector, and the tests of tests/Integration.Tests that hold threads themselves are dealt out to N slices; a slice is a run of its own.
# It starts no new one when its minutes are up. What passed is remembered (artifacts/logs/preempt): the same slice goes on behind it, with the same seed,
# until --again forgets it. Ends with the sums of this run and of all slices, and with 1 after a failure; 3 when some are left to be run.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/common.sh"
source "$root/tests/Stress/programs.sh"

usage() {
  echo "error: $1 (tests/Stress/preempt.sh [--slice K/N] [--minutes M] [--seed N] [--again] [--no-publish])" >&2
  exit 2
}

slice=1/1
minutes=60
seed=
again=false
publish=true
while [ $# -gt 0 ]; do
  case "$1" in
    --slice) slice=${2:-}; shift; [ $# -eq 0 ] || shift ;;
    --minutes) minutes=${2:-}; shift; [ $# -eq 0 ] || shift ;;
    --seed) seed=${2:-}; shift; [ $# -eq 0 ] || shift ;;
    --again) again=true; shift ;;
    --no-publish) publish=false; shift ;;
    *) usage "unknown option '$1'" ;;
  esac
done
[[ $slice =~ ^([1-9][0-9]{0,2})/([1-9][0-9]{0,2})$ ]] && [ "${BASH_REMATCH[1]}" -le "${BASH_REMATCH[2]}" ] || usage "--slice needs K/N, not '$slice'"
number=${slice%/*} slices=${slice#*/}
[[ $minutes =~ ^[1-9][0-9]{0,3}$ ]] || usage "--minutes needs a number of at least 1, not '$minutes'"

logs="$artifacts/logs/preempt"
if $again; then rm -rf "$logs"; fi
mkdir -p "$logs"
if [ -z "$seed" ]; then seed=$(cat "$logs/seed" 2> /dev/null || echo $((RANDOM * 32768 + RANDOM))); fi
[[ $seed =~ ^(0|[1-9][0-9]{0,9})$ ]] || usage "--seed needs a number of at most ten digits, not '$seed'"
if [ -f "$logs/seed" ] && [ "$(cat "$logs/seed")" != "$seed" ]; then usage "the slices that were run have seed $(cat "$logs/seed"): --again forgets them"; fi
echo "$seed" > "$logs/seed"

publish Contract freehold true
publish_compared
forget_settings

# All that there is, in one order for all slices: "<suite> <name>".
list() {
  local project
  "$contract" list | grep -vE "$left_out" | sed 's/^/Contract /'
  for project in "${compared[@]}"; do "$artifacts/integration/$project-freehold/$project" list | sed "s/^/$project /"; done
  for project in KeptWhileThreadsAreHeldAnywhere TheModelsAgreeWhileEverythingMoves; do echo "Integration $project"; done
}
mapfile -t all < <(list)

results="$logs/slice-$number-of-$slices"
touch "$results"
passed=0 failed=0 left=0 before=0
end=$((SECONDS + minutes * 60))
export artifacts logs
export -f same_as_stock

# one <index> <suite> <name>
one() {
  local log="$logs/$2-$3.log" code=0 began=$SECONDS settings="FREEHOLD_STRESS=seed:$((seed % 1000000 + $1)),promote:2000,preempt" limited=("$root/tests/Stress/limited.sh" "$run_limit")
  if [ $(($1 % 4)) -eq 3 ]; then settings+=" FREEHOLD_PROTECTION=mprotect"; fi
  case "$2" in
    Contract)
      # shellcheck disable=SC2086
      env $settings "${limited[@]}" "$contract" run "$3" > "$log" 2>&1 || code=$?
      if [ "$code" -eq 0 ] && ! grep -qx ok "$log"; then code=1; fi ;;
    Integration)
      settings="settings of its own"
      "${limited[@]}" dotnet test "$root/tests/Integration.Tests" -c Release -nologo -v quiet --filter "FullyQualifiedName~$3" > "$log" 2>&1 || code=$? ;;
    *)
      # shellcheck disable=SC2086
      env $settings "${limited[@]}" bash -o pipefail -c "same_as_stock $2 $3" > "$log" 2>&1 || code=$? ;;
  esac
  if [ "$code" -eq 0 ]; then
    passed=$((passed + 1))
    echo "ok $2 $3" >> "$results"
    echo "ok $((SECONDS - began)) s  $2 $3  $settings"
    rm -f "$log"
  else
    failed=$((failed + 1))
    echo "FAILED $2 $3" >> "$results"
    echo "FAILED, exit code $code after $((SECONDS - began)) s  $2 $3  $settings"
    echo "--- the end of ${log#"$root"/}:"
    tail -n 20 "$log"
    echo "---"
  fi
}

echo "seed $seed, slice $slice of ${#all[@]}, $minutes minutes"
for ((i = number - 1; i < ${#all[@]}; i += slices)); do
  if grep -qxF "ok ${all[i]}" "$results"; then
    before=$((before + 1))
  elif [ "$SECONDS" -ge "$end" ]; then
    left=$((left + 1))
  else
    # shellcheck disable=SC2086
    one "$i" ${all[i]}
  fi
done

echo "all slices of $slices so far: $(cat "$logs"/slice-*-of-"$slices" | grep '^ok ' | sort -u | wc -l) of ${#all[@]} passed, $(cat "$logs"/slice-*-of-"$slices" | grep -c '^FAILED ' || true) failures"
echo "$passed passed, $failed failed, $before passed before, $left left"
[ "$failed" -eq 0 ] || exit 1
[ "$left" -eq 0 ] || exit 3
