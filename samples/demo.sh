#!/usr/bin/env bash
# The demo: one program, published for the stock collectors and for Freehold, run in turn; the outputs must be equal byte for byte.
#   samples/demo.sh [--runs N] [--no-publish] [-- options of DocumentIndex]
# Called by ./build.sh demo, which packs first. Ends with 1 when the outputs differ or a program does not run on the heap that it should.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../eng/common.sh"

out="$artifacts/demo"
mkdir -p "$out/results"
# Two would take each other's processor time, and results.
one_at_a_time "$out/lock" "$@"

runs=3
publish=true
while [ $# -gt 0 ]; do
  case "$1" in
    --runs) runs=${2:?--runs needs a number}; shift 2 ;;
    --no-publish) publish=false; shift ;;
    --) shift; break ;;
    *) echo "error: unknown option '$1' (samples/demo.sh [--runs N] [--no-publish] [-- options of DocumentIndex])" >&2; exit 2 ;;
  esac
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "error: --runs needs a number of at least 1, not '$runs'" >&2; exit 2; }

heaps=(workstation server freehold)
declare -A properties=(
  [workstation]="-p:FreeholdEnabled=false"
  [server]="-p:FreeholdEnabled=false -p:ServerGarbageCollection=true"
  [freehold]=""
)
rm -f "$out"/results/*

if $publish; then
  for heap in "${heaps[@]}"; do
    # shellcheck disable=SC2086
    run dotnet publish "$root/samples/DocumentIndex" -r linux-x64 -c Release --nologo -v quiet \
      --artifacts-path "$out/build/$heap" -o "$out/$heap" ${properties[$heap]}
  done
fi

failed=0
for ((i = 1; i <= runs; i++)); do
  for heap in "${heaps[@]}"; do
    result="$out/results/$heap.$i"
    echo "run $i of $runs: $heap" >&2
    "$out/$heap/DocumentIndex" --expect-heap "$heap" --metrics "$result.metrics" "$@" > "$result.txt" &
    program=$!
    # An idle process beside it sees what the machine itself causes.
    "$out/workstation/DocumentIndex" --beside $program --metrics "$result.control" &
    control=$!
    status=0
    wait $program || status=$?
    wait $control || failed=1
    if [ $status -ne 0 ]; then
      echo "FAILED: $heap ended with $status" >&2
      failed=1
      continue
    fi
    awk '$1 == "longest_stall_ms" { print "machine_stall_ms", $2 }' "$result.control" >> "$result.metrics"
    cmp "$out/results/workstation.1.txt" "$result.txt" || failed=1
  done
done

sed -n '1,16p' "$out/results/workstation.1.txt" | cut -c 1-120
echo "…"
tail -n 2 "$out/results/workstation.1.txt"
echo

# Least and middle value of a measure over the runs of a heap.
least_and_median() { # heap, measure, factor
  awk -v name="$2" -v factor="$3" '$1 == name { print $2 * factor }' "$out/results/$1".*.metrics 2> /dev/null | sort -g |
    awk '{ v[NR] = $1 } END { if (NR) printf "%.10g %.10g", v[1], v[int((NR + 1) / 2)]; else printf "- -" }'
}

row() { # label, measure, factor, format
  printf '%-44s' "$1"
  local heap least median
  for heap in "${heaps[@]}"; do
    read -r least median < <(least_and_median "$heap" "$2" "$3") || true
    if [ "$least" = - ]; then
      printf '%22s' failed
    else
      printf "%22s" "$(printf "$4 / $4" "$least" "$median")"
    fi
  done
  printf '\n'
}

echo "Least / median of $runs interleaved runs:"
printf '%-44s%22s%22s%22s\n' "" "stock workstation" "stock server" "Freehold"
row "whole run, s" total_seconds 1 %.2f
row "  build the index, s" build_seconds 1 %.2f
row "  replace all documents, s" replace_seconds 1 %.2f
row "processor time, s" processor_seconds 1 %.2f
row "stopped for collections, s" gc_pause_seconds 1 %.2f
row "longest stall of a thread, ms" longest_stall_ms 1 %.1f
row "  the same in an idle process beside it, ms" machine_stall_ms 1 %.1f
row "slowest replacement of one document, ms" longest_replace_ms 1 %.1f
row "peak resident memory, MB" peak_resident_bytes 1e-6 %.0f
row "resident after replacing, index alive, MB" replaced_resident_bytes 1e-6 %.0f
row "  7 of 8 documents deleted, MB" thinned_resident_bytes 1e-6 %.0f
row "  and Heap.Compact, GC.Collect called, MB" compacted_resident_bytes 1e-6 %.0f
row "  which took, ms" compact_ms 1 %.0f
row "resident 1 s after all was deleted, MB" final_resident_bytes 1e-6 %.1f
row "resident after GC.Collect, MB" collected_resident_bytes 1e-6 %.1f
row "resident at the start, MB" start_resident_bytes 1e-6 %.1f
echo
if [ $failed -ne 0 ]; then
  echo "FAILED: see above; results in ${out#"$root"/}/results"
  exit 1
fi
echo "The outputs of all runs are equal, byte for byte ($(wc -c < "$out/results/workstation.1.txt") bytes)."
