"""What are the context switches of threads made of? Take one cause away at a time.

A hundred threads fetch a list from the fixture server, on all processors and pinned to one:

  shared        they take pages from one list, behind a lock, as every crawler's frontier has one
  own           each has a list of its own: the frontier's lock is gone
  many at once  each asks for twenty pages before it reads: most waits for an answer are gone
  processes     a hundred processes of one thread each: the interpreter's lock is gone

Prints the client's microseconds of processor time and its context switches for each page
(getrusage(2)), medians of three runs. It takes half a minute. docs/notebook/method-studies.md has
what it printed here.

  python -m tools.handovers
  python -m tools.handovers 2000         quicker, and less exact
"""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice, product
from statistics import median
from typing import Any, Final

from bench.cli import options
from tools import parser, start

SLOTS: Final = 100
RUNS: Final = 3
TOGETHER: Final = 20
WAYS: Final = ("shared", "own", "many at once", "processes")
TIMEOUT_S: Final = 120


def read(sock: socket.socket, data: bytes, count: int) -> bytes:
    """Receive so many answers, each as long as its Content-Length says; returns what is left."""
    for _ in range(count):
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += sock.recv(65536)
        stated = re.search(rb"content-length: (\d+)", data[:end].lower())
        assert stated, data[:end]
        length = end + 4 + int(stated[1])
        while len(data) < length:
            data += sock.recv(65536)
        data = data[length:]
    return data


def fetch(sock: socket.socket, numbers: Iterator[int], together: int) -> None:
    data = b""
    while batch := list(islice(numbers, together)):
        requests = (
            b"GET /p/%d HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n" % n for n in batch
        )
        sock.sendall(b"".join(requests))
        data = read(sock, data, len(batch))


def taking(pages: list[int], lock: threading.Lock) -> Iterator[int]:
    while True:
        with lock:
            if not pages:
                return
            number = pages.pop()
        yield number


def client(port: int, pages: int, way: str) -> None:
    """Fetch all pages, and print what that took."""
    shared, lock = list(range(pages)), threading.Lock()
    threads = []
    for slot in range(SLOTS):
        sock = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        numbers = taking(shared, lock) if way == "shared" else iter(range(slot, pages, SLOTS))
        arguments = sock, numbers, TOGETHER if way == "many at once" else 1
        threads.append(threading.Thread(target=fetch, args=arguments))
    whose = resource.RUSAGE_CHILDREN if way == "processes" else resource.RUSAGE_SELF
    before = resource.getrusage(whose)
    for thread in threads:
        if way != "processes":
            thread.start()
        elif os.fork() == 0:
            thread.run()
            os._exit(0)
    for thread in threads:
        if way == "processes":
            os.wait()
        else:
            thread.join()
    after = resource.getrusage(whose)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    switched = after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw
    print(json.dumps([1e6 * used_s / pages, *(count / pages for count in switched)]))


def main() -> int:
    """Print a line for each way and place."""
    known = parser("handovers", __doc__)
    help_ = "fetch so many in each run (default: 20000)"
    known.add_argument(
        "pages", type=options.positive, nargs="?", default=20_000, metavar="PAGES", help=help_
    )
    pages: int = known.parse_args().pages
    usable = sorted(os.sched_getaffinity(0))
    site = ("server", "--listen", "127.0.0.1:0", "--site", f"list:{pages}:2048", "--json")
    with (
        subprocess.Popen((sys.executable, "-m", *site), **on(usable[:1])) as server,
        ExitStack() as ends,
    ):
        ends.callback(server.terminate)
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["listening"].rpartition(":")[2]
        words = sys.executable, "-m", "tools.handovers", port, str(pages)
        for way, where in product(WAYS, ("all", "one")):
            there = on(usable if where == "all" else usable[-1:])
            run = partial(subprocess.run, (*words, way), timeout=TIMEOUT_S, check=True, **there)
            rows = [json.loads(run().stdout) for _ in range(RUNS)]
            us, voluntary, involuntary = map(median, zip(*rows, strict=True))
            print(
                f"{way:12} on {where} {us:6.1f} µs a page, switches {voluntary:5.2f} "
                f"voluntary {involuntary:5.2f} involuntary"
            )
    return 0


def on(processors: list[int]) -> dict[str, Any]:
    """Options of a process that runs on these processors, and whose output is read."""
    pin = partial(os.sched_setaffinity, 0, processors)
    return {"stdout": subprocess.PIPE, "encoding": "utf-8", "preexec_fn": pin}


if __name__ == "__main__":
    if len(sys.argv) > 2:
        client(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        start(main, "handovers")
