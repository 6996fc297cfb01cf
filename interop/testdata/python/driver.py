"""Carries out what a Go test asks of kazoo.

A request is a line "tag, target, verb, arguments", separated by tabs; its answer is "tag, ok, values" or "tag, err, name". What happens unasked is told
as "!, target, kind, text". Requests to one target are carried out in their order, on a thread of its own; different targets do not wait for each other.
"""

import logging
import os
import queue
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, LockTimeout

# Troupe's names, for kazoo's option that lets its locks respect those of others.
LOCKS = ["-lock-"]
WRITERS = LOCKS + ["-write-"]
ALL = WRITERS + ["-read-"]

say_lock = threading.Lock()


def say(*words):
    with say_lock:
        sys.stdout.write("\t".join(w.replace("\n", " ") for w in words) + "\n")
        sys.stdout.flush()


class Session:
    """One KazooClient with the basic operations."""

    def __init__(self, address, timeout):
        self.client = KazooClient(
            hosts=address,
            timeout=int(timeout) / 1000.0,
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.2},
            command_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.2},
        )
        self.client.start(timeout=60)

    def create(self, path, data, mode):
        return [self.client.create(path, data.encode(), ephemeral=mode == "e")]

    def delete(self, path, expected):
        self.client.delete(path, int(expected))
        return []

    def version(self):
        return [".".join(map(str, self.client.server_version()))]

    def pipeline(self, path, reads):
        """Asks for a znode's data many times at once; the answer is the sum of their sizes."""
        pending = [self.client.get_async(path) for _ in range(int(reads))]
        return [str(sum(len(p.get(timeout=60)[0]) for p in pending))]

    def id(self):
        return ["0x%x" % self.client.client_id[0]]

    def close(self):
        self.client.stop()
        self.client.close()
        return []


class Possession:
    """A lock or an election."""

    def __init__(self, recipe):
        self.recipe = recipe

    def acquire(self, millis):
        try:
            return ["yes" if self.recipe.acquire(timeout=int(millis) / 1000.0) else "no"]
        except LockTimeout:
            return ["no"]

    def release(self):
        self.recipe.release()
        return []

    def contenders(self):
        return [",".join(self.recipe.contenders())]


class Candidate:
    """Election.run calls a function that leads until it returns: here, until release.

    Each acquisition has an Election of its own, because one that was cancelled too late stays cancelled.
    """

    def __init__(self, make):
        self.make = make

    def acquire(self, millis):
        self.election = self.make()
        self.leading, self.resign = threading.Event(), threading.Event()

        def lead():
            self.leading.set()
            self.resign.wait()

        self.thread = threading.Thread(target=self.election.run, args=(lead,), daemon=True)
        self.thread.start()
        if self.leading.wait(int(millis) / 1000.0):
            return ["yes"]
        self.resign.set()
        self.election.cancel()
        self.thread.join()
        return ["no"]

    def release(self):
        self.resign.set()
        self.thread.join()
        return []

    def contenders(self):
        return [",".join(self.make().contenders())]


class Barrier:
    def __init__(self, recipe):
        self.recipe = recipe

    def create(self):
        self.recipe.create()
        return []

    def remove(self):
        self.recipe.remove()
        return []

    def wait(self, millis):
        return ["yes" if self.recipe.wait(timeout=int(millis) / 1000.0) else "no"]


class Queue:
    def __init__(self, recipe):
        self.recipe = recipe

    def put(self, data, priority="100"):
        self.recipe.put(data.encode(), int(priority))
        return []


class LockingQueue(Queue):
    def take(self, millis):
        data = self.recipe.get(timeout=int(millis) / 1000.0)
        return [] if data is None else [data.decode()]


def make(kind, session, path, *more):
    c = session.client
    kinds = {
        # Beside kazoo only.
        "lock": lambda: Possession(c.Lock(path, *more)),
        "election": lambda: Candidate(lambda: c.Election(path, *more)),
        "read": lambda: Possession(c.ReadLock(path, *more)),
        "write": lambda: Possession(c.WriteLock(path, *more)),
        # Beside others in Troupe's layout.
        "lock-beside": lambda: Possession(c.Lock(path, extra_lock_patterns=LOCKS)),
        "read-beside": lambda: Possession(c.ReadLock(path, extra_lock_patterns=WRITERS)),
        "write-beside": lambda: Possession(c.WriteLock(path, extra_lock_patterns=ALL)),
        "barrier": lambda: Barrier(c.Barrier(path)),
        "queue": lambda: Queue(c.Queue(path)),
        "locking-queue": lambda: LockingQueue(c.LockingQueue(path)),
    }
    return kinds[kind]()


targets = {}


def call(name, verb, args):
    if verb == "open":  # client, address, session timeout in ms
        targets[name] = Session(*args[1:])
        return []
    if verb == "new":  # kind, session, path, further arguments
        targets[name] = make(args[0], targets[args[1]], *args[2:])
        return []
    return getattr(targets[name], verb)(*args)


def serve(requests):
    while True:
        tag, name, verb, args = requests.get()
        try:
            say(tag, "ok", *call(name, verb, args))
        except KazooException as e:
            say(tag, "err", type(e).__name__)
        except Exception as e:  # a test must hear of anything
            say(tag, "err", repr(e))


def main():
    logging.basicConfig(level=logging.CRITICAL)
    threads = {}
    for line in sys.stdin:
        tag, name, verb, *args = line.rstrip("\n").split("\t")
        if name not in threads:
            threads[name] = queue.Queue()
            threading.Thread(target=serve, args=(threads[name],), daemon=True).start()
        threads[name].put((tag, name, verb, args))
    os._exit(0)  # the test is over: nothing is worth waiting for


main()
