#!/usr/bin/env bash
# Long random runs against models that hold no references. Each run has a seed, printed with the command that repeats it.
#   tests/Stress/stress.sh [minutes] [--seed N] [--no-publish] [--all]      default: 10 minutes, a random seed
#   tests/Stress/stress.sh --millions N [--seed N] [--no-publish]           so many million steps of each model under each way of moving, and nothing else
#   tests/Stress/stress.sh --mesh [--no-publish]                            every program with the meshing malloc, and nothing else
#   tests/Stress/stress.sh soak [gigabytes]                                 a long run through a small heap, what it holds plotted: soak.sh
#   tests/Stress/stress.sh preempt [option…]                                every suite while threads are preempted anywhere, in slices: preempt.sh
# Called by ./build.sh stress, which packs first. In turn, until the time is up and at least once each:
#   heap         the model tests of tests/Allocator.Tests: 1 and 4 threads, userfaultfd and mprotect
#   failures     the same with every system call failing somewhere, and racing double deletes
#   model        tests/Contract's random object graphs in a published program, with 1 to 16 threads, under each of six settings
#   moving       the same, the framework's collections, and references to deleted objects, under each mode of FREEHOLD_STRESS
#   long         random graphs under each mode, whose whole heap is rarely collected: many more steps
#   meshing      the model test of tests/Meshing.Tests: random programs of many threads, meshed as often as possible under each barrier; with --all, in the first
#                round, also tests/MeshingPrograms/run.sh --long
#   programs     with --all, in the first round: real programs by the handle compiler, tests/Bridge.Programs
#   benchmarks   with --all, in the first round: the sample of Freehold.BenchmarkDotNet, which publishes for minutes
#   unoptimised  with --all, in the first round: every program of tests/Differential, not optimised, while everything moves
#   cases        with --all, in the first round: every case of tests/Contract, and every program of tests/Differential and tests/Ecosystem, under each of
#                these modes (hours); then the same on the other target framework, net9.0
#   mesh         with --all, in the first round; alone with --mesh: every program of tests/Differential and tests/Ecosystem with the meshing malloc (FreeholdNativeHeap=mesh),
#                under its barriers and while both heaps move what they can
# A failed run of a model is made smaller with tests/Stress/shrink.sh. Ends with how many steps the models made under each setting, 'N passed, N failed'
# and 1 after a failure. Output of failed runs stays in artifacts/logs/stress.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/common.sh"

if [ "${1:-}" = preempt ]; then
  shift
  exec "$root/tests/Stress/preempt.sh" "$@"
fi
if [ "${1:-}" = soak ]; then
  shift
  exec "$root/tests/Stress/soak.sh" "$@"
fi

usage() {
  echo "error: $1 (tests/Stress/stress.sh [minutes | --millions N | --mesh] [--seed N] [--no-publish] [--all])" >&2
  exit 2
}

minutes=10
seed=$((RANDOM * 32768 + RANDOM))
publish=true
all=false
mesh=false
millions=0
while [ $# -gt 0 ]; do
  case "$1" in
    --seed) seed=${2:-}; shift; [ $# -eq 0 ] || shift ;;
    --millions) millions=${2:-}; shift; [ $# -eq 0 ] || shift ;;
    --no-publish) publish=false; shift ;;
    --all) all=true; shift ;;
    --mesh) mesh=true; shift ;;
    -*) usage "unknown option '$1'" ;;
    *) minutes=$1; shift ;;
  esac
done
[[ $minutes =~ ^[1-9][0-9]{0,4}$ ]] || usage "the minutes must be a number of at least 1, not '$minutes'"
[[ $millions =~ ^(0|[1-9][0-9]{0,4})$ ]] || usage "--millions needs a number of at most five digits, not '$millions'"
if $all && [ "$millions" -ne 0 ]; then usage "--all and --millions exclude each other"; fi
if $mesh && { $all || [ "$millions" -ne 0 ]; }; then usage "--mesh goes with neither --all nor --millions"; fi
[[ $seed =~ ^(0|[1-9][0-9]{0,9})$ ]] || usage "--seed needs a number of at most ten digits, not '$seed'"

