#!/usr/bin/env bash
# The evaluations of benchmarks/ with their short sets, on a stock collector, on Freehold, and on Freehold while everything moves and is verified: each ends well and prints the same checksum.
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
cd "$root"
own_temporary_files
out="$artifacts/evaluations"
passed=0
failed=0

# checksum <program> <evaluation> <option>…: what it prints as its checksum and its heap, or how it ended.
checksum() {
  local code=0
  "$@" > "$out/output.txt" 2>&1 || code=$?
  if [ "$code" -ne 0 ]; then
    echo "ended with $code: $(tail -n 3 "$out/output.txt" | xargs)"
  else
    sed -n 's/^\(checksum\|heap\) //p' "$out/output.txt" | xargs
  fi
}

same() {  # same <name> <expected> <found>
  if [ "$2" = "$3" ]; then
    echo "ok: $1: $3"
    passed=$((passed + 1))
  else
    echo "FAILED: $1: expected $2, found $3"
    failed=$((failed + 1))
  fi
}

# evaluation <name> <option>…: the short set, with these options behind.
evaluation() {
  local name=$1 stock number
  shift
  stock=$(checksum "$out/stock/Evaluations" "$name" short "$@")
  number=${stock% workstation}
  # A checksum of an evaluation that did nothing is no checksum.
  same "$name on the stock collector" "$(grep -xE '[1-9][0-9]* workstation' <<< "$stock" || echo 'a number and workstation')" "$stock"
  same "$name on Freehold" "$number freehold" "$(checksum "$out/freehold/Evaluations" "$name" short "$@")"
  same "$name on Freehold, moving" "$number freehold" "$(FREEHOLD_STRESS=promote:20000,reuse FREEHOLD_VERIFY=1 checksum "$out/freehold/Evaluations" "$name" short "$@")"
}

mkdir -p "$out"
run dotnet publish tests/Evaluations -r linux-x64 -c Release -nologo -v quiet --artifacts-path "$out/build-stock" -o "$out/stock" -p:FreeholdEnabled=false
run dotnet publish tests/Evaluations -r linux-x64 -c Release -nologo -v quiet --artifacts-path "$out/build-freehold" -o "$out/freehold"

evaluation RandomGraph --vertices 50000 --replacements 200000
run c++ -std=c++20 -O2 -Wall -Wextra -Werror -pthread benchmarks/RandomGraph/native.cpp -o "$out/random-graph"
same "RandomGraph in C++" "$(checksum "$out/stock/Evaluations" RandomGraph --vertices 50000 --replacements 200000 | cut -d' ' -f1) malloc" \
  "$(checksum "$out/random-graph" --vertices 50000 --replacements 200000)"
evaluation Caching --operations 200000
evaluation GameLoop --frames 50 --period 1000 --actors 4000 --levels 4
evaluation CompilerLike --compilations 2 --files 40
for query in 1 2 3; do evaluation Dataflow --query "$query" --documents 10000; done
evaluation KeyValueStore --operations 200000

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
