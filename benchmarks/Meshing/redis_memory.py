#!/usr/bin/env python3
"""Redis under an allocator: fills a cache that evicts, and says what the process takes.

    redis_memory.py [--scenario A|B] [--library FILE] [--port N] [--scale N]

A   MESH's workload: at most 100 MB (allkeys-lru), 700,000 random keys with values of 240 bytes, then 170,000 with 492 bytes.
B   the same without a limit, 1,000,000 values of 150 to 300 bytes; four fifths of them, chosen at random, are deleted again.
Prints the greatest and the last PSS in MB, what Redis says it uses, and the seconds that the commands took."""
import argparse, os, random, socket, subprocess, sys, time

parser = argparse.ArgumentParser()
parser.add_argument("--scenario", default="A")
parser.add_argument("--library", default="")
parser.add_argument("--scale", type=int, default=1, help="so manyth of the work")
parser.add_argument("--port", type=int, default=0, help="0: one that is free")
options = parser.parse_args()
if options.port == 0:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        options.port = free.getsockname()[1]

environment = dict(os.environ, LD_PRELOAD=options.library)
limit = ["--maxmemory", f"{100 // options.scale}mb", "--maxmemory-policy", "allkeys-lru"] if options.scenario == "A" else []
server = subprocess.Popen(["redis-server", "--port", str(options.port), "--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning", "--logfile", "/dev/null"] + limit, env=environment)
for attempt in range(1200):
    if server.poll() is not None:
        sys.exit(f"redis-server ended with exit code {server.returncode}")
    try:
        connection = socket.create_connection(("127.0.0.1", options.port))
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit("redis-server does not answer")
reader = connection.makefile("rb")

def command(*parts):
    parts = [p if isinstance(p, bytes) else str(p).encode() for p in parts]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

def run(commands):
    connection.sendall(b"".join(commands))
    for _ in commands:
        answer = reader.readline()
        if answer[:1] not in (b"+", b":"):
            sys.exit(f"redis answered {answer!r}")

def pss():
    with open(f"/proc/{server.pid}/smaps_rollup") as file:
        return int(next(line for line in file if line.startswith("Pss:")).split()[1]) / 1024

numbers = random.Random(5)
peak = 0
def fill(count, size):
    global peak
    keys = []
    for first in range(0, count, 1000):
        batch = []
        for _ in range(min(1000, count - first)):
            keys.append(b"%x" % numbers.getrandbits(64))
            batch.append(command("SET", keys[-1], b"x" * size()))
        run(batch)
        if first % 50_000 == 0:
            peak = max(peak, pss())
    return keys

begin = time.monotonic()
try:
    if options.scenario == "A":
        fill(700_000 // options.scale, lambda: 240)
        fill(170_000 // options.scale, lambda: 492)
    else:
        keys = fill(1_000_000 // options.scale, lambda: numbers.randrange(150, 301))
        numbers.shuffle(keys)
        gone = keys[: len(keys) * 4 // 5]
        for first in range(0, len(gone), 1000):
            run([command("DEL", *gone[i : i + 10]) for i in range(first, min(first + 1000, len(gone)), 10)])
        left = keys[len(gone):]
    seconds = time.monotonic() - begin
    last = pss()
    time.sleep(5 if options.scale == 1 else 0)
    connection.sendall(command("INFO", "memory"))
    length = int(reader.readline()[1:])
    used = next(l for l in reader.read(length + 2).split(b"\r\n") if l.startswith(b"used_memory:")).split(b":")[1]
    if options.scenario != "A":
        for key in left:
            connection.sendall(command("GET", key))
            length = int(reader.readline()[1:])
            if not 150 <= length <= 300 or reader.read(length + 2) != b"x" * length + b"\r\n":
                sys.exit(f"the value of {key!r} has changed")
    print(f"{options.scenario} peak {max(peak, last):.0f} MB, at the end {last:.0f} MB, 5 s later {pss():.0f} MB, used {int(used) / 1048576:.0f} MB, {seconds:.1f} s")
finally:
    server.terminate()
    server.wait()
