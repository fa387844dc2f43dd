#!/usr/bin/env python3
"""The programs of tests/Bridge.Programs by clang and with handles: text, processor time to compile, and to run, the latter beside glibc's and jemalloc's malloc.

    programs.py [--runs N] [--level=-O2] [--build-only | --built] [--budget SECONDS] [--jemalloc FILE] [part of a name...]

Takes the sources that tests/Bridge.Programs has fetched. Builds each program once into artifacts/bench/handle-programs, runs its function of workloads.sh there, the kinds
in turn, and takes the least processor time of the runs. Prints a table and the geometric means, and writes programs.csv."""
import argparse, csv, math, os, re, resource, shutil, subprocess, sys, time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
HERE = os.path.join(ROOT, "benchmarks/Handles")
RECIPES = os.path.join(ROOT, "tests/Bridge.Programs/recipes")
SOURCES = os.path.join(ROOT, "artifacts/sources")
OUTPUT = os.path.join(ROOT, "artifacts/bench/handle-programs")
WORKLOADS = os.path.join(HERE, "workloads.sh")

parser = argparse.ArgumentParser()
parser.add_argument("names", nargs="*")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--level", default="-O2")
parser.add_argument("--budget", type=float, default=math.inf, help="seconds: no program begins after them")
parser.add_argument("--built", action="store_true", help="only programs that are built already")
parser.add_argument("--build-only", action="store_true")
parser.add_argument("--exact", action="store_true", help="whole names, also of recipes without a workload")
parser.add_argument("--jemalloc", default="/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
options = parser.parse_args()
COMPILERS = {"stock": ("clang-19", "clang++-19"), "handles": tuple(os.path.join(ROOT, "artifacts/native/bin", name) for name in ("freehold-cc", "freehold-c++"))}
KINDS = {"glibc": ("stock", ""), "jemalloc": ("stock", options.jemalloc), "handles": ("handles", "")}

# In place of the compiler: adds its processor time to a file, if it compiles a file of the program.
TIMED = """#!/usr/bin/env python3
import resource, subprocess, sys
code = subprocess.call([{compiler!r}] + sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if "-c" in sys.argv and not any("conftest" in word or "CMakeTmp" in word for word in sys.argv):
    with open({log!r}, "a") as file:
        file.write(f"{{used.ru_utime + used.ru_stime}}\\n")
sys.exit(code if code >= 0 else 1)
"""


def shell(script, folder, environment=None, output=None):
    """The processor time of a script and of all that it starts, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["bash", "-c", "set -euo pipefail\n" + script], cwd=folder, env=dict(os.environ, LC_ALL="C", **(environment or {})), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=output or subprocess.STDOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout, done.returncode


def source_of(package):
    folder = os.path.join(SOURCES, package)
    found = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
    return next((name for name in found if os.path.isdir(name)), None)


def build(name, kind):
    """The folder of the built program, or None; the time that its files took to compile."""
    folder, log = os.path.join(OUTPUT, options.level, name, kind), os.path.join(OUTPUT, options.level, name, kind + ".compiled")
    if not os.path.exists(folder + ".built"):
        with open(os.path.join(RECIPES, name + ".sh")) as file:
            recipe = file.read()
        packages = [re.search(r"^package=(\S+)", recipe, re.M).group(1)] + (re.findall(r"^also=\"?([^\"\n]*)", recipe, re.M) or [""])[0].split()
        sources = [source_of(package) for package in packages]
        if None in sources:
            return None, 0
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sources[0], folder, symlinks=True)
        for package, source in zip(packages[1:], sources[1:]):
            shutil.copytree(source, os.path.join(folder, package), symlinks=True)
        if os.path.exists(log):
            os.remove(log)
        subprocess.check_call(["find", folder, "-exec", "touch", "-h", "-d", "@1000000000", "{}", "+"])
        compilers = []
        for compiler in COMPILERS[kind]:
            compilers.append(os.path.join(OUTPUT, options.level, name, kind + "-" + os.path.basename(compiler)))
            with open(compilers[-1], "w") as file:
                file.write(TIMED.format(compiler=compiler, log=log))
            os.chmod(compilers[-1], 0o755)
        _, said, code = shell(f"source {RECIPES}/{name}.sh; build", folder, {"CC": compilers[0], "CXX": compilers[1], "CFLAGS": options.level + " -w", "CXXFLAGS": options.level + " -w"})
        if code != 0:
            print(f"{name}: {kind} does not build\n" + said.decode(errors="replace")[-2000:], file=sys.stderr)
            return None, 0
        open(folder + ".built", "w").close()
    times = [float(line) for line in open(log)] if os.path.exists(log) else []
    return folder, sum(times)


def inputs():
    folder = os.path.join(OUTPUT, "inputs")
    if not os.path.exists(os.path.join(folder, "script.sql")):
        os.makedirs(folder, exist_ok=True)
        _, said, code = shell(f"source {WORKLOADS}; make_inputs {SOURCES} {folder}", folder)
        if code != 0:
            sys.exit("error: no inputs: " + said.decode(errors="replace"))
    name = lambda file: os.path.join(folder, file)
    return {"INPUT": name("input.c"), "XML": name("input.xml"), "JSON": name("input.json"), "YAML": name("input.yaml"), "script": name("script.js"), "lua": name("script.lua"),
            "tcl": name("script.tcl"), "sql": name("script.sql")}


def text_of(folder, name):
    _, said, _ = shell(f'source {WORKLOADS}; eval "$(declare -f work_{name} | sed -n "s/^ *\\(text=.*\\);$/\\1/p")"; size -A $text | awk \'$1 == ".text" {{ sum += $2 }} END {{ print sum }}\'', folder)
    return int(said.split()[-1])


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


names = re.findall(r"^work_(\w+)\(\)", open(WORKLOADS).read(), re.M)
names = options.names if options.exact else [name for name in names if not options.names or any(part in name for part in options.names)]
kinds = [kind for kind in KINDS if not KINDS[kind][1] or os.path.exists(KINDS[kind][1])]
environment = inputs()
rows = []
began = time.monotonic()
for name in names:
    if options.built and not all(os.path.exists(os.path.join(OUTPUT, options.level, name, kind + ".built")) for kind in COMPILERS):
        print(f"left out, not built: {name}", file=sys.stderr)
        continue
    if time.monotonic() - began > options.budget:
        print(f"left out, no time: {name}", file=sys.stderr)
        continue
    folders, compiled = {}, {}
    for kind in COMPILERS:
        os.makedirs(os.path.join(OUTPUT, options.level, name), exist_ok=True)
        folders[kind], compiled[kind] = build(name, kind)
    if None in folders.values():
        print(f"left out: {name}", file=sys.stderr)
        continue
    if options.build_only:
        continue
    best, expected = {}, None
    for _ in range(options.runs):
        for kind in kinds:
            which, library = KINDS[kind]
            script = f"source {WORKLOADS}; {'export LD_PRELOAD=' + library + ';' if library else ''} work_{name}"
            took, said, code = shell(script, folders[which], environment)
            if expected is None:
                expected = said
            if code != 0 or said != expected:
                sys.exit(f"error: {name}, {kind}: exit {code}, " + ("another output" if code == 0 else said.decode(errors="replace")[-500:]))
            best[kind] = min(best.get(kind, took), took)
    row = {"program": name, "text": text_of(folders["handles"], name) / text_of(folders["stock"], name), "compile": compiled["handles"] / compiled["stock"]}
    for kind in kinds:
        row[kind + ", s"] = best[kind]
    for kind in kinds[:-1]:
        row["beside " + kind] = best["handles"] / best[kind]
    rows.append(row)
    print(name, {key: round(value, 3) for key, value in row.items() if key != "program"}, file=sys.stderr, flush=True)

if rows:
    with open(os.path.join(OUTPUT, "programs.csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(f"{value:.2f}" if key != "program" else value for key, value in row.items()) + " |")
    ratios = [key for key in rows[0] if key in ("text", "compile") or key.startswith("beside")]
    print("geometric means: " + ", ".join(f"{key} {mean([row[key] for row in rows]):.3f}" for key in ratios))
    print("worst: " + ", ".join(f"{key} {max(row[key] for row in rows):.2f} ({max(rows, key=lambda row: row[key])['program']})" for key in ratios))
