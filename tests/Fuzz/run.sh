#!/usr/bin/env bash
# The suite's share of the fuzzers: the kept inputs, and ten seconds of new ones.
set -euo pipefail
exec "$(dirname "$0")/fuzz.sh" 10
