#!/usr/bin/env bash
# The layering of src/Allocator, and that eng/check-layers.sh finds what it is for.
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

if "$check"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
