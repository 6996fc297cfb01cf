"""A worker of a chaos run on kazoo's Lock. See package others."""
import json
import os
import random
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.retry import KazooRetry

name, path, servers, timeout, seed, rare = sys.argv[1:7]
timeout, rare = int(timeout) / 1000, float(rare)
out = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
busy = threading.Event()
busy.set()
connection = [0]  # grows when it is suspended or lost


def write(**event):
    os.write(out, (json.dumps(event) + "\n").encode())


def state(now):
    if now in (KazooState.SUSPENDED, KazooState.LOST):
        connection[0] += 1


def possess(party, hold):
    since, until, last, pending = connection[0], time.monotonic() + hold, 0, None
    while True:
        b = time.monotonic_ns()
        valid = connection[0] == since
        a = time.monotonic_ns()
        if valid:
            pending = (b, a)
        over = not valid or time.monotonic() >= until
        if pending and (over or pending[1] - last > 20_000_000):
            write(b=pending[0], t=pending[1], k="act", w="lock", x="lock/line", p=party)
            last, pending = pending[1], None
        if over:
            return
        time.sleep(0.002)


def calls(client, party, rnd):
    n = 0
    while busy.is_set():
        n += 1
        lock = client.Lock("/chaos/lock/line")
        try:
            if not lock.acquire(timeout=rnd.random() ** 3 * 0.3 if rnd.random() < 0.3 else 60):
                continue
        except Exception:  # whatever it is: it asks again
            time.sleep(0.05)
            continue
        write(t=time.monotonic_ns(), k="moved", w="lock", p=party)
        possess("%s#%d" % (party, n), timeout * (0.5 + 2 * rnd.random()) if rnd.random() < rare else rnd.random() ** 3 * 0.15)
        try:
            lock.release()
        except Exception as e:
            print("release:", repr(e), file=sys.stderr)
        time.sleep(rnd.random() ** 3 * 0.1)


client = KazooClient(hosts=servers, timeout=timeout, connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=1), command_retry=KazooRetry(max_tries=10))
client.add_listener(state)
client.start(timeout=60)
for i in range(2):
    threading.Thread(target=calls, args=(client, "%s.%d" % (name, i), random.Random(int(seed) + i)), daemon=True).start()
for line in sys.stdin:
    if line.strip() == "drain":
        busy.clear()
    if line.strip() == "stop":
        break
client.stop()
client.close()
write(t=time.monotonic_ns(), k="end", p=name)
os._exit(0)
