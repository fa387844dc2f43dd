#!/usr/bin/env bash
# Writes runtime-patches/<version>/manifest.json from an official package in NuGet's cache: the one time that a new version is taken up.
# The "changes" of an existing manifest are written by hand and kept.
#   eng/manifest.sh <folder of runtime.linux-x64.microsoft.dotnet.ilcompiler/<version>>
set -euo pipefail
package=${1:?folder of the official package}
version=$(basename "$package")
root=$(cd "$(dirname "$0")/.." && pwd)
manifest="$root/runtime-patches/$version/manifest.json"
changes=$(sed -n '/^  "changes": {/,/^  },/p' "$manifest" 2>/dev/null || true)
mkdir -p "$(dirname "$manifest")"
{
  echo '{'
  echo "  \"package\": \"runtime.linux-x64.Microsoft.DotNet.ILCompiler\","
  echo "  \"version\": \"$version\","
  echo "${changes:-  \"changes\": {
  \},}"
  echo '  "inputs": {'
  (cd "$package" && sha256sum sdk/*.dll sdk/*.a sdk/*.o framework/*.dll framework/*.a tools/ilc tools/libclrjit_unix_x64_x64.so tools/libjitinterface_x64.so) \
    | LC_ALL=C sort -k2 | sed 's/^\([0-9a-f]*\)  \(.*\)$/    "\2": "\1",/' | sed '$ s/,$//'
  echo '  }'
  echo '}'
} > "$manifest.new"
mv "$manifest.new" "$manifest"
echo "$manifest: $(grep -c '": "[0-9a-f]\{64\}"' "$manifest") files"
