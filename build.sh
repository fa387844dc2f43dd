#!/usr/bin/env bash
# The one door to this repository.
#   ./build.sh demo     publish the sample twice (stock, Freehold), run both, compare
#   ./build.sh test     every suite; ends with 'N passed, N failed'
#   ./build.sh pack     the package: artifacts/packages/Freehold.<version>.nupkg
#   ./build.sh native   the native half: the handle compiler freehold-cc and freehold-c++ in artifacts/native/bin, the meshing malloc in artifacts/native/lib
#   ./build.sh bench    Freehold beside the stock collectors
#   ./build.sh stress   long random runs
#   ./build.sh check    what is quick: native tests, golden IL, layers, words; --sanitize address|undefined|thread: the native tests under it
#   ./build.sh fuzz     the fuzzers, ten minutes each
#   ./build.sh site     the documentation as a site: artifacts/site
#   ./build.sh coverage which lines of src/Allocator no native test runs
# Arguments after the verb go to the script behind it. Every command is printed. Missing Debian packages are installed (as root) or named.
set -euo pipefail
source "$(dirname "$0")/eng/common.sh"
cd "$root"

verb=${1:-help}
if [ $# -gt 0 ]; then shift; fi
case "$verb" in
  pack) exec eng/pack.sh "$@" ;;
  test) exec eng/test.sh "$@" ;;
  native) eng/prerequisites.sh native; exec eng/native.sh freehold_native_half freehold_mesh freehold_mesh_preload "$@" ;;
  demo) eng/pack.sh; exec samples/demo.sh "$@" ;;
  bench) eng/pack.sh; exec benchmarks/bench.sh "$@" ;;
  check) exec eng/check.sh "$@" ;;
  fuzz) exec tests/Fuzz/fuzz.sh "$@" ;;
  site) exec eng/site.sh "$@" ;;
  coverage) exec eng/coverage.sh "$@" ;;
  stress) eng/pack.sh; exec tests/Stress/stress.sh "$@" ;;
  *)
    sed -n 's/^# \{0,1\}//;2,13p' "$0"
    if [ "$verb" = help ]; then exit 0; fi
    echo "error: unknown verb '$verb'" >&2
    exit 2
    ;;
esac
