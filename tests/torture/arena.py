"""Lanes: backends that crawl side by side, each with its own fixture server."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from crawlers import registry
from tests.server.fixture_server import Running, running
from tests.torture.cases import Case
from tests.torture.oracle import Outcome, expected

HANG_S = 400.0
"""A crawl that takes longer hangs: three tries may take 100 s each."""


class Lane:
    """A backend in a worker process, and its server."""

    def __init__(self, name: str, server: Running, worker: subprocess.Popen[str]) -> None:
        self.name = name
        self._server = server
        self._worker = worker
        self.hello = server.ready

    def begin(self, case: Case) -> None:
        self._server.call("/faults", {"pages": [asdict(page) for page in case.pages]})
        assert self._worker.stdin is not None
        self._worker.stdin.write(json.dumps(case.job(self.hello)) + "\n")
        self._worker.stdin.flush()

    def outcome(self) -> dict[str, Any]:
        """The outcome of the crawl. Exits the program if the crawl does not end.

        An error would not do: Hypothesis would go on to shrink the site with a stuck lane.
        """
        assert self._worker.stdout is not None
        readable, _, _ = select.select([self._worker.stdout], [], [], HANG_S)
        line = self._worker.stdout.readline() if readable else ""
        if not line:
            sys.exit(f"{self.name} {'died' if readable else 'hangs'}")
        found: dict[str, Any] = json.loads(line)
        return found

    def expected(self, case: Case) -> Outcome:
        return expected(case, self.hello, registry.about(self.name).cannot_see)

    def check(self, case: Case) -> list[str]:
        """Compare a crawl that was begun with what the graph implies: the differences."""
        found, wanted = self.outcome(), self.expected(case)
        prefix = f"{self.hello['scheme']}://{self.hello['listening']}"
        reported = wanted.as_reported(prefix)
        wrong = [
            f"{self.name}: {url}: {found['rows'].get(url)} instead of {reported['rows'].get(url)}"
            for url in sorted(found["rows"].keys() | reported["rows"].keys())
            if found["rows"].get(url) != reported["rows"].get(url)
        ]
        wrong += [
            f"{self.name}: {name}: {found[name]} instead of {value}"
            for name, value in reported.items()
            if name != "rows" and found[name] != value
        ]
        seen = self._server.ledger()["requests"]
        for path in sorted(seen.keys() | wanted.requests.keys()):
            least, most = wanted.requests.get(path, (0, 0))
            if not least <= seen.get(path, 0) <= most:
                wrong.append(
                    f"{self.name}: {path}: {seen.get(path, 0)} requests, not {least} to {most}"
                )
        return wrong


@contextmanager
def arena(names: Sequence[str], tls: bool = False) -> Iterator[list[Lane]]:
    """Open a lane for each backend, until the end of the ``with``."""
    encrypted = ["--tls", "ecdsa"] if tls else []
    with ExitStack() as stack:
        lanes = []
        for name in names:
            server = stack.enter_context(running("--site", "faults:1", *encrypted))
            worker = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.torture.worker", name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(worker.kill)
            lanes.append(Lane(name, server, worker))
        yield lanes


def differences(lanes: Sequence[Lane], case: Case) -> list[str]:
    """Crawl one case in all lanes at once; the differences from the oracle, one a line."""
    for lane in lanes:
        lane.begin(case)
    return [line for lane in lanes for line in lane.check(case)]
