#!/usr/bin/env bash
# The suite's share of the fuzzers: the kept inputs, and a million that are the same in each run. New ones are for ./build.sh stress.
set -euo pipefail
exec "$(dirname "$0")/fuzz.sh" --inputs 1000000
