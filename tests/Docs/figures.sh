#!/usr/bin/env bash
# The table of docs/statistics.md for a table of figures in the sources.
#   tests/Docs/figures.sh src/Allocator/diag/figures.inc [Native.]
set -euo pipefail
# One row a line, then its fields. A description consists of one or more string literals.
tr '\n' ' ' < "$1" | sed 's/FREEHOLD_FIGURE(/\n&/g' | sed -nE 's/^FREEHOLD_FIGURE\(([A-Za-z]+), ([A-Za-z]+), *"(.*)"\).*/\1\t\2\t\3/p' | sed -E 's/" +"//g' |
  awk -F '\t' -v prefix="${2:-}" '
    BEGIN { unit["Count"] = ""; unit["Bytes"] = "bytes"; unit["Flag"] = "`true` or `false`"; unit["Nanoseconds"] = "`TimeSpan`" }
    { sub(/^Total/, "", $2) }
    $2 != "Raw" { printf "| `%s%s` | %s | %s |\n", prefix, $1, unit[$2], $3 }'
