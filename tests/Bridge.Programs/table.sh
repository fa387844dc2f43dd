#!/usr/bin/env bash
# The table of docs/internals/programs.md: what the recipes say of themselves, and the outcomes of record.tsv. A cell of a mode with another number than usual has it.
#   tests/Bridge.Programs/table.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for recipe in "$here"/recipes/*.sh; do
  tests=
  built=
  # shellcheck disable=SC1090
  source "$recipe"
  printf '%s\t%s\t%s\n' "$(basename "$recipe" .sh)" "$tests" "$built"
done | awk -F '\t' '
  function cell(level, mode) { return outcome[$1, level, mode] }
  # The first file: what was recorded.
  FNR == NR {
    if ($0 ~ /^#/) next
    split($3, mode, ":")
    usual = mode[1] == "default" || $3 == "move:50" || $3 == "stop:10"
    outcome[$1, $2, mode[1]] = $4 (usual ? "" : " (" mode[2] ")")
    next
  }
  {
    printf "| %s | %s | %s |", $1, $2, $3
    for (i = 1; i <= 2; i++) printf " %s | %s | %s |", cell("-O" i + 1, "default"), cell("-O" i + 1, "move"), cell("-O" i + 1, "stop")
    print ""
  }' "$here/record.tsv" -
