#!/usr/bin/env bash
# Real programs, unmodified, by the handle compiler and by clang: each must build with both and do the same, also while everything that is not pinned moves
# all the time, and while the threads are stopped at every poll. recipes/ has one file a program: the Debian source package, how to build it in its folder,
# and what to run. The sources that `also` names lie in folders of these names beside the program's files.
#   tests/Bridge.Programs/run.sh [--all] [--light] [--record] [--levels=LEVEL,…] [part of a recipe's name…]      a part '=ed' is the beginning
# --all: every program at -O2 and -O3, moving and stopping all the time; else the quick ones at -O2, now and then. --light: now and then, with --all too.
# Each outcome becomes a line of artifacts/programs.tsv: program, level, mode, outcome, date. --record: of record.tsv, from which table.sh makes the table of the docs.
# Sources come from the archive that apt knows, into artifacts/sources. A program whose source cannot be fetched is skipped, and the log says so.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
tools="$root/artifacts/native/bin"
here="$root/tests/Bridge.Programs"
sources="$root/artifacts/sources"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
skipped=()
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED: $1"; }

# note <level> <stress> <outcome>: instead of what was noted of that program, level and kind of stress before.
note() {
  local mode=${2:-default}
  if [ ! -f "$record" ]; then echo '# program, level, mode, outcome, date' > "$record"; fi
  { awk -F '\t' -v program="$name" -v level="$1" -v kind="${mode%%:*}" '{ split($3, mode, ":") } !($1 == program && $2 == level && mode[1] == kind)' "$record"
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$1" "$mode" "$3" "$(date -u +%F)"; } | LC_ALL=C sort > "$record.new"
  mv "$record.new" "$record"
}
note_all() { local stress; for stress in "${stresses[@]}"; do note "$level" "$stress" "$1"; done; }

# apt's own list with the sources of the same archive, in a folder of ours: the machine's settings stay as they are.
prepare_apt() {
  if [ -f "$sources/apt/ready" ]; then return; fi
  if [ -f "$work/no-apt" ]; then return 1; fi  # not once for each program
  mkdir -p "$sources/apt/parts" "$sources/apt/lists/partial"
  local file
  for file in /etc/apt/sources.list.d/debian*.sources; do
    if [ -f "$file" ]; then sed 's/^Types:.*/Types: deb-src/' "$file" > "$sources/apt/parts/$(basename "$file")"; fi
  done
  if [ -f /etc/apt/sources.list ]; then sed -n 's/^deb /deb-src /p' /etc/apt/sources.list > "$sources/apt/parts/main.list"; fi
  if apt_get -o APT::Update::Error-Mode=any update -q; then touch "$sources/apt/ready"; else
    touch "$work/no-apt"
    return 1
  fi
}
apt_get() {
  timeout 300 apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$sources/apt/parts" -o Dir::State::lists="$sources/apt/lists" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "$@"
}
# An archive that has not all updates has the release itself.
fetch() {
  rm -rf "$sources/$1.part"
  prepare_apt && mkdir -p "$sources/$1.part" && (cd "$sources/$1.part" && { apt_get source -q -y "$1" || apt_get source -q -y "$1/$(. /etc/os-release && echo "$VERSION_CODENAME")"; }) &&
    mv "$sources/$1.part" "$sources/$1"
}

# The folder of a package's source, or nothing.
source_of() {
  local name
  if [ ! -d "$sources/$1" ]; then fetch "$1" > "$work/fetch.log" 2>&1 || tail -n 3 "$work/fetch.log" >&2; fi
  for name in "$sources/$1"/*/; do if [ -d "$name" ]; then echo "$name"; return; fi; done
}

wanted() {
  local part
  if [ ${#only[@]} -eq 0 ]; then return 0; fi
  for part in "${only[@]}"; do if [[ "=$1" == *"$part"* ]]; then return 0; fi; done
  return 1
}
# limited <folder> <function of the recipe>: it ends with the first command that fails. Processor seconds, not those of the clock: the machine may be busy.
limited() { (ulimit -t 600; cd "$1" && exec bash -c 'set -euo pipefail; source "$0"; "$1"' "$recipe" "$2") }
export here

levels=(-O2)
stresses=("" move:50 stop:10)
record="$root/artifacts/programs.tsv"
all=false
while [[ "${1:-}" = --* ]]; do
  case "$1" in
    --all)
      all=true
      levels=(-O2 -O3)
      stresses=("" move:5 stop:1)
      ;;
    --record) record="$here/record.tsv" ;;
    --light) stresses=("" move:50 stop:10) ;;
    --levels=*) IFS=, read -r -a levels <<< "${1#*=}" ;;
    *)
      echo "error: unknown option '$1'" >&2
      exit 2
      ;;
  esac
  shift
done
only=("$@")
"$root/eng/prerequisites.sh" native dpkg-dev patch xz-utils
export MAKEFLAGS=-j$(nproc) LC_ALL=C

for recipe in "$here"/recipes/*.sh; do
  name=$(basename "$recipe" .sh)
  wanted "$name" || continue
  unset -f build check
  package=
  tests=
  built=
  also=
  needs=
  quick=false
  # shellcheck disable=SC1090
  source "$recipe"
  if [ -z "$package" ] || [ -z "$tests" ] || [ -z "$built" ] || ! declare -F build check > /dev/null; then
    bad "$name: a recipe has a package, tests and built for the table, build and check"
    continue
  fi
  ok
  $all || $quick || [ ${#only[@]} -ne 0 ] || continue
  source=$(source_of "$package")
  others=()
  for one in $also; do
    others+=("$(source_of "$one")")
    if [ -z "${others[-1]}" ]; then source=; fi
  done
  if [ -z "$source" ]; then
    skipped+=("$name")
    continue
  fi
  # shellcheck disable=SC2086
  if [ -n "$needs" ]; then "$root/eng/prerequisites.sh" $needs > "$work/needs.log" 2>&1 || { bad "$name: $(tail -n 1 "$work/needs.log")"; continue; }; fi
  for level in "${levels[@]}"; do
    ready=true
    for kind in stock handles; do
      rm -rf "$work/$kind"
      cp -a "$source" "$work/$kind"
      for one in "${others[@]}"; do cp -a "$one" "$work/$kind/$(basename "$(dirname "$one")")"; done
      # What Debian patched is no newer than what was generated from it.
      find "$work/$kind" -exec touch -h -d @1000000000 {} +
      export CC=clang-19 CXX=clang++-19 CFLAGS="$level -w" CXXFLAGS="$level -w"
      unset FREEHOLD_COMPILER_VERIFY
      if [ $kind = handles ]; then
        export CC="$tools/freehold-cc" CXX="$tools/freehold-c++" FREEHOLD_COMPILER_VERIFY="$work/verified"
        : > "$work/verified"
      fi
      began=$SECONDS
      if ! limited "$work/$kind" build > "$work/$kind.log" 2>&1; then
        bad "$name $level: $kind does not build"
        tail -n 10 "$work/$kind.log"
        note_all "not built"
        ready=false
      fi
      took[$([ $kind = stock ] && echo 0 || echo 1)]=$((SECONDS - began))
    done
    $ready || continue
    code=0
    limited "$work/stock" check > "$work/expected" 2>&1 < /dev/null || code=$?
    if [ "$code" -ne 0 ]; then
      bad "$name $level: clang's own fails"
      note_all "no reference"
      tail -n 10 "$work/expected"
      continue
    fi
    echo "$name $level: built in ${took[0]} s by clang, ${took[1]} s with handles; $(awk '{ accesses += $3; translations += $6 } END { print accesses + 0, "accesses verified,", translations + 0, "translations" }' "$work/verified")"
    for stress in "${stresses[@]}"; do
      got=0
      began=$SECONDS
      FREEHOLD_NATIVE_STRESS=$stress limited "$work/handles" check > "$work/out" 2>&1 < /dev/null || got=$?
      if [ "$got" = 0 ] && cmp -s "$work/expected" "$work/out"; then
        ok
        note "$level" "$stress" equal
      else
        bad "$name $level, stress '$stress': exit $got"
        note "$level" "$stress" different
        diff "$work/expected" "$work/out" | head -n 10 || true
      fi
      echo "  stress '$stress': $((SECONDS - began)) s"
    done
  done
done

if [ ${#skipped[@]} -ne 0 ]; then echo "skipped, their sources cannot be fetched: ${skipped[*]}"; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
