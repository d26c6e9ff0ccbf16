"""What queueing theory says about a loop: pages wait in one queue for one processor.

A page that is due while a loop works on another one waits, whatever it needs itself. That is
a queue with Poisson arrivals, service times of any kind and one server, M/G/1. The mean
wait is known (Pollaczek and Khinchine)::

    wait = rate * E[S²] / (2 * (1 - rate * E[S]))

where S is what a page needs of the processor. The formula is about the long run. A trial
has one schedule and few pages with work, so :func:`waits` follows the same queue along that
very schedule (Lindley): what every page would have waited, with nothing left to chance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def mean_wait_s(rate: float, services: Sequence[tuple[float, float]]) -> float | None:
    """The mean wait in the long run; None if the queue would grow for ever.

    ``services`` has pairs of a share of the pages and the seconds that each of these needs.
    """
    mean = sum(share * seconds for share, seconds in services)
    square = sum(share * seconds**2 for share, seconds in services)
    busy = rate * mean
    return rate * square / (2 * (1 - busy)) if busy < 1 else None


def waits(
    due: Sequence[float], worked: Collection[int], page_s: float, work_s: float
) -> list[float]:
    """What each request waits in a queue that is served in its order, in seconds.

    ``worked`` are the places of the pages that need ``work_s`` besides ``page_s``.
    """
    free, found = 0.0, []
    for place, at in enumerate(due):
        begins = max(at, free)
        found.append(begins - at)
        free = begins + page_s + (work_s if place in worked else 0.0)
    return found
