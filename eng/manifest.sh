#!/usr/bin/env bash
# Writes runtime-patches/<version>/manifest.json from the official packages in NuGet's cache: the one time that a version is taken up.
# The "changes" of an existing manifest are written by hand and kept; a new one gets those of the version given second.
#   eng/manifest.sh <version> [<version to take the changes from>]
set -euo pipefail
source "$(dirname "$0")/common.sh"
version=${1:?version of ILCompiler}
packages="${NUGET_PACKAGES:-$HOME/.nuget/packages}"
compiler="$packages/runtime.linux-x64.microsoft.dotnet.ilcompiler/$version"
runtime="$packages/microsoft.netcore.app.runtime.nativeaot.linux-x64/$version"
framework="net${version%%.*}.0"
manifest="$root/runtime-patches/$version/manifest.json"
[ -d "$compiler" ] || { echo "error: '$compiler' is missing: restore a project that downloads it" >&2; exit 1; }

# Since .NET 10 the runtime is in a package of its own.
if [ -d "$compiler/sdk" ]; then
  declare -A folder=([tools]=compiler/tools [sdk]=compiler/sdk [framework]=compiler/framework)
else
  [ -d "$runtime" ] || { echo "error: '$runtime' is missing: restore a project that downloads it" >&2; exit 1; }
  declare -A folder=([tools]=compiler/tools [sdk]=runtime/runtimes/linux-x64/native [framework]=runtime/runtimes/linux-x64/lib/$framework)
fi

# Where a folder is.
place() {
  local package=$compiler
  if [ "${folder[$1]%%/*}" = runtime ]; then package=$runtime; fi
  echo "$package/${folder[$1]#*/}"
}

# hashes <folder> <file…>: under the folder's name.
hashes() {
  local name=$1
  shift
  (cd "$(place "$name")" && sha256sum -- "$@" | sed "s:  :  $name/:")
}

source=$manifest
[ -f "$manifest" ] || source="$root/runtime-patches/${2:-$version}/manifest.json"
changes=$(sed -n '/^  "changes": {/,/^  },/p' "$source")
[ -n "$changes" ] || { echo "error: name a version to take the changes from" >&2; exit 1; }
mkdir -p "$(dirname "$manifest")"
shopt -s nullglob
{
  echo '{'
  echo "  \"version\": \"$version\","
  echo "  \"targetFramework\": \"$framework\","
  echo '  "packages": {'
  if [ -d "$compiler/sdk" ]; then
    echo '    "compiler": "runtime.linux-x64.Microsoft.DotNet.ILCompiler"'
  else
    echo '    "compiler": "runtime.linux-x64.Microsoft.DotNet.ILCompiler",'
    echo '    "runtime": "Microsoft.NETCore.App.Runtime.NativeAOT.linux-x64"'
  fi
  echo '  },'
  echo '  "folders": {'
  echo "    \"tools\": \"${folder[tools]}\","
  echo "    \"sdk\": \"${folder[sdk]}\","
  echo "    \"framework\": \"${folder[framework]}\""
  echo '  },'
  echo "$changes"
  echo '  "inputs": {'
  {
    hashes tools ilc libclrjit_unix_x64_x64.so libjitinterface_x64.so
    hashes sdk $(cd "$(place sdk)" && echo *.dll *.a *.o)
    hashes framework $(cd "$(place framework)" && echo *.dll *.a)
  } | LC_ALL=C sort -k2 | sed 's/^\([0-9a-f]*\)  \(.*\)$/    "\2": "\1",/' | sed '$ s/,$//'
  echo '  }'
  echo '}'
} > "$manifest.new"
mv "$manifest.new" "$manifest"
echo "$manifest: $(grep -c '": "[0-9a-f]\{64\}"' "$manifest") files"
