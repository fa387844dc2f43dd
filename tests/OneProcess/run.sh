#!/usr/bin/env bash
# Three heaps in one process: pins of handles by C#, the budget of memory, stops at the same moment, the verifier of all three.
#   tests/OneProcess/run.sh [verb…]      default: all
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
out="$artifacts/one-process"
passed=0
failed=0
"$root/eng/prerequisites.sh" native
"$root/eng/native.sh" freehold_native_half
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
if wants stops; then
  for seed in 1 2; do check "stops $seed"; done
  check "stops 3" FREEHOLD_MESH_BARRIER=mprotect FREEHOLD_PROTECTION=mprotect FREEHOLD_STRESS=promote:5000,delay:200
  check "stops 4" FREEHOLD_NATIVE_STRESS=stop:50 FREEHOLD_MESH_STRESS=50 FREEHOLD_MEMORY_LIMIT=256M
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
