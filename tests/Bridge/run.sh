#!/usr/bin/env bash
# The handle compiler against clang: every program of programs/ is compiled by both, at each level, and must print the same, also while everything
# that is not pinned moves all the time. What the compiler must refuse is in rejected/, one reason a file, with the message in its first line.
# Programs of which a part is compiled without handles are in mixed/ and outside/. services/ has a service of a program's own.
#   tests/Bridge/run.sh [part of a program's name…]
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
tools="$root/artifacts/native"
here="$root/tests/Bridge"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED: $1"; }

wanted() {
  local part
  if [ ${#only[@]} -eq 0 ]; then return 0; fi
  for part in "${only[@]}"; do if [[ "$1" == *"$part"* ]]; then return 0; fi; done
  return 1
}
only=("$@")

# Processor seconds, not those of the clock: the machine may be busy.
limited() { (ulimit -t 600; exec "$@"); }

# compare <name> <stress> <expected> <program> [service]
compare() {
  local code=0
  FREEHOLD_NATIVE_STRESS=$2 FREEHOLD_NATIVE_SERVICE=${5:-} limited "$4" > "$work/out" 2>&1 || code=$?
  if [ "$code" = "$(cat "$3.code")" ] && cmp -s "$work/out" "$3"; then ok; else
    bad "$1, stress '$2': exit $code"
    diff "$work/out" "$3" | head -n 10 || true
  fi
}

clang-19 -O2 -Wall -Wextra -Werror -I"$tools/include" -c "$here/services/wandering.c" -o "$work/wandering.o"
for source in "$here"/programs/*.c "$here"/programs/*.cpp; do
  name=$(basename "$source")
  wanted "$name" || continue
  case "$name" in
    *.cpp) clang=clang++-19; freehold="$tools/bin/freehold-c++" ;;
    *) clang=clang-19; freehold="$tools/bin/freehold-cc" ;;
  esac
  options=$(sed -n '1s:^// options\: ::p' "$source")
  for flags in "-O0" "-O1 -g" "-O2" "-O3 -mavx2" "-O2 -flto" "-O2 -fPIC -fno-inline" "-O2 -fno-pic -no-pie"; do
    flags="$flags $options"
    # shellcheck disable=SC2086
    $clang -w -mavx2 ${flags/-flto/} -pthread "$source" -o "$work/stock" -lm
    code=0
    limited "$work/stock" > "$work/expected" 2>&1 || code=$?
    echo "$code" > "$work/expected.code"
    # shellcheck disable=SC2086
    if ! "$freehold" -w -mavx2 $flags -pthread "$source" -o "$work/handles" -lm > "$work/log" 2>&1; then
      bad "$name $flags: does not compile"
      head -n 5 "$work/log"
      continue
    fi
    compare "$name $flags" "" "$work/expected" "$work/handles"
    compare "$name $flags" "move:100" "$work/expected" "$work/handles"
    compare "$name $flags" "move:9" "$work/expected" "$work/handles"
    [ "$flags" = "-O2 -fPIC -fno-inline $options" ] || continue
    # Other services: one of the runtime, and one that the program is linked with.
    for stress in "" move:9; do compare "$name, plain service" "$stress" "$work/expected" "$work/handles" plain; done
    # shellcheck disable=SC2086
    "$freehold" -w -mavx2 $flags -pthread "$source" -x none "$work/wandering.o" -o "$work/handles" -lm
    for stress in "" move:9; do compare "$name, own service" "$stress" "$work/expected" "$work/handles"; done
  done
done

# That the program's service is in use: it says so, and that it has moved objects.
if wanted services; then
  "$tools/bin/freehold-cc" -w -O2 "$here/programs/list.c" "$work/wandering.o" -o "$work/handles" -lm
  WANDERING=1 FREEHOLD_NATIVE_STRESS=move:9 limited "$work/handles" 2>&1 > /dev/null | holds '^wandering: 1 moves' && ok || bad "services: the program's own is not in use"
  WANDERING=1 FREEHOLD_NATIVE_SERVICE=defragmenter limited "$work/handles" 2>&1 > /dev/null | holds wandering && bad "services: the setting does not win" || ok
  printf '#include "freehold/service.h"\nconst struct freehold_service freehold_program_service = {FREEHOLD_SERVICE_VERSION, "none"};\n' > "$work/none.c"
  clang-19 -I"$tools/include" -c "$work/none.c" -o "$work/none.o"
  "$tools/bin/freehold-cc" -w -O2 "$here/programs/list.c" "$work/none.o" -o "$work/handles" -lm
  { limited "$work/handles" 2>&1 > /dev/null || true; } | holds 'freehold_program_service cannot be used: a callback is missing' && ok || bad "services: one without callbacks is not refused"
fi

for source in "$here"/rejected/*; do
  name=$(basename "$source")
  wanted "$name" || continue
  message=$(sed -n '1s:^// ::p; 1s:^; ::p' "$source")
  options=$(sed -n '2s:^// options\: ::p; 2s:^; options\: ::p' "$source")
  # shellcheck disable=SC2086
  if "$tools/bin/freehold-cc" -w -O1 $options -c "$source" -o "$work/object.o" > "$work/log" 2>&1; then
    bad "$name compiles"
  elif grep -qF -- "$message" "$work/log"; then
    ok
  else
    bad "$name: no '$message' in:"
    head -n 5 "$work/log"
  fi
done

# The code itself: FileCheck on what comes out at -O2.
for source in "$here"/codegen/*.c; do
  name=$(basename "$source")
  wanted "$name" || continue
  if "$tools/bin/freehold-cc" -w -O2 -S -emit-llvm "$source" -o "$work/code.ll" && FileCheck-19 "$source" < "$work/code.ll" > "$work/log" 2>&1; then ok; else
    bad "$name"
    head -n 20 "$work/log"
  fi
done

# Single steps on LLVM IR: the first line names them; the second may say which error must come. Else FileCheck, and LLVM's own verifier.
for source in "$here"/steps/*.ll; do
  name=$(basename "$source")
  wanted "steps/$name" || continue
  steps=$(sed -n '1s/^; steps: //p' "$source" | sed 's/[^, ]*/freehold-&/g; s/ //g')
  message=$(sed -n '2s/^; fails: //p' "$source")
  code=0
  rm -f "$work/check"
  FREEHOLD_COMPILER_VERIFY=1 opt-19 -load-pass-plugin="$tools/lib/libfreehold_handle_pass.so" -passes="$steps,verify" -S "$source" -o "$work/code.ll" > "$work/log" 2>&1 || code=$?
  if [ -n "$message" ]; then
    if [ "$code" != 0 ] && grep -qF -- "$message" "$work/log"; then ok; else bad "steps/$name: exit $code, no '$message'"; fi
  elif [ "$code" = 0 ] && cat "$work/log" "$work/code.ll" | FileCheck-19 "$source" > "$work/check" 2>&1; then ok; else
    bad "steps/$name: exit $code"
    cat "$work/log" "$work/check" 2> /dev/null | head -n 20 || true
  fi
done

# What an object file compiled with handles needs is named when it is linked without the runtime.
if wanted link; then
  printf '#include <stdlib.h>\nint main(void) { free(malloc(3)); return 0; }\n' > "$work/link.c"
  "$tools/bin/freehold-cc" -c "$work/link.c" -o "$work/link.o"
  if clang-19 "$work/link.o" -o "$work/link" > "$work/log" 2>&1; then bad "links without the runtime"; elif grep -q '__freehold_malloc' "$work/log"; then ok; else bad "link error without a name"; fi
fi

# Code of the two kinds in one program, each calling the other, in both directions and through pointers; a shared library; a use after free.
if wanted mixed; then
  for words in 3 6; do
    clang-19 -O2 -w -fPIC -DBLOCK_WORDS=$words -c "$here/mixed/plain_blocks.c" -o "$work/plain_blocks$words.o"
    "$tools/bin/freehold-cc" -O2 -w -DBLOCK_WORDS=$words -c "$here/mixed/blocks.c" -o "$work/blocks$words.o"
  done
  clang-19 -O2 -w -fPIC -shared "$here/mixed/plain.c" "$work"/plain_blocks*.o -o "$work/libplain.so"
  "$tools/bin/freehold-cc" -O2 -w -fPIC -shared "$here/mixed/shared.c" -o "$work/libshared.so"
  "$tools/bin/freehold-cc" -O2 -w "$here/mixed/main.c" "$work"/blocks*.o -o "$work/mixed" -L"$work" -lplain -lshared -Wl,-rpath,"$work"
  for stress in "" move:1; do
    code=0
    FREEHOLD_NATIVE_STRESS=$stress limited "$work/mixed" > "$work/out" 2>&1 || code=$?
    if [ "$code" = 0 ] && diff "$work/out" "$here/mixed/expected"; then ok; else
      bad "mixed, stress '$stress': exit $code"
      tail -n 3 "$work/out"
    fi
  done
  for fault in use double inside; do
    code=0
    limited "$work/mixed" "$fault" > "$work/out" 2>&1 || code=$?
    if [ "$code" = 134 ] && grep -q '^freehold: ' "$work/out"; then ok; else bad "mixed $fault: exit $code, $(tail -n 1 "$work/out")"; fi
  done
fi

# Uses of freed objects, of each kind: the report is one, names the object's size, and with stacks the lines of the program. reported <mistake> <first line> [marked line…]
reported() {
  local mistake=$1 first=$2 setting stress code lines marked
  shift 2
  for setting in "" 1 stacks; do
    for stress in "" move:50 stop:10; do
      code=0
      FREEHOLD_DEBUG=$setting FREEHOLD_NATIVE_STRESS=$stress limited "$work/freed" "$mistake" > "$work/out" 2>&1 || code=$?
      if [ "$code" = 134 ] && [ "$(grep -cE '^freehold: ' "$work/out")" = 1 ] && grep -qE "^freehold: $first in thread [0-9]+\$" "$work/out"; then ok; else
        bad "freed $mistake, debug '$setting', stress '$stress': exit $code, no '$first'"
        head -n 3 "$work/out"
        continue
      fi
      case "$setting" in
        '') if grep -qE '^  ' "$work/out"; then bad "freed $mistake: a history without the setting"; else ok; fi ;;
        1) if grep -qE '^  allocated by thread [0-9]+$' "$work/out"; then ok; else bad "freed $mistake: no thread"; fi ;;
        stacks)
          # Each place of the program as a line of its source, by the distance from the module's start.
          lines=$(sed -nE "s:^    $work/freed\+(0x[0-9a-f]+).*:\1:p" "$work/out" | llvm-symbolizer-19 --no-inlines --functions=none -e "$work/freed" | sed -nE 's/.*main\.c:([0-9]+):.*/\1/p')
          for marked in allocated "$@"; do
            if holds -x "$(sed -n "\|// $marked\$|=" "$here/freed/main.c")" <<< "$lines"; then ok; else bad "freed $mistake, stress '$stress': no line '$marked' in $(xargs <<< "$lines")"; fi
          done ;;
      esac
    done
  done
}
if wanted freed; then
  clang-19 -O2 -w -fPIC -shared "$here/freed/plain.c" -o "$work/libfreed.so"
  "$tools/bin/freehold-cc" -O2 -g -w -pthread "$here/freed/main.c" -o "$work/freed" -L"$work" -lfreed -Wl,-rpath,"$work"
  object='handle [0-9a-f]+ \(id [0-9]+\)'
  gone="$object of an object of 40 bytes"
  for mistake in load store; do reported $mistake "use after free: $gone, by the instruction at $work/freed\+0x[0-9a-f]+.*" freed $mistake; done
  for mistake in thread handler fork; do reported $mistake "use after free: $gone, by the instruction at $work/freed\+0x[0-9a-f]+.*" freed load; done
  for mistake in strlen kept; do reported $mistake "use after free: $gone, by the instruction at /[^ ]*/libc\.so\.6\+0x[0-9a-f]+.*" freed $mistake; done
  reported memcpy "use after free: $gone, by the instruction at .*\+0x[0-9a-f]+.*" freed
  reported double "double free: $gone, by the call at $work/freed\+0x[0-9a-f]+.*" freed double
  reported plain "double free: $gone, by the call at $work/libfreed\.so\+0x[0-9a-f]+ \(plain_free\+0x[0-9a-f]+\)" freed
  reported realloc "realloc of memory that is free: $gone, by the call at $work/freed\+0x[0-9a-f]+.*" freed realloc
  reported inside "free of a pointer into an object: $object, 8 bytes into an object of 40 bytes, by the call at $work/freed\+0x[0-9a-f]+.*" inside
  reported before "free of a pointer into an object: $object, 8 bytes before an object of 40 bytes, by the call at $work/freed\+0x[0-9a-f]+.*"
  position="$object, 8 bytes into an object of 40 bytes, by the call at"
  reported realloc-inside "realloc of a pointer into an object: $position $work/freed\+0x[0-9a-f]+.*" realloc-inside
  reported realloc-before "realloc of a pointer into an object: $object, 8 bytes before an object of 40 bytes, by the call at $work/freed\+0x[0-9a-f]+.*"
  reported size-inside "malloc_usable_size of a pointer into an object: $position $work/freed\+0x[0-9a-f]+.*" size-inside
  reported plain-realloc-inside "realloc of a pointer into an object: $position $work/libfreed\.so\+0x[0-9a-f]+ \(plain_realloc\+0x[0-9a-f]+\)"
  reported plain-size-inside "malloc_usable_size of a pointer into an object: $position $work/libfreed\.so\+0x[0-9a-f]+ \(plain_size\+0x[0-9a-f]+\)"
  for mistake in double inside before realloc realloc-inside realloc-before size-inside plain-realloc-inside plain-size-inside; do
    code=0
    FREEHOLD_NATIVE_SERVICE=plain limited "$work/freed" "$mistake" > "$work/out" 2>&1 || code=$?
    if [ "$code" = 134 ] && [ "$(grep -cE '^freehold: ' "$work/out")" = 1 ]; then ok; else bad "freed $mistake, plain service: exit $code, $(tail -n 1 "$work/out")"; fi
  done
  # Past the plain quarantine the id has another object; in debug mode it is still known.
  code=0
  FREEHOLD_DEBUG=1 limited "$work/freed" late > "$work/out" 2>&1 || code=$?
  if [ "$code" = 134 ] && grep -qE "^freehold: double free: $gone" "$work/out"; then ok; else bad "freed late: exit $code, $(tail -n 1 "$work/out")"; fi
  # Several threads at once: each report is whole.
  code=0
  FREEHOLD_DEBUG=stacks limited "$work/freed" threads > "$work/out" 2>&1 || code=$?
  if [ "$code" = 134 ] && [ "$(grep -c 'use after free' "$work/out")" = "$(grep -cE "^freehold: use after free: $gone, by .* in thread [0-9]+\$" "$work/out")" ]; then
    ok
  else
    bad "freed threads: exit $code"
  fi
