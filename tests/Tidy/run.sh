#!/usr/bin/env bash
# clang-tidy 19 finds nothing in the C++ of src/ with the checks of .clang-tidy. Each source file is a test, its headers with it. A file that passed is looked at
# again when it, a header, a table or .clang-tidy has changed.
#   tests/Tidy/run.sh [part of a path]
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
cd "$root"
eng/prerequisites.sh clang-tidy-19
seen="$artifacts/tidy"
mkdir -p "$seen"
shared=$(git ls-files --cached --others --exclude-standard -- .clang-tidy 'src/*.h' 'src/*.inc' 'runtime-patches/*.h' | LC_ALL=C sort | xargs sha256sum | sha256sum)
newest=$(printf '%s\n' runtime-patches/*/layout.h | sort -V | tail -n 1)
export newest=${newest%/*}

# flags <file>: as CMake has them. The pass of the native half needs LLVM's headers and is not looked at.
flags() {
  case $1 in
    src/Platform/*) echo "-Isrc" ;;
    src/Allocator/*) echo "-Isrc -Isrc/Allocator -I$newest" ;;
    src/NativeBridge/Meshing/*) echo "-Isrc -Isrc/NativeBridge/Meshing -Isrc/NativeBridge/Meshing/include" ;;
    src/NativeBridge/Runtime/*) echo "-Isrc -Isrc/NativeBridge/Runtime" ;;
    src/NativeBridge/Driver/*) echo "-Isrc" ;;
    src/NativeBridge/Profile/*) echo "-Isrc -Isrc/NativeBridge/Profile" ;;
    src/NativeBridge/Grouping/*) echo "-Isrc/NativeBridge/Grouping" ;;
    *) return 1 ;;
  esac
}

# look <file>: prints what is found.
look() {
  local found
  # shellcheck disable=SC2046
  found=$(clang-tidy-19 --quiet "$1" -- -std=gnu++20 -Wno-invalid-offsetof $(flags "$1") 2> /dev/null) && return 0
  echo "FAILED: $1"
  echo "$found"
}
export -f flags look

files=()
stamps=()
passed=0
while read -r file; do
  if [[ "$file" != *"${1:-}"* ]] || ! flags "$file" > /dev/null; then continue; fi
  stamp="$seen/$(sha256sum "$file" - <<< "$shared" | sha256sum | cut -c1-24)"
  if [ -e "$stamp" ]; then
    touch "$stamp"
    passed=$((passed + 1))
  else
    files+=("$file")
    stamps+=("$stamp")
  fi
done < <(git ls-files --cached --others --exclude-standard -- 'src/*.cpp' | LC_ALL=C sort)

log="$seen/log"
: > "$log"
if [ ${#files[@]} -ne 0 ]; then printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} bash -c 'look {}' > "$log"; fi
failed=0
for i in "${!files[@]}"; do
  if grep -qxF "FAILED: ${files[i]}" "$log"; then failed=$((failed + 1)); else touch "${stamps[i]}" && passed=$((passed + 1)); fi
done
cat "$log"
find "$seen" -type f -mtime +14 -delete
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
