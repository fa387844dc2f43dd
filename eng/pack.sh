#!/usr/bin/env bash
# Builds all parts and makes the package, twice with the same content:
#   artifacts/packages/Freehold.<version>.nupkg                       for users
#   artifacts/packages/Freehold.Tool.<version>.nupkg                  the dotnet tool `freehold`
#   artifacts/packages/Freehold.Testing.<version>.nupkg               assertions for tests, which depends on exactly that version of Freehold
#   artifacts/packages/Freehold.BenchmarkDotNet.<version>.nupkg       [FreeholdJob] and [StockJob]
#   artifacts/packages/Freehold.Templates.<version>.nupkg             dotnet new freehold-console, freehold-web
#   artifacts/packages/dev/Freehold.<version>-dev.h<hash>.nupkg       for this repository's projects; the hash is that of the content, so NuGet's cache cannot be stale
# artifacts/packages/Freehold.Dev.props tells them the version.
set -euo pipefail
source "$(dirname "$0")/common.sh"
mkdir -p "$artifacts/packages/dev"
one_at_a_time "$artifacts/pack.lock" "$@"

IFS=";" read -ra runtimes <<< "$(version_of FreeholdRuntimeVersions)"
version=$(version_of FreeholdVersion)
stage="$artifacts/stage"
native="$artifacts/native/lib"

# The target framework that a version of the runtime is for.
framework_of() { echo "net${1%%.*}.0"; }

"$root/eng/native.sh"
"$root/eng/native.sh" freehold_mesh
# The compiler of handles goes along where LLVM 19 is there to build it. A publish that wants it from a package without says so (FH0018).
handles=
if command -v llvm-config-19 > /dev/null; then
  handles=1
  "$root/eng/native.sh" freehold_native_half
fi
build=(run dotnet build -c Release -v quiet -nologo -clp:NoSummary)
"${build[@]}" "$root/src/Libraries/System.Heap/System.Heap.csproj"
"${build[@]}" "$root/src/Libraries/Collections/Freehold.Collections.csproj"
"${build[@]}" "$root/src/Compiler/Tasks/Freehold.Tasks.csproj"
"${build[@]}" "$root/src/Analyzers/CodeFixes/Freehold.Analyzers.CodeFixes.csproj"
rm -rf "$artifacts/rewriter.new"
run dotnet publish -c Release -v quiet -nologo -clp:NoSummary -p:UseAppHost=false -o "$artifacts/rewriter.new" "$root/src/Compiler/Rewriter"

