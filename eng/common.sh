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

# A property of eng/Versions.props.
version_of() { sed -n "s:.*<$1>\(.*\)</$1>.*:\1:p" "$root/eng/Versions.props"; }
