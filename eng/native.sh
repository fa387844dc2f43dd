#!/usr/bin/env bash
# Builds everything native into artifacts/native; with arguments, those targets only.
set -euo pipefail
source "$(dirname "$0")/common.sh"
"$root/eng/prerequisites.sh"
# Configured again when LLVM has been installed since: then there is a native half.
if [ ! -f "$artifacts/native/CMakeCache.txt" ] || { grep -q '^FREEHOLD_LLVM_CONFIG:FILEPATH=.*NOTFOUND' "$artifacts/native/CMakeCache.txt" && command -v llvm-config-19 > /dev/null; }; then
  run cmake -S "$root" -B "$artifacts/native" -DCMAKE_BUILD_TYPE=RelWithDebInfo
fi
run cmake --build "$artifacts/native" --parallel "$(nproc)" --target "${@:-freehold}" $([ $# -gt 0 ] || echo freehold_jit)
