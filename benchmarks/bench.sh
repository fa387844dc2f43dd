#!/usr/bin/env bash
# Freehold beside the stock collectors: artifacts/bench/*.csv and summary.md. Called by ./build.sh bench, which packs first.
#   benchmarks/bench.sh [--quick] [suite…] …    arguments as for Compare; --help lists them
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../eng/common.sh"
# web-server: its load, and the plots.
"$root/eng/prerequisites.sh" wrk gnuplot-nox
run dotnet build "$root/benchmarks/Compare" -c Release --nologo -v quiet --artifacts-path "$artifacts/bench/build/compare"
run dotnet "$artifacts/bench/build/compare/bin/Compare/release/Compare.dll" "$@"
