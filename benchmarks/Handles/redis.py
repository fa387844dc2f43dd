#!/usr/bin/env python3
"""Redis with a limit of memory, under three heaps in turn: what it takes over time, and the latency of gets and updates while it evicts.

    redis.py --stock DIR --handles DIR --output DIR [--runs N] [--scale N] [--jemalloc FILE]

DIR has redis-server and redis-benchmark. The load: 700,000 values of 240 bytes into 100 MB (allkeys-lru), then, without pipelining, updates with values of 492 bytes and gets,
16 clients each; then 5 s of rest. Prints the medians of the runs, and writes memory.csv (every sample) and memory.svg (the first run)."""
import argparse, csv, os, statistics, subprocess, sys, threading, time

parser = argparse.ArgumentParser()
parser.add_argument("--stock", required=True)
parser.add_argument("--handles", required=True)
parser.add_argument("--output", required=True)
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--scale", type=int, default=1, help="so manyth of the work")
parser.add_argument("--jemalloc", default="/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
options = parser.parse_args()

KINDS = {"glibc": (options.stock, ""), "jemalloc": (options.stock, options.jemalloc), "handles": (options.handles, "")}
COLORS = {"glibc": "#888", "jemalloc": "#c60", "handles": "#06c"}
SOCKET = os.path.join(options.output, "socket")


def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(next(line for line in file if line.startswith("Pss:")).split()[1]) / 1024


class Sampler:
    """The process's PSS in MB, four times a second."""

    def __init__(self, pid):
        self.samples, self.ends, self.pid, self.begin = [], threading.Event(), pid, time.monotonic()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ends.wait(0.25):
            self.samples.append((time.monotonic() - self.begin, pss(self.pid)))

    def stop(self):
        self.ends.set()
        self.thread.join()


def load(tests, count, size, keys, clients, pipeline):
    """What redis-benchmark says of each test. Its own program is the stock one, whoever serves."""
    line = [os.path.join(options.stock, "redis-benchmark"), "-s", SOCKET, "--csv", "-t", tests, "-n", str(count // options.scale), "-d", str(size),
            "-r", str(keys), "-c", str(clients), "-P", str(pipeline)]
    return {row["test"]: row for row in csv.DictReader(subprocess.check_output(line, text=True).splitlines())}


def run(kind):
    folder, library = KINDS[kind]
    if os.path.exists(SOCKET):
        os.remove(SOCKET)
    server = subprocess.Popen([os.path.join(folder, "redis-server"), "--port", "0", "--unixsocket", SOCKET, "--save", "", "--appendonly", "no", "--maxmemory",
                               f"{100 // options.scale}mb", "--maxmemory-policy", "allkeys-lru", "--logfile", "/dev/null"], stdout=subprocess.DEVNULL,
                              env=dict(os.environ, LD_PRELOAD=library))
    for _ in range(300):
        if os.path.exists(SOCKET):
            break
        time.sleep(0.1)
    else:
        sys.exit(f"{kind}: redis-server does not answer")
    sampler = Sampler(server.pid)
    try:
        begin = time.monotonic()
        load("set", 700_000, 240, 10**9, 8, 16)
        filled = time.monotonic() - begin
        after_first = pss(server.pid)
        rows = load("set,get", 300_000, 492, 10**6, 16, 1)
        time.sleep(5)
        last = pss(server.pid)
    finally:
        sampler.stop()
        server.terminate()
        server.wait()
    result = {"fill, s": filled, "MB after it": after_first, "MB 5 s after all": last, "peak, MB": max(mb for _, mb in sampler.samples)}
    for name, test in (("update", "SET"), ("get", "GET")):
        row = rows[test]
        result[f"{name}s a second"] = float(row["rps"])
        for column in ("p50", "p99", "max"):
            result[f"{name} {column}, ms"] = float(row[f"{column}_latency_ms"])
    return result, sampler.samples


def plot(series, path):
    width, height, left, bottom = 720, 300, 45, 30
    last = max(time for samples in series.values() for time, _ in samples)
    most = max(mb for samples in series.values() for _, mb in samples) * 1.1
    x = lambda t: left + (width - left - 10) * t / last
    y = lambda mb: height - bottom - (height - bottom - 10) * mb / most
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for mb in range(0, int(most), 50):
        lines.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(mb):.1f}" y2="{y(mb):.1f}" stroke="#ddd"/><text x="{left - 5}" y="{y(mb) + 4:.1f}" text-anchor="end">{mb} MB</text>')
    for t in range(0, int(last) + 1, max(1, int(last) // 10)):
        lines.append(f'<text x="{x(t):.1f}" y="{height - 10}" text-anchor="middle">{t} s</text>')
    for number, (kind, samples) in enumerate(series.items()):
        points = " ".join(f"{x(t):.1f},{y(mb):.1f}" for t, mb in samples)
        lines.append(f'<polyline points="{points}" fill="none" stroke="{COLORS[kind]}" stroke-width="2"/>')
        lines.append(f'<text x="{left + 10 + number * 80}" y="20" fill="{COLORS[kind]}">{kind}</text>')
    with open(path, "w") as file:
        file.write("\n".join(lines + ["</svg>\n"]))


kinds = [kind for kind in KINDS if not KINDS[kind][1] or os.path.exists(KINDS[kind][1])]
for kind in KINDS.keys() - set(kinds):
    print(f"left out, not installed: {kind} ({KINDS[kind][1]})", file=sys.stderr)
os.makedirs(options.output, exist_ok=True)
results, first = {kind: [] for kind in kinds}, {}
with open(os.path.join(options.output, "memory.csv"), "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["run", "heap", "seconds", "PSS MB"])
    for number in range(options.runs):
        for kind in kinds:
            result, samples = run(kind)
            results[kind].append(result)
            first.setdefault(kind, samples)
            writer.writerows([number, kind, f"{t:.2f}", f"{mb:.1f}"] for t, mb in samples)
plot(first, os.path.join(options.output, "memory.svg"))
print("| | " + " | ".join(kinds) + " |\n| --- |" + " --- |" * len(kinds))
for name in results[kinds[0]][0]:
    cells = []
    for kind in kinds:
        value = statistics.median(result[name] for result in results[kind])
        cells.append(f"{value:.0f}" if value >= 20 else f"{value:.2f}")
    print(f"| {name} | " + " | ".join(cells) + " |")