rm -rf "$stage"
mkdir -p "$stage"/{analyzers/dotnet/cs,aspnetcore,lib/net9.0,tools/net10.0,tools/rewriter,tools/linux-x64,tools/runtime-patches,docs/analyzers}
cp -r "$root/src/Package/build" "$root/src/Package/buildTransitive" "$stage/"
cp "$root/src/Libraries/AspNetCore/UseHeapScopes.cs" "$stage/aspnetcore/"
cp "$root/src/Libraries/System.Heap/bin/Release/net9.0/Freehold".{dll,pdb,xml} "$stage/lib/net9.0/"
cp "$root/src/Libraries/Collections/bin/Release/net9.0/Freehold.Collections".{dll,pdb,xml} "$stage/lib/net9.0/"
cp "$root/src/Compiler/Tasks/bin/Release/net10.0/Freehold.Tasks.dll" "$stage/tools/net10.0/"
cp "$artifacts/rewriter.new"/*.dll "$artifacts/rewriter.new"/*.json "$stage/tools/rewriter/"
rm -rf "$artifacts/rewriter.new"
cp "$native/libfreehold_jit.so" "$native/libfreehold-mesh.a" "$stage/tools/linux-x64/"
if [ -n "$handles" ]; then
  mkdir -p "$stage/tools/linux-x64/handles"/{bin,lib,include}
  cp "$artifacts/native/bin/freehold-cc" "$artifacts/native/bin/freehold-groups" "$stage/tools/linux-x64/handles/bin/"
  cp "$native/libfreehold_handle_pass.so" "$native/libfreehold_handles.so" "$native/libfreehold_cxx.a" "$stage/tools/linux-x64/handles/lib/"
  cp "$native/libfreehold_call_sites_pass.so" "$native/libfreehold_heap_profile.so" "$stage/tools/linux-x64/handles/lib/"
  cp -r "$artifacts/native/include/freehold" "$stage/tools/linux-x64/handles/include/"
else
  echo "no llvm-config-19: the package has no compiler of handles ('eng/prerequisites.sh native' installs LLVM 19)" >&2
fi
# What a program with the meshing malloc exports to shared libraries: from the archive itself.
readelf -sW "$native/libfreehold-mesh.a" | awk '$4 == "FUNC" && $5 != "LOCAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | LC_ALL=C sort -u > "$stage/tools/linux-x64/freehold-mesh.symbols"
for version_of_runtime in "${runtimes[@]}"; do
  mkdir -p "$stage/tools/linux-x64/$version_of_runtime" "$stage/tools/runtime-patches/$version_of_runtime"
  cp "$native/$version_of_runtime/libfreehold.a" "$stage/tools/linux-x64/$version_of_runtime/"
  cp "$root/runtime-patches/$version_of_runtime"/*.json "$stage/tools/runtime-patches/$version_of_runtime/"
done
cp "$root/src/Analyzers/CodeFixes/bin/Release/netstandard2.0/Freehold.Analyzers"*.dll "$stage/analyzers/dotnet/cs/"
cp "$root/docs/errors.md" "$stage/docs/"
cp "$root/docs/analyzers"/*.md "$stage/docs/analyzers/"
cp "$root/LICENSE" "$stage/"
if [ -f "$root/README.md" ]; then cp "$root/README.md" "$stage/"; fi

# Whatever changes a toolchain in the users' cache: the rewriter, what is known of the version, the task that puts it together.
patch_set() { (cd "$stage/tools" && sha256sum rewriter/*.dll "runtime-patches/$1"/*.json net10.0/Freehold.Tasks.dll | sha256sum | cut -c1-12); }

# Every __wrap_x that the archive defines is to take the calls to x. From the archive itself, so that the list cannot differ from it.
wrapped() { nm --defined-only "$native/$1/libfreehold.a" 2>/dev/null | sed -n 's/^[0-9a-f]* [TtWw] __wrap_//p' | LC_ALL=C sort -u; }

supported=
for runtime in "${runtimes[@]}"; do supported="$supported${supported:+, }$(framework_of "$runtime") (ILCompiler $runtime)"; done
{
  echo '<Project>'
  echo '  <!-- Written by eng/pack.sh. -->'
  echo '  <PropertyGroup>'
  echo "    <FreeholdSupported>$supported</FreeholdSupported>"
  echo '  </PropertyGroup>'
  for runtime in "${runtimes[@]}"; do
    condition="Condition=\"'\$(TargetFramework)' == '$(framework_of "$runtime")'\""
    echo "  <PropertyGroup $condition>"
    echo "    <FreeholdILCompilerVersion>$runtime</FreeholdILCompilerVersion>"
    echo "    <FreeholdPatchSet>$(patch_set "$runtime")</FreeholdPatchSet>"
    echo "    <FreeholdRuntimePackage>$(sed -n 's/^    "runtime": "\(.*\)"$/\1/p' "$root/runtime-patches/$runtime/manifest.json")</FreeholdRuntimePackage>"
    echo '  </PropertyGroup>'
    echo "  <ItemGroup $condition>"
    for symbol in $(wrapped "$runtime"); do echo "    <FreeholdWrappedSymbol Include=\"$symbol\" />"; done
    echo '  </ItemGroup>'
  done
  echo '  <!-- The counterparts of the environment variables; the variable wins over the property. -->'
  echo '  <ItemGroup>'
  "$root/eng/settings.sh" items "$root/src/Allocator/core/knobs.inc"
  echo '  </ItemGroup>'
  echo '</Project>'
} > "$stage/buildTransitive/Freehold.Generated.targets"

dependencies=
for runtime in "${runtimes[@]}"; do
  dependencies+="      <group targetFramework=\"$(framework_of "$runtime")\"><dependency id=\"runtime.linux-x64.Microsoft.DotNet.ILCompiler\" version=\"$runtime\" /></group>"$'\n'
done
awk -v text="${dependencies%$'\n'}" '$0 == "$dependencies$" { print text; next } { print }' "$root/src/Package/Freehold.nuspec" > "$artifacts/Freehold.nuspec"

content=$(cd "$stage" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | cat - "$artifacts/Freehold.nuspec" | sha256sum | cut -c1-12)
dev="$version-dev.h$content"
if [ ! -f "$artifacts/packages/dev/Freehold.$dev.nupkg" ]; then
  pack=(run dotnet pack -v quiet -nologo -clp:NoSummary "$root/src/Package/Freehold.Package.csproj" "-p:FreeholdStage=$stage/")
  "${pack[@]}" "-p:PackageVersion=$version" -o "$artifacts/packages"
  "${pack[@]}" "-p:PackageVersion=$dev" -o "$artifacts/packages/dev"
fi

# Packages that depend on this one: name, project, and what else than the project's assembly is in it. Each has a version for this repository, with a hash of its own.
companion_versions=
companion() {
  local id=$1 project=$2
  shift 2
  "${build[@]}" "$project"
  local folder hash version_here
  folder=$(dirname "$project")
  hash=$({ echo "$dev"; cat "$folder/bin/Release"/*/"$id.dll" "$folder/$id.nuspec" "$@"; } | sha256sum | cut -c1-12)
  version_here="$version-dev.h$hash"
  if [ ! -f "$artifacts/packages/dev/$id.$version_here.nupkg" ]; then
    local pack=(run dotnet pack -c Release --no-build -v quiet -nologo -clp:NoSummary "$project")
    "${pack[@]}" "-p:PackageVersion=$version" "-p:FreeholdDependency=$version" -o "$artifacts/packages"
    "${pack[@]}" "-p:PackageVersion=$version_here" "-p:FreeholdDependency=$dev" -o "$artifacts/packages/dev"
  fi
  companion_versions+="    <${id//./}PackageVersion>$version_here</${id//./}PackageVersion>"$'\n'
}
testing="$root/src/Libraries/Testing"
companion Freehold.Testing "$testing/Freehold.Testing.csproj" "$testing/build/Freehold.Testing.targets" "$testing/README.md"
benchmarks="$root/src/Libraries/BenchmarkDotNet"
companion Freehold.BenchmarkDotNet "$benchmarks/Freehold.BenchmarkDotNet.csproj" "$benchmarks/README.md"

