#!/usr/bin/env bash
# The table of docs/internals/abi.md: what src/Allocator/runtime/abi.inc lists.
set -euo pipefail
# One row a line. A description consists of one or more string literals.
tr '\n' ' ' < "$(dirname "$0")/../../src/Allocator/runtime/abi.inc" | sed -E 's/FREEHOLD_(BLOCKING_)?CALL\(/\n&/g' |
  sed -nE 's/^FREEHOLD_(BLOCKING_)?CALL\(([a-z0-9_*]+), *(freehold_[a-z_]+), *\(([^)]*)\), *"[^"]*", *"(.*)"\).*/\1\t\2\t\3\t\4\t\5/p' | sed -E 's/" +"//g' |
  awk -F '\t' '{ printf "| `%s %s(%s)` | %s%s |\n", $2, $3, $4, $5, $1 == "" ? "" : ". An ordinary P/Invoke" }'
