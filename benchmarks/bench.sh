#!/usr/bin/env bash
# Freehold beside the stock collectors: artifacts/bench/report.html, *.csv and summary.md. Called by ./build.sh bench, which packs first.
#   benchmarks/bench.sh [--quick] [suite…] …    arguments as for Compare; --help lists them
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../eng/common.sh"
# web-server: its load; the plots; the other mallocs.
"$root/eng/prerequisites.sh" wrk gnuplot-nox libjemalloc2 libmimalloc2.0
run dotnet build "$root/benchmarks/Compare" -c Release --nologo -v quiet --artifacts-path "$artifacts/bench/build/compare"
run dotnet "$artifacts/bench/build/compare/bin/Compare/release/Compare.dll" "$@"
