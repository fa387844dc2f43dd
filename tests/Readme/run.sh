#!/usr/bin/env bash
# The README's example is samples/Hello, and prints what the README says. Its outcomes with FREEHOLD_DEBUG=1 too: every use throws.
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
out="$artifacts/hello"
passed=0
failed=0

# same <name> <expected> <actual>
same() {
  if diff <(echo "$2") <(echo "$3"); then
    echo "ok: $1"
    passed=$((passed + 1))
  else
    echo "FAILED: $1 (< expected, > found)"
    failed=$((failed + 1))
  fi
}

# block <language>: the first code block of that kind in the README.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$root/README.md" | sed '1d;/^```$/,$d'; }

same "the program is samples/Hello" "$(cat "$root/samples/Hello/Program.cs")" "$(block csharp)"
run dotnet publish "$root/samples/Hello" -r linux-x64 -c Release -nologo -v quiet --artifacts-path "$out/build" -o "$out/out"
same "the output" "$(block text)" "$("$out/out/Hello")"
same "the output with mprotect" "$(block text)" "$(FREEHOLD_PROTECTION=mprotect "$out/out/Hello")"
same "debug mode: every use throws" "DanglingReferenceException DanglingReferenceException DoubleDeleteException null" \
  "$(FREEHOLD_DEBUG=1 "$out/out/Hello" | sed -n 's/^[a-z].*: //p' | xargs)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
