"""The sites that are crawled, being served: of N and of 2 N pages for each workload."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final, Self

from bench.plan import workloads
from bench.plan.cast import Cast
from bench.plan.workloads import SITE_SEED, WARMUP_SITE, Point
from bench.run.servers import Server

OPENED: Final = "churn"
"""The list of ``fetch`` with a connection for each page."""


def opened(slots: int, urls: int, cast: Cast) -> Point:
    """Each page on a connection of its own, on plain HTTP."""
    return replace(workloads.fetch(slots, urls, cast), workload=OPENED, modes=(OPENED,))


WORKLOADS: dict[str, Callable[[int, int, Cast], Point]] = {
    "fetch": workloads.fetch,
    "crawl": workloads.throughput,
    OPENED: opened,
}
"""What is crawled, by the names of DESIGN and of the charts."""


@dataclass(frozen=True, slots=True)
class Site:
    """A point and its server."""

    point: Point
    server: Server


@dataclass(slots=True)
class Sites:
    """Servers that are started when they are first needed, and run until the end.

    Each lane has its own: the ledger of a server is of one crawl.
    """

    slots: int
    _running: dict[tuple[str, int], Site] = field(default_factory=dict)
    _warmup: Server | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def warmup(self) -> Server:
        """The server of the warm-up. Raises :class:`bench.run.servers.ServerError`."""
        if self._warmup is None:
            self._warmup = self._serve(WARMUP_SITE)
        return self._warmup

    def pair(self, workload: str, pages: int) -> tuple[Site, Site]:
        """A workload with so many pages, and with twice as many. Raises as ``warmup`` does."""
        return self._site(workload, pages), self._site(workload, 2 * pages)

    def _site(self, workload: str, pages: int) -> Site:
        if (workload, pages) not in self._running:
            point = WORKLOADS[workload](self.slots, pages, Cast(1))
            self._running[workload, pages] = Site(point, self._serve(point.site))
        return self._running[workload, pages]

    def _serve(self, site: str) -> Server:
        return self._stack.enter_context(Server(site, seed=SITE_SEED, cores=[]))
