"""The part of a crawl with a paced start in which all its slots should be at work.

It begins when the start is over (:attr:`bench.plan.opening.Opening.settled_s`), whether a backend
has kept up with the start or not: what it has not opened by then is its own delay. It ends
with the last start of an exchange, when the list has run out of pages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.plan.opening import Opening


@dataclass(frozen=True, slots=True)
class Steady:
    """What was done in that part; ``service`` are the times of exchanges that began in it."""

    seconds: float
    exchanges: int
    service: NDArray[np.float64]
    behind_s: float  # how long after the end of the ramp the last first request began
    unused: int  # slots that made no request before the list ran out

    @property
    def rate(self) -> float:
        """Exchanges per second."""
        return self.exchanges / self.seconds


NOTHING_STEADY = "the list ran out before all slots should have been at work: too few pages"
"""Why a trial without such a part does not count."""


def steady(
    opening: Opening,
    ended: NDArray[np.float64],
    service: NDArray[np.float64],
    slots: NDArray[np.int_],
) -> Steady | None:
    """The steady part of a crawl: when its exchanges ended, how long they took, in which slots.

    Times are in seconds from the start of the crawl. None where there is no such part.
    """
    started = ended - service
    since, until = opening.settled_s, float(started.max(initial=0.0))
    counted = int(((ended >= since) & (ended <= until)).sum())
    if until <= since or not counted:
        return None
    first = np.full(opening.slots, np.inf)
    np.minimum.at(first, slots, started)
    used = first[np.isfinite(first)]
    return Steady(
        seconds=until - since,
        exchanges=counted,
        service=service[started >= since],
        behind_s=max(0.0, float(used.max()) - opening.opened_s),
        unused=opening.slots - len(used),
    )
