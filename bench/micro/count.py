"""Counts a backend's calls per page in a real crawl.

Started as ``python -m bench.micro.count``, it reads one JSON object from standard
input (``backend``, ``prefix``, ``slots``), crawls the site with a profile hook in
every thread, and prints one JSON object: ``pages``, and ``calls`` by name.

Names are ``module:qualified.name`` for functions written in Python, and the
qualified name alone (``socket.send``) for those written in C. Each time a coroutine or
generator continues counts as a call. The hook makes a crawl about ten times slower, so counts
that depend on time (how many sockets are ready at once, how often a process sleeps) are not those
of a crawl at full speed.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import TimesRecorder


def counted(work: Callable[[], object]) -> Counter[str]:
    """Every call in every thread that ``work`` starts, by name."""
    tables: list[Counter[str]] = []

    def begin(frame: FrameType, event: str, arg: Any) -> None:  # noqa: ANN401
        # The first event of a thread. A table that threads share would lose counts.
        mine: Counter[str] = Counter()
        tables.append(mine)

        def hook(frame: FrameType, event: str, arg: Any) -> None:  # noqa: ANN401
            if event == "call":
                module = frame.f_globals.get("__name__", "?")
                mine[f"{module}:{frame.f_code.co_qualname}"] += 1
            elif event == "c_call":
                mine[arg.__qualname__] += 1

        sys.setprofile(hook)
        hook(frame, event, arg)

    threading.setprofile(begin)
    sys.setprofile(begin)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sum(tables, Counter())


def main() -> int:
    command = json.loads(sys.stdin.readline())
    backend = registry.load(command["backend"])
    job = Job((f"{command['prefix']}/",), slots=command["slots"], timeout_s=60.0)
    pages = 0

    def crawl() -> None:
        nonlocal pages
        pages = backend.crawl(job, TimesRecorder()).pages

    calls = counted(crawl)
    print(json.dumps({"pages": pages, "calls": calls}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
