#!/usr/bin/env bash
# Every C++ and C# file is formatted as .clang-format and .editorconfig say, and every script passes bash -n. Each file is a test.
#   tests/Format/run.sh           checks
#   tests/Format/run.sh --apply   formats instead
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
passed=0
failed=0
# Files that git knows or would know: nothing that a build made.
files() {
  if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then git ls-files --cached --others --exclude-standard -- "$@"; else find . \( -path ./artifacts -o -path ./.git -o -name obj -o -name bin \) -prune -o -name "$1" -type f -printf "%P\n"; fi |
    while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done
}
mapfile -t native < <(files '*.cpp'; files '*.h'; files '*.c')
mapfile -t managed < <(files '*.cs')
mapfile -t scripts < <(files '*.sh')

if [ "${1:-}" = --apply ]; then
  clang-format-19 -i "${native[@]}"
  dotnet format whitespace --folder . --include "${managed[@]}"
  exit 0
fi

count() {  # count <how many files> <the names of those that are wrong, one a line>
  local wrong=0
  if [ -n "$2" ]; then wrong=$(wc -l <<< "$2"); fi
  passed=$((passed + $1 - wrong))
  failed=$((failed + wrong))
  if [ "$wrong" -ne 0 ]; then printf 'FAILED: %s\n' $2; fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '%s\n' "${native[@]}" | xargs -P "$(nproc)" -n 16 clang-format-19 --dry-run 2>> "$log" || true
count "${#native[@]}" "$(grep -oE '^[^ :]+:[0-9]+:[0-9]+: (warning|error)' "$log" | cut -d: -f1 | sort -u)"
if [ -s "$log" ] && [ "$failed" -eq 0 ]; then  # said something else: clang-format is missing, or its settings are wrong
  cat "$log"
  failed=$((failed + 1))
fi
before=$failed
code=0
dotnet format whitespace --folder . --verify-no-changes --include "${managed[@]}" > "$log" 2>&1 || code=$?
count "${#managed[@]}" "$(grep -oE '[^ ]+\.cs\([0-9]+,[0-9]+\): error' "$log" | cut -d'(' -f1 | sort -u)"
if [ "$code" -ne 0 ] && [ "$failed" -eq "$before" ]; then
  cat "$log"
  failed=$((failed + 1))
fi
count "${#scripts[@]}" "$(for script in "${scripts[@]}"; do bash -n "$script" 2> /dev/null || echo "$script"; done)"
# A grep that ends at its first match ends its writer, too, if that is not yet done: with pipefail, a test that fails once in a thousand runs.
count "${#scripts[@]}" "$(grep -lE '(^|[^|])\| *grep [^|]*(-[a-zA-Z]*q|> */dev/null)' "${scripts[@]}" | grep -v '^tests/Format/run.sh$' || true)"
if [ "$failed" -ne 0 ]; then echo "tests/Format/run.sh --apply formats them"; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
