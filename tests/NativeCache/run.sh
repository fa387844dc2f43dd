#!/usr/bin/env bash
# samples/NativeCache: the same results as with a stock collector and plain clang, also while both heaps move all that they can, and figures of both heaps.
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
out="$artifacts/native-cache"
passed=0
failed=0
"$root/eng/prerequisites.sh" native
publish() { run dotnet publish "$root/samples/NativeCache" -r linux-x64 -c Release -nologo -v quiet --artifacts-path "$out/build-$1" -o "$out/$1" "${@:2}"; }
publish stock -p:FreeholdEnabled=false
publish freehold

# check <name> <condition…>
check() {
  if "${@:2}"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED: $1"
    cat "$out/log" "$out/errors"
  fi
}
# figure <sed expression>: a number of standard error
figure() { sed -nE "$1" "$out/errors"; }

expected=$("$out/stock/NativeCache" 200 2> /dev/null)
check "the stock build prints figures without handles" [ -n "$expected" ]
for settings in "" "FREEHOLD_NATIVE_STRESS=move:20" "FREEHOLD_NATIVE_STRESS=stop:50" "FREEHOLD_STRESS=promote:2000" "FREEHOLD_STRESS=promote:2000 FREEHOLD_NATIVE_STRESS=move:200" "FREEHOLD_NATIVE_DEFRAGMENT=0"; do
  code=0
  # shellcheck disable=SC2086
  (ulimit -t 300; env $settings "$out/freehold/NativeCache" 200 > "$out/log" 2> "$out/errors") || code=$?
  check "results, settings '$settings': exit $code" [ "$code $(cat "$out/log")" = "0 $expected" ]
  check "the front's heap, settings '$settings'" [ "$(figure 's/^managed heap: .* ([0-9]+) objects deleted.*/\1/p')" -gt 100000 ]
  check "the cache's heap, settings '$settings'" [ "$(figure 's/^heap of handles: ([0-9]+) of.*/\1/p')" -ge 20 ]
  moved=$(figure 's/^heap of handles: .* ([0-9]+) objects moved.*/\1/p')
  case "$settings" in
    *move*) check "everything moved, settings '$settings': $moved" [ "$moved" -gt 100000 ] ;;
    *promote*) ;;
    *DEFRAGMENT=0*) check "nothing moved, settings '$settings': $moved" [ "$moved" -eq 0 ] ;;
  esac
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
