#!/usr/bin/env bash
# limited.sh [--idle SECONDS] <seconds> <command…>: runs it, and ends it (SIGABRT, then SIGKILL) when it and its children have used so many seconds of processor time, or when
# they hang: less than a hundredth of a processor, and no output, for six minutes (or --idle). Not by the clock: on a busy machine everything takes longer. Output must be a file, or nothing
# is known of it. The exit code is the command's; 124 after an end by processor time, 125 after a hang.
set -uo pipefail
idle=360
if [ "$1" = --idle ]; then idle=$2; shift 2; fi
limit=$1
shift
"$@" &
child=$!
trap 'kill -TERM "$child" 2> /dev/null; exit 143' TERM INT

# tree: the process and its descendants.
tree() {
  local found="$child" level="$child" next
  while [ -n "$level" ]; do
    next=$(pgrep -P "$(tr ' ' ',' <<< "$level")" | xargs)
    level=$next
    found="$found${next:+ $next}"
  done
  echo "$found"
}

# ticks: hundredths of a second that they have used, and those of their own that they waited for (proc(5): fields 14 to 17 of stat, after a name in parentheses).
ticks() {
  local sum=0 id fields
  for id in $(tree); do
    fields=$(sed 's/.*) //' "/proc/$id/stat" 2> /dev/null | cut -d' ' -f12-15) || continue
    sum=$((sum + $(tr ' ' '+' <<< "${fields:-0}")))
  done
  echo "$sum"
}

stop() {
  # shellcheck disable=SC2046
  kill -ABRT $(tree) 2> /dev/null
  sleep 2
  # shellcheck disable=SC2046
  kill -KILL $(tree) 2> /dev/null
  wait "$child" 2> /dev/null
  echo "limited.sh: $1" >&2
  exit "$2"
}

said() { stat -L -c %s "/proc/$child/fd/1" 2> /dev/null || echo 0; }

quiet=$SECONDS before=0 said_before=0 pause=0.05
while kill -0 "$child" 2> /dev/null; do
  used=$(ticks)
  if [ "$used" -gt $((limit * 100)) ]; then stop "more than $limit s of processor time" 124; fi
  if [ "$(said)" != "$said_before" ] || [ $((used - before)) -gt $((100 + SECONDS - quiet)) ]; then
    said_before=$(said)
    before=$used
    quiet=$SECONDS
  elif [ $((SECONDS - quiet)) -gt "$idle" ]; then
    stop "hung: $((used - before)) hundredths of a second of processor time in $idle s" 125
  fi
  sleep "$pause"
  if [ "$pause" = 0.05 ] && [ $((SECONDS - quiet)) -gt 1 ]; then pause=1; fi
done
wait "$child"
