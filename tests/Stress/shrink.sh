#!/usr/bin/env bash
# Makes a failing run of a model smaller: fewer threads, steps and slots, each by halves, as long as one of a few attempts still fails.
#   tests/Stress/shrink.sh [--attempts N] [--limit SECONDS] [VARIABLE=value…] -- <program> run <model> SEED STEPS THREADS [SLOTS [RARITY]]
# For instance with what ./build.sh stress prints of a failed run. With several threads a failure does not come each time: more attempts find smaller cases.
# Prints each smaller case; the last line is the command of the smallest. Ends with 1 when the run does not fail at all, 2 when the arguments are wrong.
set -euo pipefail

usage() {
  echo "error: $1 (tests/Stress/shrink.sh [--attempts N] [--limit SECONDS] [VARIABLE=value…] -- <program> run <model> SEED STEPS THREADS [SLOTS [RARITY]])" >&2
  exit 2
}

attempts=5
limit=1200  # seconds of processor time; see limited.sh
limited="$(cd "$(dirname "$0")" && pwd)/limited.sh"
settings=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case "$1" in
    --attempts) attempts=${2:-}; shift ;;
    --limit) limit=${2:-}; shift ;;
    *=*) settings+=("$1") ;;
    *) usage "'$1' is no option and no VARIABLE=value" ;;
  esac
  shift || usage "an option needs a value"
done
shift || usage "no -- before the program"
[[ $attempts =~ ^[1-9][0-9]{0,3}$ ]] || usage "--attempts needs a number of 1 to 9999, not '$attempts'"
[[ $limit =~ ^[1-9][0-9]{0,4}$ ]] || usage "--limit needs seconds, not '$limit'"
[ $# -ge 6 ] && [ $# -le 8 ] || usage "the program, 'run', the model and three to five numbers are needed"
command -v "$1" > /dev/null || usage "there is no program '$1'"
fixed=("${@:1:4}")
numbers=("${@:5}")
for number in "$4" "${numbers[@]}"; do
  [[ $number =~ ^[1-9][0-9]{0,9}$ ]] || usage "'$number' is not a number of at least 1"
done

# fails <number>…: whether one of the attempts does.
fails() {
  local i
  for ((i = 0; i < attempts; i++)); do
    env "${settings[@]}" "$limited" "$limit" "${fixed[@]}" "$@" > /dev/null 2>&1 || return 0
  done
  return 1
}

show() { echo "$1${settings[*]+${settings[*]} }${fixed[*]} ${numbers[*]}"; }

fails "${numbers[@]}" || { echo "It did not fail in $attempts attempts."; exit 1; }
# Threads first: one alone does the same each time, as far as the heap lets it. Rarity stays: fewer collections are not a smaller case.
for place in 1 0 2; do
  [ -n "${numbers[place]:-}" ] || continue
  passes=0
  while [ $((numbers[place] - passes)) -gt 1 ]; do
    smaller=("${numbers[@]}")
    smaller[place]=$(((passes + numbers[place]) / 2))
    if fails "${smaller[@]}"; then
      numbers=("${smaller[@]}")
      show "fails: "
    else
      passes=${smaller[place]}
    fi
  done
done
show ""
