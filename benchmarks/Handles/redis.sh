#!/usr/bin/env bash
# Redis compiled with handles beside clang's with glibc's malloc and with jemalloc: memory over time, and how long gets and updates take.
#   benchmarks/Handles/redis.sh [options of redis.py]
# Takes the source that tests/Bridge.Programs has fetched (run it once with `redis`), builds both kinds once into artifacts/bench/redis, and needs the package libjemalloc2.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/eng/prerequisites.sh" native libjemalloc2 python3
source=$(find "$root/artifacts/sources/redis" -mindepth 1 -maxdepth 1 -type d 2> /dev/null | head -n 1)
if [ -z "$source" ]; then
  echo "error: no source of Redis in artifacts/sources: run tests/Bridge.Programs/run.sh redis" >&2
  exit 1
fi
build() {  # build <kind> <compiler>
  local folder="$root/artifacts/bench/redis/$1"
  if [ -x "$folder/src/redis-server" ]; then return; fi
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  cp -a "$source" "$folder"
  find "$folder" -exec touch -h -d @1000000000 {} +
  CC=$2 make -s -j"$(nproc)" -C "$folder/src" MALLOC=libc USE_SYSTEMD=no BUILD_TLS=no OPTIMIZATION= CFLAGS="-O2 -w" CC="$2" redis-server redis-cli redis-benchmark > "$folder.log" 2>&1
}
build stock clang-19
build handles "$root/artifacts/native/bin/freehold-cc"
exec python3 "$root/benchmarks/Handles/redis.py" --stock "$root/artifacts/bench/redis/stock/src" --handles "$root/artifacts/bench/redis/handles/src" \
  --output "$root/artifacts/bench/redis" "$@"
