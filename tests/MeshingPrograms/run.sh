#!/usr/bin/env bash
# Programs with libfreehold-mesh.so preloaded: the probe's verbs under each barrier, as root and as nobody, and Debian's programs, which are installed where they are missing.
#   run.sh [--long]     --long: 12 million calls for the EFAULT probe, longer programs, meshing at every 20th slow path too
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/eng/common.sh"
library="$artifacts/native/lib/libfreehold-mesh.so"
probe="$artifacts/native/bin/mesh_probe"
"$root/eng/prerequisites.sh" native gcc python3 git sqlite3 redis-server nginx-light util-linux
"$root/eng/native.sh" freehold_mesh freehold_mesh_preload mesh_probe mesh_defects
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
defects="$artifacts/native/bin/mesh_defects"
cp "$library" "$probe" "$defects" "$scratch"   # nobody may not see the repository's folders
chmod -R a+rX "$scratch"
library="$scratch/libfreehold-mesh.so"
probe="$scratch/mesh_probe"
defects="$scratch/mesh_defects"
passed=0
failed=0
calls=400000
settings=("")
if [ "${1:-}" = --long ]; then
  calls=12000000
  settings=("" FREEHOLD_MESH_STRESS=20)
fi

# case_of <name> <command…>: succeeds with 0
case_of() {
  local name=$1
  shift
  if timeout 900 "$@" > "$scratch/out" 2>&1; then
    echo "ok: $name  $(tail -n 1 "$scratch/out" | cut -c1-100)"
    passed=$((passed + 1))
  else
    echo "FAILED ($?): $name"
    tail -n 20 "$scratch/out"
    failed=$((failed + 1))
  fi
}

# same <name> <command…>: the same output with the library as without
same() {
  local name=$1 setting expected
  shift
  expected=$("$@" 2>&1)
  for setting in "${settings[@]}"; do
    if output=$(env LD_PRELOAD="$library" $setting "$@" 2>&1) && [ "$output" = "$expected" ]; then
      echo "ok: $name $setting"
      passed=$((passed + 1))
    else
      echo "FAILED: $name $setting"
      diff <(echo "$expected") <(echo "$output") | head -10 || true
      failed=$((failed + 1))
    fi
  done
}

preload=(env LD_PRELOAD="$library")
for verb in family forks threads descriptors handlers; do
  case_of "$verb" "${preload[@]}" "$probe" "$verb"
done
for barrier in user mprotect; do
  case_of "forks, $barrier" "${preload[@]}" FREEHOLD_MESH_BARRIER=$barrier "$probe" forks
  case_of "efault, $barrier" "${preload[@]}" FREEHOLD_MESH_BARRIER=$barrier "$probe" efault "$calls"
done
case_of "efault" "${preload[@]}" "$probe" efault "$calls"
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
  case_of "efault, as nobody" setpriv --reuid=65534 --regid=65534 --clear-groups "${preload[@]}" "$probe" efault "$calls"
fi
case_of "a setting that is not known ends the program" bash -c "! LD_PRELOAD=$library FREEHOLD_MESH_NONE=1 $probe family"

