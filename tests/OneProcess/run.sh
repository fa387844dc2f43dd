#!/usr/bin/env bash
# Three heaps in one process: pins of handles by C#, the budget of memory, stops at the same moment, the verifier of all three; samples/OneProcess.
#   tests/OneProcess/run.sh [verb…]      default: all
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
out="$artifacts/one-process"
passed=0
failed=0
"$root/eng/prerequisites.sh" native
run dotnet publish "$root/tests/OneProcess" -r linux-x64 -c Release -nologo -v quiet --artifacts-path "$out/build" -o "$out/published"
program="$out/published/OneProcess"

# check <verb and numbers> [settings…]
check() {
  local what=$1 code=0
  shift
  # shellcheck disable=SC2086
  (ulimit -t 900; env "$@" "$program" $what > "$out/log" 2> "$out/errors") || code=$?
  if [ "$code $(tail -1 "$out/log")" = "0 ok" ]; then
    passed=$((passed + 1))
    sed "s/^/  $what: /" "$out/errors"
  else
    failed=$((failed + 1))
    echo "FAILED: $what, settings '$*': exit $code"
    cat "$out/log" "$out/errors"
  fi
}
# A control group of 256 MB for the command behind it, of either version; where none can be made, nothing.
group=
make_group() {
  local folder
  for folder in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    group=$folder/freehold-test-$$
    mkdir "$group" 2> /dev/null || continue
    for limit in memory.limit_in_bytes memory.max; do
      if [ -f "$group/$limit" ] && echo 268435456 > "$group/$limit" 2> /dev/null; then return 0; fi
    done
    rmdir "$group"
  done
  group=
  return 1
}
leave_group() { for _ in $(seq 100); do rmdir "$group" 2> /dev/null && break; sleep 0.1; done; }
wants() { [ ${#verbs[@]} -eq 0 ] || [[ " ${verbs[*]} " = *" $1 "* ]]; }
verbs=("$@")

if wants pins; then
  check pins
  check pins FREEHOLD_NATIVE_STRESS=move:20
  check pins FREEHOLD_STRESS=promote:2000 FREEHOLD_MESH_STRESS=20
fi
if wants verify; then check verify; fi
if wants budget; then
  check budget FREEHOLD_MEMORY_LIMIT=256M
  check budget FREEHOLD_MEMORY_LIMIT=256M FREEHOLD_MESH_BARRIER=mprotect FREEHOLD_PROTECTION=mprotect
  if make_group; then
    real=$program
    program="$out/in-group"
    printf '#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s "$@"\n' "$group" "$real" > "$program"
    chmod +x "$program"
    check budget
    program=$real
    leave_group
  fi
fi
if wants order; then
  check order FREEHOLD_MEMORY_LIMIT=256M
  check order FREEHOLD_MEMORY_LIMIT=256M FREEHOLD_MESH_BARRIER=mprotect FREEHOLD_PROTECTION=mprotect
fi
if wants stops; then
  for seed in 1 2; do check "stops $seed"; done
  check "stops 3" FREEHOLD_MESH_BARRIER=mprotect FREEHOLD_PROTECTION=mprotect FREEHOLD_STRESS=promote:5000,delay:200
  check "stops 4" FREEHOLD_NATIVE_STRESS=stop:50 FREEHOLD_MESH_STRESS=50 FREEHOLD_MEMORY_LIMIT=256M
fi

# samples/OneProcess: what it prints is what it prints on a stock collector with plain C; three heaps stay within one limit, and the picture has them.
# that <name> <condition…>
that() {
  if "${@:2}"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED: $1"
    cat "$out/log" "$out/errors"
  fi
}
figure() { sed -nE "$1" "$out/errors"; }
if wants sample; then
  for kind in stock freehold; do
    run dotnet publish "$root/samples/OneProcess" -r linux-x64 -c Release -nologo -v quiet --artifacts-path "$out/build-$kind" -o "$out/$kind" $([ $kind = freehold ] || echo -p:FreeholdEnabled=false)
  done
  expected=$(ulimit -t 900; "$out/stock/OneProcess" 1 60 2> "$out/errors")
  that "the sample on a stock collector: $expected" grep -qE '^[0-9]+ requests, [0-9]+ sessions and [0-9]+ words are left$' <<< "$expected"
  for settings in "FREEHOLD_MEMORY_LIMIT=128M" "FREEHOLD_MEMORY_LIMIT=128M FREEHOLD_MESH_BARRIER=mprotect FREEHOLD_PROTECTION=mprotect" "FREEHOLD_STRESS=promote:2000 FREEHOLD_NATIVE_STRESS=move:200 FREEHOLD_MESH_STRESS=50"; do
    code=0
    rm -f "$out"/plot.*
    # shellcheck disable=SC2086
    (ulimit -t 900; env $settings "$out/freehold/OneProcess" 1 60 "$out/plot.svg" > "$out/log" 2> "$out/errors") || code=$?
    that "sample, settings '$settings': exit $code" [ "$code $(cat "$out/log")" = "0 $expected" ]
    that "sample, settings '$settings': three heaps in the picture" [ "$(grep -c '<polygon' "$out/plot.svg")" = 3 ]
    that "sample, settings '$settings': samples" [ "$(wc -l < "$out/plot.csv")" -gt 5 ]
    for heap in 'managed heap' 'heap of handles' 'meshing malloc'; do
      that "sample, settings '$settings': the season of the $heap" [ "$(figure "s/^$heap: at most ([0-9]+) MB.*/\1/p")" -ge 40 ]
    done
    case "$settings" in
      *LIMIT*) that "sample, settings '$settings': within the limit" [ "$(figure 's/^process: at most ([0-9]+) MB.*/\1/p')" -le 128 ] ;;
      *) that "sample, settings '$settings': pages moved" [ "$(figure 's/^heap of handles: .* ([0-9]+) objects moved.*/\1/p')" -gt 10000 ] ;;
    esac
    sed "s/^/  sample: /" "$out/errors"
  done
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
