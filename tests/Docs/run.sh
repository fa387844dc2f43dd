#!/usr/bin/env bash
# What the documentation says is true where a machine can tell: links lead somewhere, programs in it are those of samples/, and print what it says.
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
cd "$root"
out="$artifacts/docs"
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

# A link to a file, and to a heading of it if there is a '#'.
links() {
  local page=$1 broken="" target file anchor
  while IFS= read -r target; do
    case "$target" in http:*|https:*|mailto:*) continue ;; esac
    file=${target%%#*}
    anchor=""
    if [[ "$target" == *'#'* ]]; then anchor=${target#*#}; fi
    if [ -z "$file" ]; then file=$page; else file="$(dirname "$page")/$file"; fi
    if [ ! -e "$file" ]; then
      broken+="$target "
    elif [ -n "$anchor" ] && ! headings "$file" | holds -xF -- "$anchor"; then
      broken+="$target "
    fi
  done < <(sed '/^```/,/^```/d' "$page" | grep -oE '\]\([^)]+\)' | sed 's/^](//;s/)$//')
  same "links of $page" "" "${broken% }"
}

# The anchors of a page, as GitHub makes them.
headings() {
  sed '/^```/,/^```/d' "$1" | sed -n 's/^##* //p' | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g;s/ /-/g'
  grep -oE '<a id="[^"]+"' "$1" | sed 's/.*"\(.*\)"/\1/' || true
}

# block <page> <language> <n>: the n-th code block of that language.
block() { awk -v begin="\`\`\`$2" -v wanted="$3" '$0 == begin { inside = (++n == wanted); next } /^```$/ { inside = 0 } inside' "$1"; }

# A stack's frames are stable, offsets into their code are not.
frames() { sed -E 's/ \+ 0x[0-9a-f]+/ + 0x…/; s/^ +//'; }

# publish <sample>
publish() { run dotnet publish "samples/$1" -r linux-x64 -c Release -nologo -v quiet --artifacts-path "$out/build-$1" -o "$out/$1"; }

mapfile -t pages < <(git ls-files --cached --others --exclude-standard '*.md')
for page in "${pages[@]}"; do links "$page"; done

# A source file that a page names in back quotes is there, by its name or the end of its path; these a build makes.
made='^(obj/freehold/FreeholdPackages\.csproj|toolchain\.txt|artifacts/packages/Freehold\.Dev\.props|Freehold\.Generated\.targets)$'
same "the files that pages name" "" "$(comm -23 <(grep -ohE '`[A-Za-z0-9_./-]+\.(cpp|h|S|inc|cs|sh|props|targets|json|txt|md|csproj|py)`' "${pages[@]}" | tr -d '`' | grep -vE "$made" | LC_ALL=C sort -u) \
  <(git ls-files --cached --others --exclude-standard | awk '{ while (1) { print; at = index($0, "/"); if (at == 0) break; $0 = substr($0, at + 1) } }' | LC_ALL=C sort -u))"
same "cells of tables of more than two lines (240 characters)" "" \
  "$(awk '/^\|/ { cells = split($0, cell, "|"); for (i = 2; i < cells; i++) if (length(cell[i]) > 240) print FILENAME ":" FNR }' "${pages[@]}")"
same "README: about 600 words" "true" "$(words=$(tr '|' ' ' < README.md | sed 's/---//g' | wc -w); [ "$words" -ge 500 ] && [ "$words" -le 650 ] && echo true || echo "$words")"

same "statistics: the tables are those of the sources" \
  "$(tests/Docs/figures.sh src/Allocator/diag/figures.inc; tests/Docs/figures.sh src/Allocator/diag/native_figures.inc Native.; tests/Docs/figures.sh src/NativeBridge/Runtime/handle_figures.inc Handles.)" "$(grep '^| `' docs/statistics.md)"
same "metrics: the tables are those of the sources" \
  "$(tests/Docs/metrics.sh src/Allocator/diag/figures.inc heap; tests/Docs/metrics.sh src/Allocator/diag/native_figures.inc native Native.; tests/Docs/metrics.sh src/NativeBridge/Runtime/handle_figures.inc handles Handles.)" \
  "$(grep '^| `freehold\.' docs/metrics.md)"
for table in src/Allocator/core src/NativeBridge/Meshing src/NativeBridge/Runtime src/NativeBridge/Profile; do eng/settings.sh page "$table/knobs.inc"; done > "$artifacts/docs.settings"
same "settings: the tables are those of the sources" "$(cat "$artifacts/docs.settings")" "$(grep '^| `FREEHOLD_' docs/settings.md)"
same "abi: the table is that of the sources" "$(tests/Docs/calls.sh)" "$(grep -E '^\| `[a-z0-9_*]+ freehold_' docs/internals/abi.md)"

same "programs: the table is that of the recipes and the record" "$(tests/Bridge.Programs/table.sh)" "$(grep -E '^\| [a-z0-9]+ \|.*\|.*\|.*\|.*\|.*\|.*\|.*\|.*\|$' docs/internals/programs.md | grep -v '^| program ')"
# What table.sh would pass over: a program without a recipe, a level, a mode or an outcome that has no column or no meaning.
same "programs: each line of the record is one that can be" "" "$(awk -F '\t' 'FNR == NR { recipe[$1]; next }
  !/^#/ && !($1 in recipe && $2 ~ /^-O[23]$/ && $3 ~ /^(default|move:[1-9][0-9]*|stop:[1-9][0-9]*)$/ && $4 ~ /^(equal|different|not built|no reference)$/ && $5 ~ /^20[0-9-]+$/ && NF == 5)' \
  <(basename -s .sh tests/Bridge.Programs/recipes/*.sh) tests/Bridge.Programs/record.tsv)"

for sample in FirstDelete Hello Tutorial; do publish "$sample"; done

# README: the mistake, found in debug mode, and not otherwise.
same "README: the program is samples/FirstDelete" "$(cat samples/FirstDelete/Program.cs)" "$(block README.md csharp 1)"
same "README: what debug mode finds" "$(block README.md text 1 | frames)" "$({ FREEHOLD_DEBUG=stacks "$out/FirstDelete/FirstDelete" 2>&1 || true; } | frames)"
same "README: without debug mode" "sent 42-117 archived 42-117" "$("$out/FirstDelete/FirstDelete" | xargs)"

# samples/Hello says at its end what it prints.
hello=$(sed -n 's|^// > ||p' samples/Hello/Program.cs)
same "Hello: the output" "$hello" "$("$out/Hello/Hello")"
same "Hello: the output with mprotect" "$hello" "$(FREEHOLD_PROTECTION=mprotect "$out/Hello/Hello")"
same "Hello: in debug mode every use throws" "DanglingReferenceException DanglingReferenceException DoubleDeleteException null" \
  "$(FREEHOLD_DEBUG=1 "$out/Hello/Hello" | sed -n 's/^[a-z].*: //p' | xargs)"

# The tutorial: a comment before each output has the command; each snippet is in the program.
n=0
while IFS= read -r command; do
  n=$((n + 1))
  read -ra words <<< "$command"
  settings=()
  while [[ "${words[0]}" == *=* ]]; do settings+=("${words[0]}"); words=("${words[@]:1}"); done
  same "tutorial: $command" "$(block docs/tutorial.md text "$n" | frames)" \
    "$({ env "${settings[@]}" "$out/Tutorial/${words[0]}" "${words[@]:1}" 2>&1 || true; } | frames)"
done < <(sed -n 's/^<!-- \(.*Tutorial .*\) -->$/\1/p' docs/tutorial.md)
same "tutorial: outputs" "$(grep -c '^```text' docs/tutorial.md)" "$n"
for ((i = 1; i <= $(grep -c '^```csharp' docs/tutorial.md); i++)); do
  missing=""
  while IFS= read -r line; do
    grep -qF -- "$line" samples/Tutorial/Program.cs || missing+="$line"
  done < <(block docs/tutorial.md csharp "$i" | sed 's/^ *//')
  same "tutorial: code $i is in samples/Tutorial" "" "$missing"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