# Each system call of the headers is in the table, and each function that the table names is interposed.
table="$root/tests/MeshingPrograms/system-calls.txt"
headers=$(echo '#include <asm/unistd.h>' | gcc -E -dM - | sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/\1/p' | sort -u)
in_table=$(sed -n 's/^\([a-z0-9_]*\):.*/\1/p; s/^-://p' "$table" | tr ' ' '\n' | sort -u)
functions=$(sed -n '/^#/d; /: =/d; s/^[a-z0-9_]*: //p' "$table" | tr ' ' '\n' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort -u)
unknown=$(comm -23 <(echo "$headers") <(echo "$in_table"))
not_interposed=$(comm -23 <(echo "$functions") <(echo "$exported"))
case_of "system calls that the table does not know: ${unknown:-none}" [ -z "$unknown" ]
case_of "functions that are not interposed: ${not_interposed:-none}" [ -z "$not_interposed" ]

for verb in blocked masked waits bare-forks futexes calls locked locked-beyond family; do
  for barrier in auto user mprotect; do
    case_of "$verb, $barrier" "${preload[@]}" FREEHOLD_MESH_BARRIER=$barrier "$defects" $verb
  done
done
case_of "mlockall, open:1+" "${preload[@]}" FREEHOLD_MESH_FAIL=open:1+ "$defects" unlockable EAGAIN
case_of "mlockall, mlock:1" "${preload[@]}" FREEHOLD_MESH_FAIL=mlock:1 "$defects" unlockable ENOMEM
for function in open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2; do
  case_of "direct I/O, $function" "${preload[@]}" "$defects" direct $function
done
hosts="$root/tests/MeshingPrograms/hosts"
gcc -O1 -shared -fPIC "$hosts/early.c" -o "$scratch/libearly.so"
gcc -O1 "$hosts/forks.c" -L "$scratch" -learly -Wl,-rpath,"$scratch" -o "$scratch/forks"
case_of "handlers of fork that were registered early" "${preload[@]}" timeout 120 "$scratch/forks"
g++ -O1 -shared -fPIC "$hosts/plugin.cpp" -o "$scratch/plugin.so"
gcc -O1 "$hosts/host.c" -ldl -o "$scratch/host"
case_of "a C++ library that only a plugin sees" "${preload[@]}" "$scratch/host" "$scratch/plugin.so"

# A C program that links the archive: its malloc, the C library's own allocations, and a fork.
cat > "$scratch/linked.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "freehold/mesh.h"

int main(void) {
  static char* kept[20000];
  for (int i = 0; i < 20000; i++) {
    kept[i] = malloc(100);
    snprintf(kept[i], 100, "object %d", i);
  }
  for (int i = 0; i < 20000; i++) {
    if (i % 16 != 0) free(kept[i]);
  }
  freehold_mesh_compact();
  uint64_t figures[FREEHOLD_MESH_FIGURE_COUNT];
  freehold_mesh_figures(figures, FREEHOLD_MESH_FIGURE_COUNT);
  if (figures[3] == 0 || figures[4] == 0) return puts("nothing was meshed"), 1;
  pid_t child = fork();
  for (int i = 0; i < 20000; i += 16) {
    char expected[100];
    snprintf(expected, sizeof expected, "object %d", i);
    if (strcmp(kept[i], expected) != 0) return puts("an object changed"), 2;
    free(kept[i]);
  }
  free(strdup("the C library's"));
  if (child == 0) _exit(freehold_mesh_verify() == NULL ? 42 : 3);
  int status;
  if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 42) return puts("the child failed"), 4;
  return freehold_mesh_verify() != NULL;
}
EOF
for compiler in gcc clang clang-19; do
  case_of "a C program that links the archive, $compiler" bash -c "$compiler -O1 -I '$root/src/NativeBridge/Meshing/include' '$scratch/linked.c' -Wl,--whole-archive '$artifacts/native/lib/libfreehold-mesh.a' -Wl,--no-whole-archive -pthread -o '$scratch/linked' && '$scratch/linked'"
done

same python3 python3 -c '
import json, collections
rows = [{"n": i, "s": str(i) * (i % 7)} for i in range(60000)]
kept = rows[::9]; del rows
print(len(json.dumps(kept)), collections.Counter(r["n"] % 5 for r in kept))'
same python3-processes python3 -c '
import subprocess, os, threading
def work():
    for i in range(5): subprocess.run(["true"], check=True)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
pid = os.fork()
if pid == 0: os._exit(len([str(i) for i in range(1000)]) % 7)
print(os.waitpid(pid, 0)[1] >> 8)'
same git git -C "$root" log --stat --oneline -n 30
same sqlite3 sqlite3 :memory: "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) select count(*), sum(length(hex(i) || i)), max(i % 977) from n;"
cat > "$scratch/unit.cpp" <<'EOF'
#include <map>
#include <string>
#include <regex>
int main() { std::map<std::string, std::regex> m; m.emplace("a", std::regex("b+")); return static_cast<int>(m.size()) - 1; }
EOF
same gcc g++ -std=c++20 -O1 -S -o - "$scratch/unit.cpp"
for scenario in A B; do
  case_of "redis $scenario" python3 "$root/benchmarks/Meshing/redis_memory.py" --scenario $scenario --library "$library" --scale $([ "${1:-}" = --long ] && echo 1 || echo 20)
done
mkdir -p "$scratch/nginx/logs" "$scratch/nginx/www"
for size in 1 100 5000 300000; do head -c $size /dev/urandom > "$scratch/nginx/www/$size"; done
chmod -R a+rX "$scratch"
case_of nginx python3 "$root/tests/MeshingPrograms/nginx.py" "$scratch/nginx" "$library"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
