#!/usr/bin/env bash
# The layers of src/Allocator include downwards only: os → core → heap → diag → runtime (docs/internals/README.md). All may include
# src/Platform. Within a layer no modules include each other in a circle; a module is a header with the source file of its name.
#   eng/check-layers.sh [folder]      default: src/Allocator
# Beside src/Allocator, folders that are there: src/Platform includes nothing but itself, each part of src/NativeBridge itself and src/Platform.
# Prints each include that leads upwards, to nowhere, or to no layer, and each circle, then 'N passed, N failed': one check for each source file, and one for
# each layer.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "${1:-$root/src/Allocator}"

layers=(os core heap diag runtime)
declare -A rank
for i in "${!layers[@]}"; do rank[${layers[i]}]=$i; done
passed=0
failed=0

while IFS= read -r file; do
  file=${file#./}
  layer=${file%%/*}
  good=true
  if [ -z "${rank[$layer]:-}" ]; then
    echo "$file: is in no layer (${layers[*]})"
    good=false
  else
    while IFS=: read -r line included; do
      to=${included%%/*}
      if [ "$to" = Platform ] && [ -f "../$included" ]; then
        continue
      elif [ -z "${rank[$to]:-}" ]; then
        echo "$file:$line: includes \"$included\", which names no layer (\"heap/heap.h\", not \"heap.h\")"
      elif [ ! -f "$included" ]; then
        echo "$file:$line: includes \"$included\", which does not exist"
      elif [ "${rank[$to]}" -gt "${rank[$layer]}" ]; then
        echo "$file:$line: $layer includes \"$included\" of the layer above it, $to"
      else
        continue
      fi
      good=false
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/; t found; b; :found; =; p' "$file" | paste -d: - -)
  fi
  if $good; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done < <(find . -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.S' -o -name '*.inc' \) | LC_ALL=C sort)

for layer in "${layers[@]}"; do
  if [ ! -d "$layer" ]; then continue; fi
  # Pairs for tsort: module, and a module of the same layer that it includes. A pair of equals names a module without any.
  circle=$(grep -oE "^[[:space:]]*#[[:space:]]*include[[:space:]]*\"$layer/[^\"]*" -r "$layer" |
    sed -E "s:^$layer/([^.]*)\.[^\"]*\"$layer/([^.]*)\..*:\1 \2:" | awk '$1 != $2' | LC_ALL=C sort -u | tsort 2>&1 > /dev/null | sed 's/^tsort: //' || true)
  if [ -z "$circle" ]; then
    passed=$((passed + 1))
  else
    echo "$layer: modules include each other in a circle:" $circle
    failed=$((failed + 1))
  fi
done

for folder in ../Platform ../NativeBridge/*/; do
  folder=${folder%/}
  if [ ! -d "$folder" ] || [ "${folder##*/}" = include ]; then continue; fi
  while IFS= read -r file; do
    good=true
    while IFS= read -r included; do
      # The compiler and the library of handles have one file in common, which says how they fit together.
      case $included in Platform/*) at=../$included ;; abi.h) at=../NativeBridge/Runtime/abi.h ;; freehold/*) at=$folder/include/$included ;; *) at=$folder/$included ;; esac
      if [ -f "$at" ]; then continue; fi
      echo "${file#../}: includes \"$included\", which is neither in its folder nor in Platform"
      good=false
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/p' "$file")
    if $good; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done < <(find "$folder" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.inc' \) | LC_ALL=C sort)
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
