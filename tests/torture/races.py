"""Thousands of small crawls, while the interpreter switches threads as often as it can.

``python -m tests.torture.races`` runs ten thousand with ``threads`` and a tenth of that
with each other backend of its family. No page may be fetched twice or lost, and a crawl
that takes more than a minute is a deadlock.

Run it with a free-threaded interpreter too, for a second table. The server's packages
have no wheels for it, so give ``--server-python`` an interpreter that has them.
"""

from __future__ import annotations

import argparse
import faulthandler
import platform
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import track

from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend, BackendError
from tests.server.fixture_server import Running, running
from tests.torture import keep

SITE = ("--site", "tree:20:4:1024")
SWITCH_S = 1e-6
"""Time after which the interpreter switches threads; the default is 5 ms."""
DEADLOCK_S = 60.0
OTHERS = ("threads_small_stack", "threads_pool", "urllib3", "requests")


@contextmanager
def switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def check(backend: Backend, server: Running, slots: int, keep_alive: bool) -> None:
    """Crawl once; raises AssertionError if a page was fetched twice, or lost."""
    server.control("/reset", {})
    url = f"http://{server.ready['listening']}/"
    report = backend.crawl(Job((url,), slots=slots, keep_alive=keep_alive), NullRecorder())
    ledger = server.control("/ledger?summary=1")[1]
    how = f"{backend.name}, {slots} slots, keep-alive {keep_alive}"
    assert report.digest == server.ready["digest"], f"{how}: another outcome, {report.errors}"
    assert ledger["repeated"] == 0, f"{how}: {ledger['repeated']} pages were fetched twice"
    assert ledger["total"] == server.ready["urls"], f"{how}: {ledger['total']} requests"


def many(backend: Backend, server: Running, crawls: Iterable[int], rng: random.Random) -> None:
    """Crawl many times, with numbers of slots up to more than there are pages."""
    with switching():
        for _ in crawls:
            faulthandler.dump_traceback_later(DEADLOCK_S, exit=True)
            try:
                check(backend, server, rng.choice((1, 2, 3, 5, 8, 30)), rng.random() < 0.7)
            finally:
                faulthandler.cancel_dump_traceback_later()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.races", description=__doc__)
    parser.add_argument("--crawls", type=int, default=10_000, help="with threads")
    parser.add_argument("--seed", type=int, default=1, help="of slots and connection policies")
    parser.add_argument("--server-python", default=sys.executable, help="runs the fixture server")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    outcomes: dict[str, dict[str, Any]] = {}
    for name in ("threads", *OTHERS):
        try:
            backend = registry.load(name)
        except BackendError as error:
            print(error)
            continue
        crawls = options.crawls if name == "threads" else options.crawls // 10
        outcomes[name] = {"crawls": crawls, "failed": None}
        # A new server for each backend, because ports in TIME_WAIT count per server.
        with running(*SITE, python=options.server_python) as server:
            try:
                many(backend, server, track(range(crawls), name), rng)
            except AssertionError as error:
                outcomes[name]["failed"] = str(error)
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    found = {"python": platform.python_version(), "gil": gil, "switch_s": SWITCH_S}
    found |= {"seed": options.seed, "backends": outcomes}
    name = "races" if found["gil"] else "races-free-threaded"
    keep(name, found)
    return int(any(outcome["failed"] for outcome in outcomes.values()))


if __name__ == "__main__":
    raise SystemExit(main())