# The templates name the version of Freehold that their projects refer to. Their dev version has a hash of that and of what they are.
# pack_templates <version> <version of Freehold> <folder>
pack_templates() {
  rm -rf "$artifacts/templates"
  cp -r "$root/src/Templates/content" "$artifacts/templates"
  sed -i "s/@version@/$2/" "$artifacts/templates"/*/.template.config/template.json
  run dotnet pack -c Release -v quiet -nologo -clp:NoSummary "$root/src/Templates/Freehold.Templates.csproj" "-p:PackageVersion=$1" "-p:FreeholdStage=$artifacts/templates/" -o "$3"
}
templates="$version-dev.h$({ echo "$dev"; cd "$root/src/Templates" && find content ./*.nuspec -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; } | sha256sum | cut -c1-12)"
if [ ! -f "$artifacts/packages/dev/Freehold.Templates.$templates.nupkg" ]; then
  pack_templates "$version" "$version" "$artifacts/packages"
  pack_templates "$templates" "$dev" "$artifacts/packages/dev"
fi
companion_versions+="    <FreeholdTemplatesPackageVersion>$templates</FreeholdTemplatesPackageVersion>"$'\n'

# The dotnet tools: each project of src/Tools that says so.
while IFS= read -r tool; do
  run dotnet pack -c Release -v quiet -nologo -clp:NoSummary "$tool" "-p:PackageVersion=$version" -o "$artifacts/packages"
done < <(grep -l '<PackAsTool>true' "$root"/src/Tools/*/*.csproj)

cat > "$artifacts/packages/Freehold.Dev.props.new" <<EOF
<Project>
  <PropertyGroup>
    <FreeholdPackageVersion>$dev</FreeholdPackageVersion>
${companion_versions%$'\n'}
  </PropertyGroup>
</Project>
EOF
if ! cmp -s "$artifacts/packages/Freehold.Dev.props.new" "$artifacts/packages/Freehold.Dev.props"; then
  mv "$artifacts/packages/Freehold.Dev.props.new" "$artifacts/packages/Freehold.Dev.props"
fi
rm -f "$artifacts/packages/Freehold.Dev.props.new"
echo "artifacts/packages/Freehold.$version.nupkg (in this repository: $dev)"