source "$root/tests/Stress/programs.sh"
tests="$artifacts/native/bin/allocator_tests"
logs="$artifacts/logs/stress"

if ! $mesh; then
  "$root/eng/native.sh" allocator_tests mesh_tests
  publish Contract freehold true
fi
if $all; then
  "$root/eng/prerequisites.sh" native
  "$root/eng/native.sh" freehold_native_half
fi
if $all || $mesh; then
  for project in "${compared[@]}"; do
    publish "$project" freehold-mesh true
    publish "$project" stock false
  done
fi
if $all; then
  publish Contract freehold true net9.0
  publish_compared
  publish_compared net9.0
fi
rm -rf "$logs"
mkdir -p "$logs"

forget_settings

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
  env "${settings[@]}" "$root/tests/Stress/limited.sh" "$run_limit" "$@" > "$log" 2>&1 || code=$?
  local shown="${settings[*]} ${*/#"$root"\//}" clock
  clock=$(printf '%d:%02d' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)))
  if [ "$millions" -eq 0 ] && ! $mesh; then clock+=" of $minutes:00"; fi
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
    if [ $# -ge 6 ] && [ "$2" = run ]; then echo "A smaller case: tests/Stress/shrink.sh ${settings[*]} -- $*"; fi
  fi
}

# model <settings> <model> <seed> <steps of all threads> <threads> [slots [rarity]]
declare -A steps_under
model() {
  local settings=$1 name=$2 seed=$3 steps=$4 threads=$5
  shift 5
  # shellcheck disable=SC2086
  one ok $settings -- "$contract" run "$name" "$seed" "$((steps / threads))" "$threads" "$@"
  settings="$name, $(sed -E 's/seed:[0-9]+,//' <<< "${settings:-no settings}")"
  steps_under[$settings]=$((${steps_under[$settings]:-0} + steps))
}

settings_of_model=(
  ""
  "FREEHOLD_VERIFY=1"
  "FREEHOLD_PROTECTION=mprotect"
  "FREEHOLD_DEBUG=1"
  "FREEHOLD_PROTECTION=mprotect FREEHOLD_VERIFY=1"
  "FREEHOLD_PROTECTION=mprotect FREEHOLD_DEBUG=1"
)
modes_of_moving=(
  "FREEHOLD_STRESS=promote:2000"
  "FREEHOLD_STRESS=promote:500"
  "FREEHOLD_STRESS=promote:3000,fault"
  "FREEHOLD_STRESS=promote:3000,sites"
  "FREEHOLD_STRESS=promote:3000,delay:200"
  "FREEHOLD_STRESS=promote:1000,dedangle"
  "FREEHOLD_STRESS=promote:2000,fault,dedangle"
  "FREEHOLD_STRESS=promote:2000,reuse FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:5000,dedangle FREEHOLD_VERIFY=1"
  "FREEHOLD_STRESS=reclaim:1000"
  "FREEHOLD_STRESS=reclaim:1000 FREEHOLD_VERIFY=1"
  "FREEHOLD_STRESS=promote:2000,reclaim:1000 FREEHOLD_RECLAIM_CONCURRENT=0"
  "FREEHOLD_STRESS=promote:2000,reclaim:1000"
  "FREEHOLD_STRESS=promote:2000,reuse,reclaim:2000 FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:2000,preempt"
  "FREEHOLD_STRESS=promote:2000,preempt:500,fault"
  "FREEHOLD_STRESS=promote:2000,preempt,reuse,reclaim:3000 FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:2000,preempt FREEHOLD_PROTECTION=mprotect"
  "FREEHOLD_STRESS=deletion:100"
  "FREEHOLD_STRESS=deletion:100,fault"
  "FREEHOLD_STRESS=promote:2000 FREEHOLD_PROTECTION=mprotect"
  "FREEHOLD_STRESS=promote:5000 FREEHOLD_VERIFY=1"
)
# Small pages: in these modes blocks hold 32 KB, and a huge page would be cleared for each.
modes_of_millions=(
  "FREEHOLD_STRESS=promote:2000 FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:2000,dedangle FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:20000,fault FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:20000,sites FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:3000,delay:200 FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=deletion:1000 FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:2000,reuse FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:2000,reclaim:2000 FREEHOLD_HUGE_PAGES=0"
  "FREEHOLD_STRESS=promote:3000,preempt FREEHOLD_HUGE_PAGES=0"
)
threads_of_model=(1 4 2 16 8 3)
steps_of_model=160000  # of all threads together
steps_of_moving=80000
steps_of_long=1000000
steps_with_mappings=30000  # where each deleted object takes kernel mappings: FREEHOLD_MAP_BUDGET has to last
steps_of_verified=16000  # where each step may walk the heap

