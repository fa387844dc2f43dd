#!/usr/bin/env bash
# The documentation as a site: artifacts/site, or another folder. Called by ./build.sh site.
#   eng/site.sh [--output FOLDER] [--report FOLDER]     the report of ./build.sh bench is a page: from artifacts/bench, or another folder
# The pages are those of the repository; site/README.md says what is made of what. Any warning of DocFX is an error. FOLDER.src has what DocFX reads.
set -euo pipefail
source "$(dirname "$0")/common.sh"
cd "$root"
output="$artifacts/site"
report="$artifacts/bench"
while [ $# -gt 0 ]; do
  case "$1" in
    --output|--report) [ $# -ge 2 ] || { echo "error: $1 needs a folder" >&2; exit 2; } ;;
    *) echo "error: unknown option '$1' (eng/site.sh [--output FOLDER] [--report FOLDER])" >&2; exit 2 ;;
  esac
  if [ "$1" = --output ]; then output=$(realpath -m "$2"); else report=$(realpath -m "$2"); fi
  shift 2
done
source_folder="$output.src"
if [ -e "$output" ] && [ ! -f "$output/xrefmap.yml" ]; then
  echo "error: $output is there, and no site that this script has made" >&2
  exit 2
fi

if [ -e "$source_folder" ] && [ ! -f "$source_folder/docs/README.md" ]; then
  echo "error: $source_folder is there, and not what this script has made; it would be replaced" >&2
  exit 2
fi

run dotnet tool restore > /dev/null
run dotnet run -c Release --project site/Stage -- "$root" "$source_folder" "$report"
mkdir "$source_folder/libraries" "$source_folder/api"
cp -r site/docfx.json site/toc.yml site/template "$source_folder/"
cp site/api.md "$source_folder/api/index.md"
# DocFX finds what a library needs by its .deps.json, in NuGet's folder.
for library in System.Heap/System.Heap Collections/Freehold.Collections Testing/Freehold.Testing BenchmarkDotNet/Freehold.BenchmarkDotNet; do
  run dotnet build -c Release -v quiet -nologo -clp:NoSummary "src/Libraries/$library.csproj"
  cp "src/Libraries/${library%/*}"/bin/Release/net9.0/Freehold*.{dll,xml,deps.json} "$source_folder/libraries/"
done
run dotnet docfx metadata "$source_folder/docfx.json" --warningsAsErrors --logLevel warning
run dotnet docfx build "$source_folder/docfx.json" --warningsAsErrors --logLevel warning
# For whoever mends DocFX itself: two thirds of the bytes.
find "$source_folder/_site" -name '*.map' -delete
rm -rf "$output"
mv "$source_folder/_site" "$output"
echo "the site: $output/index.html"
