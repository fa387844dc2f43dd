#!/usr/bin/env bash
# What clang makes of loops over freehold::tree_array (loops.cpp): a loop by pieces is that over an array, and a step of an iterator reads nothing but the element.
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
cd "$root"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

check() {  # check <name> <expected> <found>
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
    passed=$((passed + 1))
  else
    echo "FAILED: $1: expected $2, found $3"
    failed=$((failed + 1))
  fi
}

clang=(clang++-19 -std=c++20 -O2 -Isrc/NativeBridge/include tests/TreeArrays/loops.cpp -S)
run "${clang[@]}" -emit-llvm -o "$scratch/loops.ll"
run "${clang[@]}" -o "$scratch/loops.s"

# function <name>: its instructions in LLVM's terms.
function_of() { awk -v begin="^define.*@$1\\\\(" '$0 ~ begin { inside = 1 } inside; /^}/ { inside = 0 }' "$scratch/loops.ll"; }
# Whether its loop adds four numbers at once, for which no check may be between them.
adds_vectors() { if function_of "$1" | holds -E 'add <[0-9]+ x i32>'; then echo yes; else echo no; fi; }

check "a loop over an array adds vectors" yes "$(adds_vectors sum_array)"
check "freehold::for_each adds vectors" yes "$(adds_vectors sum_for_each)"
check "a loop over segments() adds vectors" yes "$(adds_vectors sum_segments)"
# So the test can tell: [] walks the levels.
check "a loop by index does not" no "$(adds_vectors sum_index)"
for name in sum_for_each sum_segments sum_iterator sum_index; do
  check "$name: nothing is called" 0 "$(function_of "$name" | grep -cE '\bcall\b.*@(_Z|freehold)' || true)"
done

# reads <function>: memory that a round of its inner loop reads, until it begins anew; the way into another leaf lies behind.
reads() {
  awk -v begin="^$1:" '
    $0 ~ begin { inside = 1 }
    inside && /Inner Loop Header/ && !done { loop = 1 }
    loop && !/lea/ && /\(%/ { n++ }
    loop && /^\tjne/ { loop = 0; done = 1 }
    /cfi_endproc/ { inside = 0 }
    END { print n + 0 }' "$scratch/loops.s"
}
check "a step of an iterator reads the element only" 1 "$(reads sum_iterator)"
check "[] reads the levels besides" yes "$([ "$(reads sum_index)" -ge 3 ] && echo yes || echo no)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