export -f same_as_stock
export artifacts logs

# every_case_while_moving <seed> [<-framework>]
every_case_while_moving() {
  local mode project name framework=${2:-} contract="$artifacts/integration/Contract${2:-}-freehold/Contract"
  for mode in "${modes_of_moving[@]}"; do
    mode="${mode/FREEHOLD_STRESS=/FREEHOLD_STRESS=seed:$1,}"
    # Nor those that count what the mode deletes.
    local left_out_here=$left_out
    if [[ $mode == *reclaim* ]]; then left_out_here="$left_out|^unreachable-"; fi
    for name in $("$contract" list | grep -vE "$left_out_here"); do
      # shellcheck disable=SC2086
      one ok $mode -- "$contract" run "$name"
    done
    for project in "${compared[@]}"; do
      for name in $("$artifacts/integration/$project$framework-freehold/$project" list); do
        # shellcheck disable=SC2086
        one "" $mode -- bash -o pipefail -c "same_as_stock $project $name $framework"
      done
    done
  done
}

# Both heaps by userfaultfd, both by SIGSEGV, and each while it moves what it can.
modes_of_mesh=(
  ""
  "FREEHOLD_MESH_STRESS=20"
  "FREEHOLD_MESH_BARRIER=user FREEHOLD_MESH_STRESS=20"
  "FREEHOLD_MESH_BARRIER=mprotect FREEHOLD_PROTECTION=mprotect FREEHOLD_MESH_STRESS=20"
  "FREEHOLD_MESH_STRESS=20 FREEHOLD_STRESS=promote:5000"
  "FREEHOLD_MESH_BARRIER=mprotect FREEHOLD_PROTECTION=mprotect FREEHOLD_MESH_STRESS=20 FREEHOLD_STRESS=promote:10000,fault"
)
every_program_with_mesh() {
  local mode project name
  for mode in "${modes_of_mesh[@]}"; do
    for project in "${compared[@]}"; do
      for name in $("$artifacts/integration/$project-freehold-mesh/$project" list); do
        # shellcheck disable=SC2086
        one "" $mode -- bash -o pipefail -c "same_as_stock $project $name '' freehold-mesh"
      done
    done
  done
}

