#!/usr/bin/env bash
# The documentation as a site, in artifacts/site/html: the pages of docs/ and the READMEs, the API from its docstrings, the report of the benchmarks if there is one, a search. A link that leads nowhere is an error.
#   eng/site.sh
# To read it: dotnet artifacts/tools/docfx… serve, or any web server; the search needs one.
set -euo pipefail
source "$(dirname "$0")/common.sh"
cd "$root"
docfx_version=2.81.0
tools="$artifacts/tools/docfx-$docfx_version"
site="$artifacts/site"
if [ ! -x "$tools/docfx" ]; then run dotnet tool install docfx --version "$docfx_version" --tool-path "$tools"; fi

rm -rf "$site"
mkdir -p "$site/source" "$site/assemblies"
# The pages, in the folders that they have in the repository, so that links between them stay right.
git ls-files --cached --others --exclude-standard '*.md' '*.svg' | grep -v 'AnalyzerReleases' | while IFS= read -r file; do
  mkdir -p "$site/source/$(dirname "$file")"
  cp "$file" "$site/source/$file"
done
mv "$site/source/README.md" "$site/source/index.md"

# Links to folders lead to their READMEs; what the site does not have becomes text. In code nothing is a link.
(cd "$site/source" && find . -name '*.md' -print0 | xargs -0 perl -i -pe '
  BEGIN { use File::Basename; use File::Spec; }
  if (!defined $page || $page ne $ARGV) { $page = $ARGV; $inside = 0; }
  $inside = !$inside if /^\s*```/;
  if (!$inside) {
    s{\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)}{
      my ($text, $target) = ($1, $2);
      if ($target =~ /^(https?:|mailto:|#)/) { "[$text]($target)" }
      else {
        my ($file, $anchor) = $target =~ /^([^#]*)(#.*)?$/;
        $anchor //= "";
        my $at = dirname($ARGV) . "/$file";
        $at =~ s{/$}{};
        1 while $at =~ s{/[^/.][^/]*/\.\./}{/} || $at =~ s{/\./}{/};
        if ($at eq "./README.md") { ($file = $file) =~ s{README\.md$}{index.md}; "[$text]($file$anchor)" }
        elsif (-f $at) { "[$text]($target)" }
        elsif (-f "$at/README.md") { $file =~ s{/$}{}; "[$text]($file/README.md$anchor)" }
        else { $text }
      }
    }ge;
  }')

# The API: what users compile against.
build=(run dotnet build -c Release -v quiet -nologo -clp:NoSummary)
assemblies=()
for project in System.Heap/System.Heap Collections/Freehold.Collections Testing/Freehold.Testing BenchmarkDotNet/Freehold.BenchmarkDotNet; do
  "${build[@]}" "src/Libraries/$project.csproj"
  assembly=${project##*/}
  if [ "$assembly" = System.Heap ]; then assembly=Freehold; fi
  cp "src/Libraries/${project%%/*}/bin/Release"/*/"$assembly".{dll,xml} "$site/assemblies/"
  assemblies+=("\"$assembly.dll\"")
done

# The report of the last ./build.sh bench, without its own head: it gets the site's.
report="$artifacts/bench/report.html"
{
  if [ -f "$report" ]; then
    sed '1,/<\/style>/d; s/<\/html>//' "$report" | sed 's/<h1>\(.*\)<\/h1>/# \1\n/'
    find "$artifacts/bench" -maxdepth 1 -name '*.png' -exec cp {} "$site/source/" \;
  else
    printf '# The report of the benchmarks\n\n`./build.sh bench` writes it; there was none when this site was made. [Performance](docs/performance.md) has the figures of a whole run.\n'
  fi
} > "$site/source/report.md"

cat > "$site/source/toc.yml" <<'EOF'
- name: Documentation
  href: docs/
- name: API
  href: api/
- name: Benchmarks
  href: report.md
- name: Changes
  href: CHANGELOG.md
- name: Contributing
  href: CONTRIBUTING.md
EOF
# The pages in the order of the tables of docs/README.md.
{
  echo '- name: Overview'
  echo '  href: README.md'
  sed -nE 's/^\| \[([^]]+)\]\(([a-z][^)#]*\.md)\) .*/- name: "\1"\n  href: \2/p' docs/README.md
  echo '- name: Internals'
  echo '  items:'
  for page in docs/internals/*.md; do
    printf '  - name: "%s"\n    href: internals/%s\n' "$(sed -n 's/^# //p;T;q' "$page" | tr -d '\`"')" "$(basename "$page")"
  done
  echo '- name: Analyzer rules'
  echo '  items:'
  for page in docs/analyzers/FH*.md; do printf '  - name: "%s"\n    href: analyzers/%s\n' "$(sed -n 's/^# //p;T;q' "$page" | tr -d '\`"')" "$(basename "$page")"; done
} > "$site/source/docs/toc.yml"
cat > "$site/source/docfx.json" <<EOF
{
  "metadata": [
    { "src": [ { "src": "../assemblies", "files": [ $(IFS=,; echo "${assemblies[*]}") ] } ], "dest": "api" }
  ],
  "build": {
    "content": [ { "files": [ "**/*.md", "toc.yml", "docs/toc.yml", "api/*.yml" ], "exclude": [ "src/Templates/content/**" ] } ],
    "resource": [ { "files": [ "**/*.svg", "*.png" ] } ],
    "output": "../html",
    "template": [ "default", "modern" ],
    "postProcessors": [ "ExtractSearchIndex" ],
    "globalMetadata": { "_appName": "Freehold", "_appTitle": "Freehold", "_appFooter": "Freehold: memory by hand for .NET", "_enableSearch": true, "_disableContribution": true }
  }
}
EOF
export DOTNET_ROLL_FORWARD=Major
# What an assembly of others is made of need not be there: that is a warning, and none of a page.
run "$tools/docfx" metadata "$site/source/docfx.json" > "$site/docfx.log" 2>&1
run "$tools/docfx" build "$site/source/docfx.json" --warningsAsErrors >> "$site/docfx.log" 2>&1 || {
  grep -E 'warning|error' "$site/docfx.log" | head -40 >&2
  echo "error: the site could not be made; $site/docfx.log has all of it" >&2
  exit 1
}
echo "artifacts/site/html/index.html ($(find "$site/html" -name '*.html' | wc -l) pages)"
