# What the stress scripts share: sourced by them, after eng/common.sh.
run_limit=1200  # seconds of processor time; see limited.sh
contract="$artifacts/integration/Contract-freehold/Contract"
compared=(Differential Ecosystem)  # what must print the same on both
# Cases of tests/Contract that need arguments or another setting, that crash, or that are about resident memory.
left_out='^(crash-|exit-|debug-|guarded-|out-of-memory|out-of-addresses|mappings$|mappings-terabyte|reclaim-|leaks-|pressure-|resident-|model)'

# publish <project> <flavour> <enabled> [<other framework>]: as tests/Integration.Tests publishes it, into the same folders. $publish is false: only what is not there.
# The flavour freehold-mesh has the meshing malloc.
publish() {
  local name="$1${4:+-$4}-$2" heap=()
  if [[ $2 == *-mesh ]]; then heap=(-p:FreeholdNativeHeap=mesh); fi
  if ! $publish && [ -x "$artifacts/integration/$name/$1" ]; then return 0; fi
  run dotnet publish "$root/tests/$1" -c Release -nologo -v quiet "-p:FreeholdEnabled=$3" "-p:ConsumerFramework=${4:-net10.0}" "${heap[@]}" --artifacts-path "$artifacts/integration/obj-$name" -o "$artifacts/integration/$name"
}

# publish_compared [<other framework>]
publish_compared() {
  local project
  for project in "${compared[@]}"; do
    publish "$project" freehold true "${1:-}"
    publish "$project" stock false "${1:-}"
  done
}

# Nothing of the developer's own settings may change a result.
forget_settings() {
  local variable
  for variable in $(compgen -e | grep -E '^(FREEHOLD_|DOTNET_GC)' || true); do unset "$variable"; done
}

# same_as_stock <project> <program> [<-framework>] [<flavour>]: runs it twice and compares what it prints.
same_as_stock() {
  local wanted="$logs/$1${3:-}-$2.stock"
  # Kept only when it came to its end.
  if [ ! -f "$wanted" ]; then
    env -u FREEHOLD_STRESS -u FREEHOLD_PROTECTION "$artifacts/integration/$1${3:-}-stock/$1" run "$2" > "$wanted.part" 2>&1 && mv "$wanted.part" "$wanted" || return 1
  fi
  "$artifacts/integration/$1${3:-}-${4:-freehold}/$1" run "$2" 2>&1 | cmp - "$wanted"
}