fi

# Another allocator: a program that is linked with it takes its memory where it needs memory without handles. In front of that of handles it is refused.
if wanted allocator; then
  clang-19 -O2 -w -fPIC -shared "$here/allocator/allocator.c" -o "$work/liballocator.so"
  "$tools/bin/freehold-cc" -O2 -w "$here/allocator/main.c" -o "$work/handles" -L"$work" -lallocator -Wl,-rpath,"$work"
  for stress in "" move:9; do
    code=0
    FREEHOLD_NATIVE_STRESS=$stress limited "$work/handles" > "$work/out" 2>&1 || code=$?
    if [ "$code" = 0 ] && grep -q '^right$' "$work/out"; then ok; else bad "allocator, stress '$stress': exit $code, $(tail -n 1 "$work/out")"; fi
  done
  clang++-19 -O2 -w -fPIC -shared "$here/allocator/deletes.plain.cpp" -o "$work/libdeletes.so"
  "$tools/bin/freehold-c++" -O2 -w -std=c++17 "$here/allocator/deletes.cpp" -o "$work/handles" -L"$work" -ldeletes -lallocator -Wl,-rpath,"$work"
  for stress in "" move:9; do
    code=0
    FREEHOLD_NATIVE_STRESS=$stress limited "$work/handles" > "$work/out" 2>&1 || code=$?
    if [ "$code" = 0 ] && grep -q '^right$' "$work/out"; then ok; else bad "allocator, deletes, stress '$stress': exit $code, $(tail -n 1 "$work/out")"; fi
  done
  "$tools/bin/freehold-cc" -O2 -w -DWITHOUT "$here/allocator/main.c" -o "$work/handles"
  { LD_PRELOAD="$work/liballocator.so" limited "$work/handles" 2>&1 || true; } | holds 'liballocator.so stands in front of that of handles' && ok || bad "allocator: a preloaded one is not refused"
