"""Counts a backend's calls per page in a real crawl.

Started as ``python -m bench.micro.count``, it reads one JSON object from standard
input (``backend``, ``prefix``, ``slots``), crawls the site with a profile hook in
every thread, and prints one JSON object: ``pages``, and ``calls`` by name.

Names are ``module:qualified.name`` for functions written in Python, and the
qualified name alone (``socket.send``) for those written in C. A coroutine's or
generator's frame counts as ``… starts`` when it begins and as ``… resumes`` each time
it continues. The hook makes a crawl about ten times slower, so counts that depend on
time (how many sockets are ready at once, how often a process sleeps) are not those of a
crawl at full speed.
"""

from __future__ import annotations

import inspect
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import TimesRecorder

STARTS, RESUMES = " starts", " resumes"
SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

Key = tuple[CodeType, str, bool] | str


class Calls:
    """Counts calls in one table per thread: a shared table would lose counts."""

    def __init__(self) -> None:
        self._tables: list[Counter[Key]] = []

    def __enter__(self) -> Calls:
        threading.setprofile(self._begin)
        sys.setprofile(self._hook())
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _begin(self, frame: FrameType, event: str, arg: Any) -> None:  # noqa: ANN401
        """Handle the first event of a new thread: install a hook of its own."""
        hook = self._hook()
        sys.setprofile(hook)
        hook(frame, event, arg)

    def _hook(self) -> Callable[[FrameType, str, Any], None]:
        counts: Counter[Key] = Counter()
        self._tables.append(counts)

        def hook(frame: FrameType, event: str, arg: Any) -> None:  # noqa: ANN401
            if event == "call":
                code = frame.f_code
                continues = bool(code.co_flags & SUSPENDABLE) and resumed(frame)
                counts[code, frame.f_globals.get("__name__", "?"), continues] += 1
            elif event == "c_call":
                counts[arg.__qualname__] += 1

        return hook

    def named(self) -> Counter[str]:
        """All counts, by name."""
        found: Counter[str] = Counter()
        for table in self._tables:
            for key, count in table.items():
                found[key if isinstance(key, str) else name_of(*key)] += count
        return found


def resumed(frame: FrameType) -> bool:
    """Whether a suspendable frame continues rather than begins.

    Both execute the instruction RESUME. The low bits of its argument are 0 at the
    start of a function (see the documentation of ``dis``).
    """
    return frame.f_code.co_code[frame.f_lasti + 1] & 3 != 0


def name_of(code: CodeType, module: str, continues: bool) -> str:
    """The name for calls of a function written in Python."""
    name = f"{module}:{code.co_qualname}"
    if code.co_flags & SUSPENDABLE:
        name += RESUMES if continues else STARTS
    return name


def main() -> int:
    """Read one command, crawl, and print the counts."""
    command = json.loads(sys.stdin.readline())
    backend = registry.load(command["backend"])
    job = Job((f"{command['prefix']}/",), slots=command["slots"], timeout_s=60.0)
    with Calls() as calls:
        report = backend.crawl(job, TimesRecorder())
    print(json.dumps({"pages": report.pages, "errors": report.errors, "calls": calls.named()}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
