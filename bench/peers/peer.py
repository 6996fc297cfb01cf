"""Contends by kazoo's locks and queues. In participants.go, child has the lines that it reads and writes, and fleet does the same in Go."""

import logging
import os
import sys
import time
from threading import Event, Lock, Semaphore
from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient
from kazoo.recipe.cache import TreeCache, TreeEvent

class Tree:
    """A cache of the tree at path, in the place of a lock. See trees.go."""

    def __init__(self, client, kind, path):
        self.client, self.kind, self.path, self.cycle = client, kind, path, 0
        if kind != "tree":
            self.begin()

    def begin(self):
        whole, self.news = Event(), Semaphore(0)

        def listen(event):
            if event.event_type == TreeEvent.INITIALIZED:
                whole.set()
            self.news.release()

        self.cache = TreeCache(self.client, self.path)
        self.cache.listen(listen)
        self.cache.start()
        if not whole.wait(20):
            raise TimeoutError()

    def acquire(self, timeout):
        if self.kind == "tree":
            return self.begin()
        self.cycle += 1
        want = b"%d" % self.cycle
        changes = self.kind == "treechange"
        if changes:
            self.client.set(self.path + "/007/000", want)
        for i in range(1 if changes else 10):
            leaf = "%s/007/%03d" % (self.path, i)
            while self.cache.get_data(leaf).data != want:
                if not self.news.acquire(timeout=timeout):
                    raise TimeoutError()

    def release(self):
        if self.kind == "tree":
            self.cache.close()

class Peer:
    def open(self, kind, contenders, paths, pause, timeout, path, servers):
        self.pause = int(pause) / 1000
        self.clients = [KazooClient(hosts=s, timeout=int(timeout) / 1000) for s in servers.split(",")]
        for c in self.clients:
            c.start()
        self.kind = kind
        if kind == "queue":
            self.queues = [self.clients[i % len(self.clients)].LockingQueue(path) for i in range(int(contenders))]
            return
        if kind.startswith("tree"):
            self.locks = [Tree(self.clients[0], kind, path + "-0")]
            return
        self.locks = [self.clients[i % len(self.clients)].Lock("%s-%d" % (path, i % int(paths))) for i in range(int(contenders))]

    def run(self, n):
        log = []
        if self.kind == "queue":
            return self.work_off(int(n), log)
        with ThreadPoolExecutor(len(self.locks)) as threads:
            threads.map(lambda i: self.work(i, int(n), log), range(len(self.locks)))
        return log

    def work(self, i, n, log):
        def note(what):
            log.append("%s %d %d" % (what, i, time.monotonic_ns()))

        try:
            for _ in range(n):
                note("c")
                self.locks[i].acquire(timeout=20)
                note("e")
                time.sleep(self.pause)
                note("l")
                self.locks[i].release()
                note("g")
        except Exception as e:  # whatever it is, it is told
            print("kazoo:", repr(e), file=sys.stderr)
            note("!")

    def work_off(self, n, log):
        half = len(self.queues) // 2
        left, lock = [half * n], Lock()

        def note(what, item):
            log.append("%s %d %d" % (what, item, time.monotonic_ns()))

        def produce(i):
            for item in range(i * n, (i + 1) * n):
                note("c", item)
                self.queues[i].put(b"%0100d" % item)

        def consume(q):
            while True:
                with lock:
                    left[0] -= 1
                    if left[0] < 0:
                        return
                item = q.get(20)
                if item is None:
                    raise TimeoutError()
                note("e", int(item))
                if not q.consume():
                    raise RuntimeError("it was not locked")

        def safely(f, arg):
            try:
                f(arg)
            except Exception as e:  # whatever it is, it is told
                print("kazoo:", repr(e), file=sys.stderr)
                note("!", 0)

        with ThreadPoolExecutor(2 * half) as threads:
            for i in range(half):
                threads.submit(safely, produce, i)
                threads.submit(safely, consume, self.queues[half + i])
        return log

    def close(self):
        for c in self.clients:
            c.stop()
            c.close()


logging.disable()
peer = Peer()
for line in sys.stdin:
    verb, *words = line.split()
    try:
        print("ok", *(getattr(peer, verb)(*words) or []), flush=True)
    except Exception as e:
        print("error", repr(e), flush=True)
os._exit(0)  # nothing is worth waiting for