fi

# A program without handles opens a library that has them: in both ways of binding, its mlockall does not make the table present.
if wanted opened; then
  "$tools/bin/freehold-cc" -O2 -Wall -Wextra -Werror -fPIC -shared "$here/opened/library.c" -o "$work/libopened.so"
  printf '499500\nas it is touched\n1999000\n' > "$work/expected"
  echo 0 > "$work/expected.code"
  for binding in -Wl,-z,lazy -Wl,-z,now "-fno-plt -Wl,-z,now" "-no-pie -Wl,-z,norelro" "-no-pie -fno-pie -Wl,-z,lazy" "-no-pie -fno-pie -Wl,-z,now"; do
    # shellcheck disable=SC2086
    clang-19 -O2 -Wall -Wextra -Werror $binding "$here/opened/host.c" -o "$work/host" -ldl
    printf '#!/bin/sh\nexec "%s/host" "%s/libopened.so"\n' "$work" "$work" > "$work/opens"
    chmod +x "$work/opens"
    for stress in "" move:1; do compare "opened $binding" "$stress" "$work/expected" "$work/opens"; done
  done
  "$tools/bin/freehold-c++" -O2 -std=c++17 -Wall -Wextra -Werror -fPIC -shared "$here/opened/paths.cpp" -o "$work/libopened.so"
  printf '391\n0\nwhat the program frees\n' > "$work/expected"
  for binding in -Wl,-z,lazy -Wl,-z,now "-no-pie -fno-pie -Wl,-z,lazy" "-no-pie -fno-pie -Wl,-z,now"; do
    # shellcheck disable=SC2086
    clang-19 -O2 -Wall -Wextra -Werror $binding "$here/opened/paths_host.c" -o "$work/host" -ldl
    printf '#!/bin/sh\nexec "%s/host" "%s/libopened.so" "%s"\n' "$work" "$work" "$work" > "$work/opens"
    for stress in "" move:1; do compare "opened paths $binding" "$stress" "$work/expected" "$work/opens"; done
  done
