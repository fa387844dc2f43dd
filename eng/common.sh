# Shared by build.sh and the scripts in eng/. Source it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
artifacts="$root/artifacts"

# Prints a command, then runs it.
run() {
  printf '+' >&2
  printf ' %q' "$@" >&2
  printf '\n' >&2
  "$@"
}

# Like grep -q, but reads all that is piped to it: with pipefail, a writer that grep no longer reads from fails the pipeline, on some runs. Format refuses the other form.
holds() { local lines; lines=$(grep -c "$@"); }

# one_at_a_time <lock> <argument>…: runs the script again, with these arguments, while nobody else has the lock. Flock has it, and not the script: .NET's build servers
# inherit what a script has open, live on for minutes when it is stopped, and would keep whoever comes next waiting.
one_at_a_time() {
  local lock=$1
  shift
  if [ "${HAS_LOCK:-}" = "$lock" ]; then
    unset HAS_LOCK
    return 0
  fi
  # Who stops flock stops the script: it would go on without the lock.
  HAS_LOCK=$lock exec flock --close "$lock" setpriv --pdeathsig TERM bash "$0" "$@"
}

# A property of eng/Versions.props.
version_of() { sed -n "s:.*<$1>\(.*\)</$1>.*:\1:p" "$root/eng/Versions.props"; }

# Temporary files of what follows, of tools too, go to a folder that goes with the script: dotnet build, publish and format leave empty folders in TMPDIR each
# time (SDK 10.0.401), and a test that is cut off leaves its own.
own_temporary_files() {
  TMPDIR=$(mktemp -d /tmp/freehold-XXXXXX)
  chmod 711 "$TMPDIR"  # a test runs a program as nobody
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
}
