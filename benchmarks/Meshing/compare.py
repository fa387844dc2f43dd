#!/usr/bin/env python3
"""Times allocators on the benchmarks, in turn, and takes each one's fastest run.

    compare.py [--runs N] [--only NAME,...] [--allocators NAME,...] [--binary FILE] [--library FILE]

Prints a table of seconds relative to mimalloc's, and the geometric means. An allocator whose library is not installed is left out, and named."""
import argparse, math, os, subprocess, sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--only", default="")
parser.add_argument("--allocators", default="glibc,mimalloc,jemalloc,tcmalloc,freehold")
parser.add_argument("--binary", default=os.path.join(ROOT, "artifacts/native/bin/mesh_benchmarks"))
parser.add_argument("--library", default=os.path.join(ROOT, "artifacts/native/lib/libfreehold-mesh.so"))
options = parser.parse_args()

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
preloads = {"glibc": "", "mimalloc": LIBRARIES + "/libmimalloc.so.2", "jemalloc": LIBRARIES + "/libjemalloc.so.2",
            "tcmalloc": LIBRARIES + "/libtcmalloc_minimal.so.4", "freehold": options.library}
chosen = []
for name in options.allocators.split(","):
    if preloads[name] and not os.path.exists(preloads[name]):
        print(f"left out, not installed: {name} ({preloads[name]})", file=sys.stderr)
    else:
        chosen.append(name)
names = options.only.split(",") if options.only else subprocess.check_output([options.binary, "--list"], text=True).split()
best, memory, sums = {}, {}, {}
for run in range(options.runs):
    for name in names:
        for allocator in chosen:
            environment = dict(os.environ, LD_PRELOAD=preloads[allocator])
            _, seconds, kilobytes, checksum = subprocess.check_output([options.binary, name, "2"], env=environment, text=True).split()
            key = (name, allocator)
            best[key] = min(best.get(key, math.inf), float(seconds))
            memory[key] = min(memory.get(key, math.inf), int(kilobytes))
            # Races decide who frees what, never how much is done.
            if sums.setdefault(name, checksum) != checksum:
                sys.exit(f"{name} under {allocator} computed {checksum}, not {sums[name]}")
reference = "mimalloc" if "mimalloc" in chosen else chosen[0]
print(f"| benchmark | {reference}, s | " + " | ".join(chosen) + " |\n| --- | ---: |" + " ---: |" * len(chosen))
for name in names:
    base = best[name, reference]
    print(f"| {name} | {base:.3f} | " + " | ".join(f"{best[name, a] / base:.2f}" for a in chosen) + " |")
means = {a: math.exp(sum(math.log(best[n, a] / best[n, reference]) for n in names) / len(names)) for a in chosen}
print("| geometric mean | | " + " | ".join(f"{means[a]:.2f}" for a in chosen) + " |")
print("\nMaximal resident MB: " + "; ".join(f"{n} " + ", ".join(f"{a} {memory[n, a] / 1024:.0f}" for a in chosen) for n in names))