fi

# A library's own functions that have the names of the C library's get what they are given, and no handle where the C library has a name.
if wanted named; then
  for source in foreign calls; do clang-19 -O2 -Wall -Wextra -Werror -ffreestanding -fno-builtin -fPIC -I"$here/../../src/NativeBridge/Runtime" -c "$here/named/$source.plain.c" -o "$work/$source.o"; done
  clang-19 -shared "$work/foreign.o" "$work/calls.o" -o "$work/libnamed.so"
  printf '0 wrong, called all\n' > "$work/expected"
  echo 0 > "$work/expected.code"
  "$tools/bin/freehold-cc" -O2 -Wall -Wextra -Werror "$here/named/main.c" -o "$work/handles" -L"$work" -lnamed -Wl,-rpath,"$work"
  for stress in "" move:1; do compare named "$stress" "$work/expected" "$work/handles"; done
fi

# NAME.c is compiled with handles, NAME.plain.c is not: together they do what both do without handles.
for source in "$here"/outside/*.plain.c; do
  name=$(basename "$source" .plain.c)
  wanted "outside/$name" || continue
  clang-19 -O2 -w -fPIC -c "$source" -o "$work/plain.o"
  for level in -O0 -O2; do
    clang-19 $level -w -pthread "$here/outside/$name.c" "$work/plain.o" -o "$work/stock"
    limited "$work/stock" > "$work/expected" 2>&1
    echo 0 > "$work/expected.code"
    "$tools/bin/freehold-cc" $level -w -pthread "$here/outside/$name.c" "$work/plain.o" -o "$work/handles"
    for stress in "" move:1 move:9 stop:1; do compare "outside/$name $level" "$stress" "$work/expected" "$work/handles"; done
  done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
