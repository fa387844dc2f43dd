#!/usr/bin/env bash
# The fuzzers, in turn: of the operand decoder and the settings (libFuzzer, with AddressSanitizer and UndefinedBehaviorSanitizer), then those of the readers of
# GC info and ELF files, which are C# (tests/Maps.Tests, DamagedInputTests). With --inputs only the first two: the others have inputs of their own in their suite.
#   tests/Fuzz/fuzz.sh [seconds of each [name…]]      default: 600; knobs, operand, GcInfo, ElfFiles
#   tests/Fuzz/fuzz.sh --inputs N                     N inputs of each, the same ones in each run
# Each begins with the inputs of corpus/, and keeps what it found on the way in artifacts/fuzz. Ends with 'N passed, N failed'; a finding stays in
# artifacts/fuzz/<name>, with the command that repeats it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/common.sh"
if [ "${1:-}" = --inputs ]; then
  what=inputs number=${2:-} limit=(-runs="${2:-}" -seed=1) names=()
else
  what=seconds number=${1:-600} limit=(-max_total_time="${1:-600}") names=("${@:2}")
fi
[[ $number =~ ^[1-9][0-9]{0,8}$ ]] || { echo "error: the $what must be a number of at least 1, not '$number' (tests/Fuzz/fuzz.sh [seconds of each [name…] | --inputs N])" >&2; exit 2; }
"$root/eng/prerequisites.sh" clang-19 libclang-rt-19-dev

here="$root/tests/Fuzz"
out="$artifacts/fuzz"
mkdir -p "$out"
flags=(-std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Wall -Wextra -Werror -I "$root/src/Allocator" -I "$root/src")
declare -A sources=(
  [operand]="$root/src/Platform/operand.cpp"
  [knobs]="$root/src/Allocator/core/knobs.cpp $root/src/Platform/settings.cpp $root/src/Allocator/os/kernel.cpp $root/src/Allocator/os/failure_injection.cpp $root/src/Platform/files.cpp"
)
declare -A libraries=([operand]="-lZydis" [knobs]="")
passed=0
failed=0
wanted() { [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $1 "* ]]; }
for name in $(printf '%s\n' "${!sources[@]}" | LC_ALL=C sort); do
  wanted "$name" || continue
  if [ "$what" = inputs ]; then rm -rf "$out/$name/corpus"; fi
  mkdir -p "$out/$name/corpus"
  # shellcheck disable=SC2086
  run clang++-19 "${flags[@]}" "$here/${name}_fuzzer.cpp" ${sources[$name]} ${libraries[$name]} -o "$out/$name/fuzzer"
  code=0
  (cd "$out/$name" && run ./fuzzer "${limit[@]}" -timeout=10 -max_len=512 -print_final_stats=1 corpus "$here/corpus/$name") > "$out/$name/log" 2>&1 || code=$?
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
if [ "$what" = seconds ] && { wanted GcInfo || wanted ElfFiles; }; then
  run dotnet build -c Release -nologo -v quiet "$root/tests/Maps.Tests"
  for reader in GcInfo ElfFiles; do
    wanted "$reader" || continue
    # GcInfo is two tests, a version each.
    each=$number
    if [ "$reader" = GcInfo ]; then each=$(((number + 1) / 2)); fi
    code=0
    FREEHOLD_FUZZ_SECONDS=$each run timeout $((2 * number + 120)) dotnet test -c Release --no-build -nologo --logger "console;verbosity=detailed" \
      --filter "FullyQualifiedName~DamagedInputTests.$reader" "$root/tests/Maps.Tests" > "$out/$reader.log" 2>&1 || code=$?
    if [ "$code" -eq 0 ] && grep -q ' answered, ' "$out/$reader.log"; then
      echo "ok: $reader, $(grep -oE '[0-9]+ answered, [0-9]+ refused' "$out/$reader.log" | paste -sd';')"
      passed=$((passed + 1))
    else
      echo "FAILED: $reader, code $code; the finding names its seed: $out/$reader.log"
      tail -n 30 "$out/$reader.log"
      failed=$((failed + 1))
    fi
  done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
