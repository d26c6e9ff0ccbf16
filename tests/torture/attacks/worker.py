"""Crawls with one backend in a process of its own, and counts what each crawl leaves behind."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from bench.launch import ROOT
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from tests.torture import resources
from tests.torture.leaks import no_warnings

HANG_S: Final = 300.0
"""A crawl that takes longer hangs."""


def crawl(
    backend: registry.Backend, settings: dict[str, Any], *, counted: bool = True
) -> dict[str, Any]:
    """Crawl once: every row, the time and, if ``counted``, what is left behind."""
    before = resources.count()
    began = time.monotonic()
    with no_warnings():
        report = backend.crawl(Job(**settings | {"urls": tuple(settings["urls"])}), NullRecorder())
    took = time.monotonic() - began
    return {
        "rows": {
            url: [row.status, row.error, row.redirect, row.checksum, row.size]
            for url, row in report.rows.items()
        },
        "stopped": report.stopped,
        "took_s": took,
        "left": dict(resources.left(before)) if counted else {},
    }


def serve(name: str) -> None:
    """Crawl a job for each line of input, until the input ends."""
    backend = registry.load(name)
    for line in sys.stdin:
        settings = json.loads(line)
        if settings.pop("warm", False):
            # Libraries open what they keep for the life of the process.
            backend.crawl(Job(tuple(settings["urls"])), NullRecorder())
            print("{}", flush=True)
        else:
            print(json.dumps(crawl(backend, settings)), flush=True)


class Worker:
    """The process of a backend."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self._process = process

    def __call__(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Crawl; raises RuntimeError for a crawl that hangs or ends the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(settings) + "\n")
        self._process.stdin.flush()
        readable, _, _ = select.select([self._process.stdout], [], [], HANG_S)
        line = self._process.stdout.readline() if readable else ""
        if not line:
            raise RuntimeError(f"{self.name} {'ended' if readable else 'hangs'}")
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def working(name: str) -> Iterator[Worker]:
    """A backend in a process of its own, until the end of the ``with``."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__, name],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Worker(name, process)
        finally:
            process.kill()


if __name__ == "__main__":
    serve(sys.argv[1])
