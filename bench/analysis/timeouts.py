"""What a timeout for each exchange costs, in the way of each library.

The models keep no timer for an exchange: each slot has a deadline, and a sweep over the slots
compares it four times a second. That is in every page. A rung with ``timeouts`` in its name is
the same backend with its library's own way on top, measured in the same turns of the ladder. The
difference of the two is the price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis.ladder import Ladder, Step
from bench.analysis.stats import Ratio

SUFFIX: Final = "_timeouts"
SWEEP: Final = "a deadline in the slot, and a sweep four times a second"

WAYS: Final = {
    "threads": "socket.settimeout",
    "callbacks": SWEEP,
    "generators": SWEEP,
    "async_await": "asyncio.timeout",
    "gevent": "gevent.Timeout",
    "uvloop": "asyncio.timeout",
    "trio": "trio.move_on_after",
    "aiohttp": "aiohttp.ClientTimeout",
}
"""How a program of this kind would limit an exchange; ``trio.fail_after`` raises in addition."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """One backend and its way; the price is None where it has no rung of its own here.

    ``plain_us`` is its processor time per page without, ``ratio`` with the way over without.
    """

    backend: str
    way: str
    rung: str | None
    plain_us: float | None
    ratio: Ratio | None

    @property
    def added_us(self) -> float | None:
        """Microseconds of processor time that the way adds to a page."""
        return self._added(self.ratio.value if self.ratio else None)

    @property
    def interval_us(self) -> tuple[float, float] | None:
        """The interval of the ratio, in microseconds added; None without one."""
        low = self._added(self.ratio.low if self.ratio else None)
        high = self._added(self.ratio.high if self.ratio else None)
        return None if low is None or high is None else (low, high)

    def _added(self, ratio: float | None) -> float | None:
        return None if ratio is None or self.plain_us is None else self.plain_us * (ratio - 1)


def timeouts(ladder: Ladder | None) -> list[Timeout]:
    """Every way that has a name, those with a price first; empty where none was measured."""
    steps = {step.rung.name: step for step in ladder.steps} if ladder else {}
    found = [_timeout(backend, way, steps) for backend, way in WAYS.items() if backend in steps]
    if not any(row.added_us is not None for row in found):
        return []
    return sorted(found, key=lambda row: row.added_us is None)


def priced(rows: Sequence[Timeout]) -> list[Timeout]:
    """The ways with a price, the most expensive first."""
    known = [row for row in rows if row.added_us is not None]
    return sorted(known, key=lambda row: -(row.added_us or 0.0))


def _timeout(backend: str, way: str, steps: dict[str, Step]) -> Timeout:
    plain, rung = steps[backend].cpu, steps.get(backend + SUFFIX)
    ratio = rung.cpu_ratio if rung and rung.rung.against == backend else None
    return Timeout(
        backend=backend,
        way=way,
        rung=rung.rung.name if rung else None,
        # Milliseconds per 1000 pages are microseconds per page.
        plain_us=plain.median if plain else None,
        ratio=ratio,
    )
