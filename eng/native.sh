#!/usr/bin/env bash
# Builds everything native into artifacts/native; with arguments, those targets only.
set -euo pipefail
source "$(dirname "$0")/common.sh"
"$root/eng/prerequisites.sh"
if [ ! -f "$artifacts/native/CMakeCache.txt" ]; then
  run cmake -S "$root" -B "$artifacts/native" -DCMAKE_BUILD_TYPE=RelWithDebInfo
fi
run cmake --build "$artifacts/native" --parallel "$(nproc)" --target "${@:-freehold}" $([ $# -gt 0 ] || echo freehold_jit)
