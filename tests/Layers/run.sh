#!/usr/bin/env bash
# The layering of src/Allocator, and that eng/check-layers.sh finds what it is for; no long file, and a page for each part of src.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
check="$root/eng/check-layers.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# finds <name> <what the output must say> <file> <its include>
finds() {
  local tree="$scratch/$1" output
  mkdir -p "$tree/os" "$tree/core" "$tree/heap" "$(dirname "$tree/$3")"
  echo '#pragma once' | tee "$tree/os/kernel.h" "$tree/core/arena.h" > "$tree/heap/heap.h"
  printf '#include <cstdint>\n\n  # include "%s"  // why\n' "$4" > "$tree/$3"
  if ! output=$("$check" "$tree") && grep -qF "$2" <<< "$output" && grep -qE '^[0-9]+ passed, 1 failed$' <<< "$output"; then
    echo "ok: $1"
    passed=$((passed + 1))
  else
    echo "FAILED: $1: '$2' is not in:"
    echo "$output"
    failed=$((failed + 1))
  fi
}

finds upward 'core/a.cpp:3: core includes "heap/heap.h" of the layer above it, heap' core/a.cpp heap/heap.h
finds upward-header 'os/a.h:3: os includes "core/arena.h"' os/a.h core/arena.h
finds missing '"core/none.h", which does not exist' heap/a.cpp core/none.h
finds short-name '"heap.h", which names no layer' heap/a.cpp heap.h
finds new-folder 'extra/a.cpp: is in no layer' extra/a.cpp core/arena.h

# circle: two modules of a layer that include each other, by a header and by a source file.
tree="$scratch/circle"
mkdir -p "$tree/heap"
echo '#include "heap/b.h"' > "$tree/heap/a.h"
echo '#include "heap/c.h"' > "$tree/heap/b.cpp"
echo '#include "heap/a.h"' > "$tree/heap/c.h"
echo > "$tree/heap/b.h"
if ! output=$("$check" "$tree") && grep -q 'heap: modules include each other in a circle: .*a.*b' <<< "$output"; then
  echo "ok: circle"
  passed=$((passed + 1))
else
  echo "FAILED: circle is not found in:"
  echo "$output"
  failed=$((failed + 1))
fi

# outside <name> <what the output must say> <file beside the layers> <its include>
outside() {
  local tree="$scratch/$1" output
  mkdir -p "$tree/Allocator/heap" "$tree/Platform" "$tree/NativeBridge/Runtime"
  echo '#pragma once' | tee "$tree/Allocator/heap/heap.h" "$tree/Platform/lock.h" > "$tree/NativeBridge/Runtime/heap.h"
  echo "#include \"$4\"" > "$tree/$3"
  if output=$("$check" "$tree/Allocator") && [ -z "$2" ] || { [ -n "$2" ] && grep -qF "$2" <<< "$output" && grep -qE '^[0-9]+ passed, 1 failed$' <<< "$output"; }; then
    echo "ok: $1"
    passed=$((passed + 1))
  else
    echo "FAILED: $1: '$2' is not in:"
    echo "$output"
    failed=$((failed + 1))
  fi
}
outside platform-up 'Platform/a.h: includes "heap/heap.h"' Platform/a.h heap/heap.h
outside halves 'NativeBridge/Runtime/a.cpp: includes "heap/heap.h"' NativeBridge/Runtime/a.cpp heap/heap.h
outside down '' NativeBridge/Runtime/a.cpp Platform/lock.h

# The shape of the tree: files of at most 600 lines, and a page of some ten lines for each part of src/.
count() {  # count <name> <what is wrong, one a line>
  if [ -z "$2" ]; then
    echo "ok: $1"
    passed=$((passed + 1))
  else
    echo "FAILED: $1:"
    echo "$2"
    failed=$((failed + 1))
  fi
}

# long_files <folder>: golden texts are made by a tool.
long_files() { (cd "$1" && find . \( -name .git -o -name artifacts -o -name bin -o -name obj -o -name Golden -o -name corpus \) -prune -o -type f \
  -regex '.*\.\(cs\|cpp\|h\|c\|S\|inc\|sh\|py\|awk\|ll\|props\|targets\|csproj\|txt\|md\)' -print0 | xargs -0 awk 'FNR == 601 { print FILENAME ": more than 600 lines" }' | LC_ALL=C sort); }

# without_page <folder>: each part that has a project, a list of targets or parts of its own.
without_page() {
  local part lines
  for part in "$1"/src/*/ "$1"/src/*/*/; do
    [ -e "$part" ] || continue
    [[ "${part%/}" =~ /(bin|obj|include|build|buildTransitive)$ ]] && continue
    compgen -G "$part*.csproj" > /dev/null || compgen -G "$part*.cpp" > /dev/null || [ "$(dirname "$part")" = "$1/src" ] || continue
    case "$part" in */Analyzers/*/) continue ;; esac  # one page for the rules and their fixes
    lines=$(wc -l 2> /dev/null < "$part/README.md" || echo 0)
    if [ "$lines" -lt 5 ]; then echo "${part#"$1"/}: README.md has $lines lines"; fi
  done
}

tree="$scratch/shape"
mkdir -p "$tree/src/New/Part" "$tree/src/Old" "$tree/Golden"
seq 601 > "$tree/src/New/long.cs"
seq 601 > "$tree/Golden/long.cs"
seq 600 | tee "$tree/src/New/a.cpp" > "$tree/src/New/Part/b.cpp"
seq 10 | tee "$tree/src/Old/README.md" > "$tree/src/New/README.md"
count long-file "$(diff <(echo './src/New/long.cs: more than 600 lines') <(long_files "$tree"))"
count part-without-page "$(diff <(echo 'src/New/Part/: README.md has 0 lines') <(without_page "$tree"))"
count "no file has more than 600 lines" "$(long_files "$root")"
count "each part of src has a README.md" "$(without_page "$root")"

if "$check"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
