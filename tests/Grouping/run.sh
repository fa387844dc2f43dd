#!/usr/bin/env bash
# Heap profiles and groups, whole: programs compiled with -fheap-profile and with -fheap-groups print what they print without, the profiles say what the programs do, and files
# that are none are refused.
#   tests/Grouping/run.sh [part of a name…]     names: a program's, profiles, jumps, forks, interrupted, files, stale
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
tools="$root/artifacts/native"
here="$root/tests/Grouping"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED: $1"; }

only=("$@")
wanted() {
  local part
  if [ ${#only[@]} -eq 0 ]; then return 0; fi
  for part in "${only[@]}"; do if [[ "$1" == *"$part"* ]]; then return 0; fi; done
  return 1
}

# Processor seconds, not those of the clock: the machine may be busy.
limited() { (ulimit -t 600; exec "$@"); }
# says <name> <text> <file>
says() { if grep -qF -- "$2" "$3"; then ok; else bad "$1: no '$2' in:"; head -n 20 "$3"; fi; }
# compare <name> <command…>: prints and returns what the stock program does
compare() {
  local name=$1 code=0
  shift
  limited "$@" > "$work/out" 2>&1 || code=$?
  if [ "$code" = "$(cat "$work/expected.code")" ] && cmp -s "$work/out" "$work/expected"; then ok; else
    bad "$name: exit $code"
    diff "$work/expected" "$work/out" | head -n 10 || true
  fi
}
# Every access is looked at: the profile does not depend on luck.
whole=(FREEHOLD_PROFILE_GAP=0)

for source in "$here"/programs/* "$root"/tests/Bridge/programs/*.c "$root"/tests/Bridge/programs/*.cpp; do
  name=$(basename "$source")
  wanted "$name" || continue
  case "$name" in
    *.cpp) clang=clang++-19; freehold="$tools/bin/freehold-c++" ;;
    *) clang=clang-19; freehold="$tools/bin/freehold-cc" ;;
  esac
  options=$(sed -n '1s:^// options\: ::p' "$source")
  for flags in -O0 -O2 "-O2 -flto"; do
    # shellcheck disable=SC2086
    $clang -w -mavx2 ${flags/-flto/} $options -pthread "$source" -o "$work/stock" -lm
    code=0
    limited "$work/stock" > "$work/expected" 2>&1 || code=$?
    echo "$code" > "$work/expected.code"
    # shellcheck disable=SC2086
    if ! "$freehold" -w -mavx2 -fheap-profile $flags $options -pthread "$source" -o "$work/instrumented" -lm > "$work/log" 2>&1; then
      bad "$name $flags: does not compile with -fheap-profile"
      head -n 5 "$work/log"
      continue
    fi
    rm -f "$work"/profile*
    compare "$name $flags, profiled, off" "$work/instrumented"
    compare "$name $flags, profiled" env "${whole[@]}" FREEHOLD_PROFILE="$work/profile" "$work/instrumented"
    # A program that ends by a signal has none.
    [ -f "$work/profile" ] || continue
    for profile in "$work"/profile*; do
      if "$tools/bin/freehold-groups" make "$work"/profile* --coverage 100 --least-weight 0 --least-affinity 0 -o "$work/groups" > "$work/log" 2>&1; then ok; else
        bad "$name $flags: no groups of $profile: $(head -n 1 "$work/log")"
      fi
    done
    [ "$flags" != "-O2 -flto" ] || continue
    # shellcheck disable=SC2086
    if ! "$freehold" -mavx2 -fheap-groups="$work/groups" $flags $options -pthread "$source" -o "$work/grouped" -lm > "$work/log" 2>&1; then
      bad "$name $flags: does not compile with -fheap-groups"
      head -n 5 "$work/log"
      continue
    fi
    # The same source: all sites are there.
    if grep 'freehold: ' "$work/log" > "$work/lost"; then bad "$name $flags: $(head -n 1 "$work/lost")"; else ok; fi
    for stress in "" move:9; do compare "$name $flags, grouped, stress '$stress'" env FREEHOLD_NATIVE_STRESS=$stress "$work/grouped"; done
  done
done

# profile <source> <compiler> [flags]: the whole profile of a program of this folder, as text
profile() {
  "$tools/bin/$2" -w -O2 -fheap-profile -pthread "$here/programs/$1" -o "$work/instrumented"
  rm -f "$work"/profile*
  limited env "${whole[@]}" FREEHOLD_PROFILE="$work/profile" "$work/instrumented" > /dev/null
  "$tools/bin/freehold-groups" show "$work/profile" --coverage 100 > "$work/shown"
}

if wanted profiles; then
  profile health.c freehold-cc
  says "profiles" "main>new_patient#1 / health.c:new_patient>get#1 / health.c:get>malloc#1" "$work/shown"
  # All 2,000 patients and lists, 6,000 others; accesses to one object after the other, each round.
  says "profiles" "     2000        24000  main>new_patient#1" "$work/shown"
  says "profiles" "     6000       144000  main>new_noise#1" "$work/shown"
  says "profiles" "at health.c:get>malloc#1 while health.c:new_list>get#1" "$work/shown"
  # The same run, the same file.
  cp "$work/profile" "$work/first"
  profile health.c freehold-cc
  if cmp -s "$work/first" "$work/profile"; then ok; else bad "profiles: two runs differ"; fi
  # Merged with itself everything counts twice, and the groups stay.
  "$tools/bin/freehold-groups" merge "$work/profile" "$work/first" -o "$work/merged"
  "$tools/bin/freehold-groups" show "$work/merged" --coverage 100 --svg "$work/picture.svg" > "$work/twice"
  says "profiles" "     4000        48000  main>new_patient#1" "$work/twice"
  says "profiles" "<title>main&gt;new_patient#1" "$work/picture.svg"
  if diff <(grep '^  at' "$work/shown") <(grep '^  at' "$work/twice") > /dev/null; then ok; else bad "profiles: merged ones have other groups"; fi
  # By samples the shares are nearly the same: the two that are used have more than nine tenths.
  limited env FREEHOLD_PROFILE="$work/sampled" FREEHOLD_PROFILE_GAP=1000 FREEHOLD_PROFILE_BURST=100 "$work/instrumented" > /dev/null
  "$tools/bin/freehold-groups" show "$work/sampled" > "$work/shown"
  says "profiles, sampled" "1 groups" "$work/shown"
fi

# Behind exceptions, jumps and threads that end, contexts are what they were.
if wanted jumps; then
  profile jumps.cpp freehold-c++
  says "jumps" "  200         3200  main>_Z15after_exceptionv#1 / _Z15after_exceptionv>_Z3addi#1 / _Z3addi>malloc#1" "$work/shown"
  says "jumps" "  200         3200  main>_Z10after_jumpv#1 / _Z10after_jumpv>_Z3addi#1 / _Z3addi>malloc#1" "$work/shown"
  says "jumps" "  200         3200  main>_Z12after_threadv#1 / _Z12after_threadv>_Z3addi#1 / _Z3addi>malloc#1" "$work/shown"
fi

# The child of a fork writes what it has done itself, beside its parent's file.
if wanted forks; then
  profile forked.c freehold-cc
  if [ "$(find "$work" -name 'profile.*' | wc -l)" = 1 ]; then ok; else bad "forks: not one profile of the child"; fi
  says "forks, parent" "  100         1600  main>parents#1 / parents>add#1 / add>malloc#1" "$work/shown"
  if grep -q childs "$work/shown"; then bad "forks: the parent has what the child has done"; else ok; fi
  "$tools/bin/freehold-groups" show "$work"/profile.* --coverage 100 > "$work/shown"
  says "forks, child" "   50          800  main>split#1 / split>childs#1 / childs>add#1 / add>malloc#1" "$work/shown"
  # It uses the parent's objects, and has not allocated them.
  says "forks, child" "    0            0  main>parents#1 / parents>add#1 / add>malloc#1" "$work/shown"
  # With a place for the number each has a file of its own.
  rm -f "$work"/profile*
  limited env FREEHOLD_PROFILE="$work/profile.%p.end" "$work/instrumented" > /dev/null
  if [ "$(find "$work" -name 'profile.*[0-9].end' | wc -l)" = 2 ]; then ok; else bad "forks: not two profiles by number"; fi
fi

# Handlers of signals that interrupt the recorder, and handlers of fork that allocate: nothing waits for ever, and the profile has what was before.
if wanted interrupted; then
  clang-19 -O2 -w -fPIC -shared "$here/interrupted/allocator.c" -o "$work/liballocator.so"
  "$tools/bin/freehold-cc" -O2 -w -fheap-profile -pthread "$here/interrupted/main.c" -o "$work/instrumented" -L"$work" -lallocator -Wl,-rpath,"$work"
  for what in exit forks forks-and-goes-on allocates fork; do
    rm -f "$work"/profile*
    code=0
    limited env "${whole[@]}" FREEHOLD_PROFILE="$work/profile" "$work/instrumented" "$what" > "$work/out" 2>&1 || code=$?
    if [ "$code" = 0 ] && [ ! -s "$work/out" ]; then ok; else bad "interrupted, $what: exit $code"; continue; fi
    "$tools/bin/freehold-groups" show "$work/profile" --coverage 100 > "$work/shown" || true
    says "interrupted, $what" "main>make#1 / make>malloc#1" "$work/shown"
    says "interrupted, $what" "  100         3200  " "$work/shown"
  done
fi

# A source that has changed since: which groups lose what is said, and the program is right. What has not changed keeps its groups.
if wanted stale; then
  profile health.c freehold-cc
  "$tools/bin/freehold-groups" make "$work/profile" -o "$work/groups"
  sed 's/struct patient\* patient = get(/getenv("HOME");\n  &/' "$here/programs/health.c" > "$work/health.c"
  "$tools/bin/freehold-cc" -O2 -fheap-groups="$work/groups" "$work/health.c" -o "$work/grouped" > "$work/log" 2>&1
  says "stale" "warning: " "$work/log"
  says "stale" "freehold: the profile does not fit 'health.c:new_patient', whose calls have changed since; dropped: 'health.c:new_patient>get#1' (groups: 1)" "$work/log"
  if [ "$(grep -c 'does not fit' "$work/log")" = 1 ]; then ok; else bad "stale: not one function"; fi
  if [ "$("$work/grouped")" = "$("$work/instrumented")" ]; then ok; else bad "stale: prints something else"; fi
  "$tools/bin/freehold-cc" -O2 -fheap-groups="$work/groups" -S -emit-llvm "$work/health.c" -o "$work/code.ll" 2> /dev/null
  says "stale" "__freehold_group_state" "$work/code.ll"
  # Of a program with other names nothing is left, and nothing is said.
  "$tools/bin/freehold-cc" -O2 -fheap-groups="$work/groups" "$here/programs/threads.c" -pthread -o "$work/grouped" > "$work/log" 2>&1
  if [ -s "$work/log" ]; then bad "stale: $(head -n 1 "$work/log")"; else ok; fi
fi

# What the steps of the plugin make of single modules: FileCheck, and LLVM's own verifier. The first line names the steps.
for source in "$here"/steps/*.ll; do
  name=$(basename "$source")
  wanted "steps/$name" || continue
  steps=$(sed -n '1s/^; steps: //p' "$source")
  if FREEHOLD_COMPILER_HEAP_GROUPS="$here/steps/file.groups" opt-19 -load-pass-plugin="$tools/lib/libfreehold_call_sites_pass.so" -passes="$steps,verify" -S "$source" \
    -o "$work/code.ll" > "$work/log" 2>&1 && FileCheck-19 "$source" < "$work/code.ll" > "$work/check" 2>&1; then ok; else
    bad "steps/$name"
    cat "$work/log" "$work/check" 2> /dev/null | head -n 20 || true
  fi
done

# refused <name> <message> <command…>: fails with it, and writes nothing
refused() {
  local name=$1 message=$2
  shift 2
  rm -f "$work/written"
  if "$@" > "$work/log" 2>&1; then bad "$name: is not refused"; else says "$name" "$message" "$work/log"; fi
  if [ -e "$work/written" ]; then bad "$name: has written something"; else ok; fi
}

if wanted files; then
  groups="$tools/bin/freehold-groups"
  profile health.c freehold-cc
  head -c 300 "$work/profile" > "$work/cut"
  sed 's/^2000 24000/3000 24000/' "$work/profile" > "$work/changed"
  head -c 4096 /bin/true > "$work/foreign"
  : > "$work/empty"
  for command in make merge; do
    refused "files" "cut: is cut off" "$groups" $command "$work/cut" -o "$work/written"
    refused "files" "changed: is damaged" "$groups" $command "$work/changed" -o "$work/written"
    refused "files" "foreign: is no freehold heap-profile" "$groups" $command "$work/foreign" -o "$work/written"
    refused "files" "empty: is no freehold heap-profile" "$groups" $command "$work/empty" -o "$work/written"
    refused "files" "none: cannot be opened" "$groups" $command "$work/profile" "$work/none" -o "$work/written"
    refused "files" "needs -o FILE" "$groups" $command "$work/profile"
  done
  refused "files" "has no option '--speed'" "$groups" make "$work/profile" --speed 3 -o "$work/written"
  refused "files" "takes a percentage, not '5x'" "$groups" make "$work/profile" --merge-tolerance 5x -o "$work/written"
  refused "files" "cannot be written" "$groups" make "$work/profile" -o "$work/none/written"
  refused "files" "there is no 'draw'" "$groups" draw "$work/profile"
  # For the compiler: a profile is no file of groups.
  refused "files" "is no freehold heap-groups" "$tools/bin/freehold-cc" -c "$here/programs/health.c" -fheap-groups="$work/profile" -o "$work/written"
  refused "files" "cannot be opened" "$tools/bin/freehold-cc" -c "$here/programs/health.c" -fheap-groups="$work/none" -o "$work/written"
  refused "files" "should be -fheap-groups=FILE" "$tools/bin/freehold-cc" -c "$here/programs/health.c" -fheap-groups -o "$work/written"
  refused "files" "cannot be combined" "$tools/bin/freehold-cc" -c "$here/programs/health.c" -fheap-groups="$work/profile" -fheap-profile -o "$work/written"
  # A profile that cannot be written: the program does what it does, and says so.
  limited env FREEHOLD_PROFILE="$work/none/profile" "$work/instrumented" > "$work/out" 2>&1
  says "files" "freehold: the heap profile '$work/none/profile' cannot be written: No such file or directory" "$work/out"
  refused "files" "FREEHOLD_PROFILE_DISTANCE" env FREEHOLD_PROFILE_DISTANCE=0 "$work/instrumented"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