finish() {
  for settings in "${!steps_under[@]}"; do echo "$((steps_under[$settings] / 1000)) thousand steps: $settings"; done | sort -k 4
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

if $mesh; then
  echo "every program of ${compared[*]} with the meshing malloc, under each of ${#modes_of_mesh[@]} modes"
  every_program_with_mesh
  finish
  exit
fi

if [ "$millions" -ne 0 ]; then
  echo "seed $seed, $millions million steps of each model under each of ${#modes_of_millions[@]} modes"
  for ((i = 0; i < millions; i++)); do
    for mode in "${modes_of_millions[@]}"; do
      # A run for each million: what the graphs lose sight of is garbage, which nobody collects here.
      graph=(model $(((seed + i * 7919) % 2000000 + 1)) 1000000 "${threads_of_model[i % ${#threads_of_model[@]}]}" 1000 1000)
      # Its garbage would name every address.
      if [[ $mode == *reuse* ]]; then graph=(model-reuse "${graph[@]:1:3}"); fi
      model "${mode/FREEHOLD_STRESS=/FREEHOLD_STRESS=seed:$seed,}" "${graph[@]}"
      model "${mode/FREEHOLD_STRESS=/FREEHOLD_STRESS=seed:$seed,}" model-collections "${graph[@]:1:3}"
    done
  done
  finish
  exit
fi

echo "seed $seed, $minutes minutes"
round=0
while [ "$SECONDS" -lt "$end" ] || [ "$round" -eq 0 ]; do
  # Seeds that fit the programs' 32-bit arithmetic; the round is part of it, so that no two are alike.
  next=$(((seed + round * 7919 + RANDOM) % 2000000 + 1))
  one "" "FREEHOLD_TEST_SEED=$next" -- "$tests" '--gtest_filter=*HeapModelTest.*' --gtest_brief=1
  one "" "FREEHOLD_TEST_SEED=$next" -- "$artifacts/native/bin/mesh_tests" '--gtest_filter=*MeshModelTest*' --gtest_brief=1
  if [ "$round" -eq 0 ] && $all; then one "" -- "$root/tests/MeshingPrograms/run.sh" --long; fi
  if [ "$round" -eq 0 ] && $all; then one "" -- "$root/tests/Bridge.Programs/run.sh" --all; fi
  if [ "$round" -eq 0 ] && $all; then one "" -- env FREEHOLD_LONG_TESTS=1 dotnet test -c Release -nologo "$root/tests/BenchmarkDotNet.Tests"; fi
  if [ "$round" -eq 0 ] && $all; then one "" -- env FREEHOLD_LONG_TESTS=1 dotnet test -c Release -nologo "$root/tests/Integration.Tests" --filter FullyQualifiedName~Unoptimised; fi
  for i in "${!settings_of_model[@]}"; do
    if [ "$SECONDS" -ge "$end" ] && [ "$round" -ne 0 ]; then break; fi
    threads=${threads_of_model[$(((i + round) % ${#threads_of_model[@]}))]}
    steps=$steps_of_model
    if [[ ${settings_of_model[i]} == *VERIFY* ]]; then steps=$steps_of_verified; fi
    if [[ ${settings_of_model[i]} == *mprotect*DEBUG* ]]; then steps=$steps_with_mappings; fi
    model "${settings_of_model[i]}" model "$((next + i))" "$steps" "$threads"
  done
  for i in "${!modes_of_moving[@]}"; do
    mode=${modes_of_moving[i]/FREEHOLD_STRESS=/FREEHOLD_STRESS=seed:$next,}
    for name in model model-collections model-reuse; do
      if [ "$SECONDS" -ge "$end" ] && [ "$round" -ne 0 ]; then break 2; fi
      threads=${threads_of_model[$(((i + round) % ${#threads_of_model[@]}))]}
      steps=$steps_of_moving
      if [[ ${modes_of_moving[i]} == *VERIFY* ]]; then steps=$steps_of_verified; fi
      model "$mode" "$name" "$((next + i))" "$steps" "$threads"
    done
    # Where each step is slow by itself, the runs above are long enough.
    if [[ $mode != *VERIFY* && $mode != *deletion:100* ]] && { [ "$SECONDS" -lt "$end" ] || [ "$round" -eq 0 ]; }; then
      steps=$steps_of_long
      if [[ $mode == *delay* || $mode == *preempt* ]]; then steps=$steps_of_moving; fi  # each fault sleeps, those of Heap.Verify too; threads are preempted
      model "$mode" model "$((next + i + 100))" "$steps" "$threads" 3000 1000
    fi
  done
  if [ "$round" -eq 0 ] && $all; then 
    every_case_while_moving "$next"
    every_case_while_moving "$next" -net9.0
    every_program_with_mesh
  fi
  if [ "$SECONDS" -lt "$end" ] || [ "$round" -eq 0 ]; then
    one "" "FREEHOLD_TEST_SEED=$next" -- "$tests" '--gtest_filter=*HeapFailureTest.*:*RacingDoubleDeletes' --gtest_brief=1
  fi
  round=$((round + 1))
done

finish
