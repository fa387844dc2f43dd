#!/usr/bin/env bash
# Compares what a folder of runtime-patches says with the official packages of a version of ILCompiler, in NuGet's cache: how much of it holds there. For taking up a new version
# (docs/internals/new-runtime-version.md), and for looking again at one that is supported.
#   eng/runtime-version.sh <version of the packages> [<folder of runtime-patches>]      default: the folder of that version
# Prints a line for each fact, 'ok' or what differs, then 'N passed, N failed'. Needs artifacts/native (eng/native.sh); layouts are compared only where gdb is installed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
version=${1:?version of ILCompiler}
facts="$root/runtime-patches/${2:-$version}"
packages="${NUGET_PACKAGES:-$HOME/.nuget/packages}"
compiler="$packages/runtime.linux-x64.microsoft.dotnet.ilcompiler/$version"
archives="$compiler/sdk"
[ -d "$archives" ] || archives="$packages/microsoft.netcore.app.runtime.nativeaot.linux-x64/$version/runtimes/linux-x64/native"
for needed in "$facts" "$compiler" "$archives"; do
  [ -d "$needed" ] || { echo "error: '$needed' is missing" >&2; exit 1; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && ar x "$archives/libRuntime.WorkstationGC.a")
passed=0
failed=0

ok() { passed=$((passed + 1)); if [ -n "${VERBOSE:-}" ]; then echo "ok: $1"; fi; }
differs() { failed=$((failed + 1)); echo "differs: $1"; }

# The JIT: each pattern once, in a dump without line ends.
jit="$compiler/tools/libclrjit_unix_x64_x64.so"
od -An -v -tx1 "$jit" | tr -d '\n' > "$scratch/jit.txt"
while IFS='|' read -r name bytes; do
  count=$( (grep -oF "$(sed 's/0x//g; s/, */ /g' <<< "$bytes")" "$scratch/jit.txt" || true) | wc -l)
  if [ "$count" = 1 ]; then ok "JIT, $name"; else differs "JIT, $name: found $count times"; fi
done < <( (tr '\n' ' ' < "$facts/jit.h"; echo) | sed 's/FREEHOLD_JIT_PATCH/\nFREEHOLD_JIT_PATCH/g' | sed -n 's/^FREEHOLD_JIT_PATCH[A-Z_]*(\([a-z_]*\), [^(]*(\(0x[^)]*\)).*/\1|\2/p')

