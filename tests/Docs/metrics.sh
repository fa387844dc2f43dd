#!/usr/bin/env bash
# The table of docs/metrics.md for a table of figures in the sources: a figure is an instrument of the meter Freehold.Heap.
#   tests/Docs/metrics.sh src/Allocator/diag/native_figures.inc native [Native.]
# tests/Diagnostics.Tests compares the page with the instruments of a published program.
set -euo pipefail
tr '\n' ' ' < "$1" | sed 's/FREEHOLD_FIGURE(/\n&/g' | sed -nE 's/^FREEHOLD_FIGURE\(([A-Za-z]+), ([A-Za-z]+), *".*/\1\t\2/p' |
  awk -F '\t' -v table="$2" -v prefix="${3:-}" '
    $2 != "Raw" {
      name = $1
      gsub(/[A-Z]/, "_&", name)
      unit = $2 ~ /Bytes$/ ? "`By`" : $2 ~ /Nanoseconds$/ ? "`s`" : ""
      printf "| `freehold.%s.%s` | %s | %s | `%s%s` |\n", table, tolower(substr(name, 2)), $2 ~ /^Total/ ? "counter" : "gauge", unit, prefix, $1
    }'
