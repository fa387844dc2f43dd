#!/usr/bin/env bash
# Installs the Debian packages that the build needs, and those named as arguments, or says which to install.
#   eng/prerequisites.sh [native] [package…]     native: what the native half needs, clang and LLVM 19
set -euo pipefail
source "$(dirname "$0")/common.sh"
needed=(cmake make g++ clang lld llvm binutils libgtest-dev libzydis-dev zlib1g-dev)
for package in "$@"; do
  if [ "$package" = native ]; then needed+=(clang-19 lld-19 llvm-19 llvm-19-dev libclang-rt-19-dev clang-format-19); else needed+=("$package"); fi
done
missing=()
for package in "${needed[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | holds 'install ok installed' || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ]; then
    run apt-get update -q
    run env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
  else
    echo "error: these Debian packages are missing: ${missing[*]}" >&2
    echo "       sudo apt-get install ${missing[*]}" >&2
    exit 1
  fi
fi

if ! dotnet --version 2>/dev/null | holds '^1[0-9]\.'; then
  echo "error: the .NET SDK 10.0 is missing: 'dotnet --version' must say 10.0 or later" >&2
  exit 1
fi
