#!/usr/bin/env bash
# The fuzzers (libFuzzer, with AddressSanitizer and UndefinedBehaviorSanitizer), in turn.
#   tests/Fuzz/fuzz.sh [seconds of each]      default: 600
# Each begins with the inputs of corpus/, and keeps what it found on the way in artifacts/fuzz. Ends with 'N passed, N failed'; a finding stays in
# artifacts/fuzz/<name>, with the command that repeats it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/common.sh"
seconds=${1:-600}
[[ $seconds =~ ^[1-9][0-9]{0,4}$ ]] || { echo "error: the seconds must be a number of at least 1, not '$seconds' (tests/Fuzz/fuzz.sh [seconds of each])" >&2; exit 2; }
"$root/eng/prerequisites.sh" clang-19 libclang-rt-19-dev

here="$root/tests/Fuzz"
out="$artifacts/fuzz"
mkdir -p "$out"
flags=(-std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Wall -Wextra -Werror -I "$root/src/Allocator")
declare -A sources=(
  [operand]="$root/src/Allocator/runtime/operand.cpp"
  [knobs]="$root/src/Allocator/core/knobs.cpp $root/src/Allocator/platform/os.cpp $root/src/Allocator/platform/failure_injection.cpp"
)
declare -A libraries=([operand]="-lZydis" [knobs]="")
passed=0
failed=0
for name in $(printf '%s\n' "${!sources[@]}" | LC_ALL=C sort); do
  mkdir -p "$out/$name/corpus"
  # shellcheck disable=SC2086
  run clang++-19 "${flags[@]}" "$here/${name}_fuzzer.cpp" ${sources[$name]} ${libraries[$name]} -o "$out/$name/fuzzer"
  code=0
  (cd "$out/$name" && run ./fuzzer -max_total_time="$seconds" -timeout=10 -max_len=512 -print_final_stats=1 corpus "$here/corpus/$name") > "$out/$name/log" 2>&1 || code=$?
  units=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name/log")
  if [ "$code" -eq 0 ] && [ "${units:-0}" -gt 1000 ]; then
    echo "ok: $name, $units inputs"
    passed=$((passed + 1))
  else
    echo "FAILED: $name, code $code after ${units:-0} inputs; log and finding: $out/$name"
    tail -n 30 "$out/$name/log"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