# section_bytes <object> <symbol> <offset> <length>: bytes at a symbol, in hexadecimal.
section_bytes() {
  local place
  place=$(readelf -sW "$1" 2> /dev/null | awk -v symbol="$2" '$8 == symbol && $7 != "UND" && !seen { print $7, $2; seen = 1 }')
  [ -n "$place" ] || return 1
  local start
  start=$(readelf -SW "$1" | sed 's/\[ */[/' | awk -v section="[${place%% *}]" '$1 == section { print $5 }')
  dd if="$1" bs=1 skip=$((16#$start + 16#${place##* } + $3)) count="$4" 2> /dev/null | od -An -v -tx1 -w64 | sed 's/^ //'
}

# Probes: each in the one object that defines its symbol.
while IFS='|' read -r name symbol offset bytes; do
  wanted=$(sed 's/0x//g; s/, / /g' <<< "$bytes")
  object=$(cd "$scratch" && nm -A --defined-only -- *.o 2> /dev/null | awk -v symbol="$symbol" '$3 == symbol && !seen { sub(/:.*/, "", $1); print $1; seen = 1 }')
  if [ -z "$object" ]; then
    differs "probe $name: no symbol $symbol"
  elif found=$(section_bytes "$scratch/$object" "$symbol" "$offset" "$(wc -w <<< "$wanted")") && [ "$found" = "$wanted" ]; then
    ok "probe $name"
  else
    differs "probe $name: $found instead of $wanted"
  fi
done < <(sed -n 's/^FREEHOLD_PROBE(\([a-z_]*\), "\([^"]*\)", \([-0-9a-fx]*\), \(.*\))$/\1|\2|\3|\4/p' "$facts/probes.h")

# Symbols: what libfreehold.a wants of the archives with these facts, and what it wraps.
library="$artifacts/native/lib/$(basename "$facts")/libfreehold.a"
if [ -f "$library" ]; then
  nm -g --defined-only "$archives"/*.a "$archives"/*.o 2> /dev/null | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u > "$scratch/defined"
  nm -D --defined-only "$(gcc -print-file-name=libc.so.6)" "$(gcc -print-file-name=libm.so.6)" 2> /dev/null | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u > "$scratch/libc"
  nm -g --defined-only "$library" 2> /dev/null | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u > "$scratch/own"
  nm -u "$library" 2> /dev/null | awk '$1 == "U" || $1 == "w" { print $2 }' | sed 's/^__real_//' | LC_ALL=C sort -u > "$scratch/wanted"
  # What the compiler, the linker and managed code define.
  known='^(_GLOBAL_OFFSET_TABLE_|__executable_start|etext|__(start|stop)_.*|__stack_chk_fail|__tls_get_addr|__popcountdi2|atexit|g_compilerEmbedded.*|Freehold.*|RhExceptionHandling_.*|RhThrow.*)$'
  while read -r symbol; do
    if grep -qxF -- "$symbol" "$scratch/defined"; then ok "symbol $symbol"; else differs "symbol $symbol: not in the archives"; fi
  done < <(comm -23 "$scratch/wanted" "$scratch/own" | comm -23 - "$scratch/libc" | grep -vE "$known")
  while read -r symbol; do
    if grep -qxF -- "$symbol" "$scratch/defined" "$scratch/libc"; then ok "wrapped $symbol"; else differs "wrapped $symbol: neither in the archives nor in libc"; fi
  done < <(sed -n 's/^__wrap_//p' "$scratch/own")
  # The runtime's fast paths of allocation, of which none may be left.
  while read -r symbol; do
    if grep -qxF -- "__wrap_$symbol" "$scratch/own"; then ok "fast path $symbol"; else differs "fast path $symbol: not wrapped"; fi
  done < <(nm -g --defined-only "$scratch/AllocFast.S.o" | awk '{ print $3 }' | grep -vE '^(RhpNewObject|RhpNewFinalizable|RhpNewArrayRare|RhpNewVariableSizeObject)$')
else
  differs "symbols: '$library' is missing, run eng/native.sh"
fi

# Layouts, from the debug information.
if command -v gdb > /dev/null; then
  layout=$(gdb -batch -ex 'ptype /o struct RuntimeThreadLocals' "$scratch/thread.cpp.o" 2> /dev/null)
  while read -r fact member; do
    wanted=$(sed -n "s/^#define FREEHOLD_$fact //p" "$facts/layout.h")
    found=$(sed -n "s/^\/\* *\([0-9]*\) .*\b$member\b.*/\1/p" <<< "$layout")
    if [ "$found" = "$wanted" ]; then ok "layout $fact"; else differs "layout $fact: at ${found:-none} instead of ${wanted:-none}"; fi
  done <<'MEMBERS'
THREAD_ALLOCATION m_rgbAllocContextBuffer
THREAD_STATE m_ThreadStateFlags
THREAD_TRANSITION_FRAME m_pTransitionFrame
THREAD_DEFERRED_FRAME m_pDeferredTransitionFrame
THREAD_CACHED_FRAME m_pCachedTransitionFrame
THREAD_NEXT m_pNext
THREAD_HIJACKED_SLOT m_ppvHijackedReturnAddressLocation
THREAD_HIJACKED_ADDRESS m_pvHijackedReturnAddress
THREAD_HIJACKED_FLAGS m_uHijackedReturnValueFlags
THREAD_ABORT_EXCEPTION m_threadAbortException
THREAD_STATICS m_pThreadLocalStatics
THREAD_STATIC_ROOTS m_pInlinedThreadLocalStatics
THREAD_ID m_threadId
THREAD_INTERRUPTED m_interruptedContext
MEMBERS
  wanted=$(sed -n "s/^#define FREEHOLD_THREAD_LIST_LOCK //p" "$facts/layout.h")
  found=$(gdb -batch -ex 'ptype /o ThreadStore' "$scratch/threadstore.cpp.o" 2> /dev/null | sed -n 's/^\/\* *\([0-9]*\) .*class Crst .*/\1/p')
  if [ "$found" = "$wanted" ]; then ok "layout THREAD_LIST_LOCK"; else differs "layout THREAD_LIST_LOCK: at ${found:-none} instead of ${wanted:-none}"; fi
  for pair in THREAD_SIZE:RuntimeThreadLocals:thread STACK_ITERATOR_SIZE:StackFrameIterator:StackFrameIterator; do
    IFS=: read -r fact type object <<< "$pair"
    wanted=$(sed -n "s/^#define FREEHOLD_$fact //p" "$facts/layout.h")
    found=$(gdb -batch -ex "print sizeof($type)" "$scratch/$object.cpp.o" 2> /dev/null | sed -n 's/.*= //p')
    if [ "$found" = "$wanted" ]; then ok "layout $fact"; else differs "layout $fact: ${found:-unknown} instead of $wanted"; fi
  done
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
