#!/usr/bin/env python3
"""nginx with the meshing malloc: forked workers, files of several sizes by several connections, and reloads, which fork again while requests go on.

    nginx.py FOLDER LIBRARY     FOLDER/www has the files"""
import os, signal, socket, subprocess, sys, threading, time, urllib.request

folder, library = sys.argv[1:]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
with open(folder + "/conf", "w") as conf:
    conf.write(f"worker_processes 2; daemon off; pid {folder}/pid; error_log {folder}/error; events {{}}\n"
               f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}\n")
server = subprocess.Popen(["nginx", "-p", folder, "-c", folder + "/conf"], env=dict(os.environ, LD_PRELOAD=library))
files = {}
for name in os.listdir(folder + "/www"):
    with open(f"{folder}/www/{name}", "rb") as file:
        files[name] = file.read()
wrong = []


def ask(count):
    for _ in range(count):
        for name, expected in files.items():
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=120).read() != expected:
                    wrong.append(name)
            except OSError as error:
                wrong.append(f"{name}: {error}")


def errors():
    with open(folder + "/error") as log:
        return [line for line in log if any(kind in line for kind in ["[alert]", "[emerg]", "[crit]"])]


try:
    end = time.monotonic() + 120
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            if server.poll() is not None or time.monotonic() > end:
                sys.exit(f"nginx does not answer: {errors()}")
            time.sleep(0.05)
    with open(f"/proc/{server.pid}/maps") as maps:
        if library not in maps.read():
            sys.exit("nginx runs without the library")
    for reload in range(3):
        threads = [threading.Thread(target=ask, args=(60,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        server.send_signal(signal.SIGHUP)
        for thread in threads:
            thread.join()
finally:
    server.terminate()
    server.wait()
if wrong or errors() or server.returncode != 0:
    sys.exit(f"{wrong[:3]} {errors()[:3]} exit code {server.returncode}")
print(f"{3 * 4 * 60 * len(files)} requests")
