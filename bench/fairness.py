"""How evenly the slots of a crawl got on: from who finished when to a few numbers.

In a closed loop every slot asks again as soon as it was answered, so that all
slots should complete about as many exchanges. A model that resumes some of
them before others, again and again, starves those: their count stays behind,
and the time between two of their completions grows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench.schema import Fairness

WINDOWS = 20
QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)


def fairness(
    slots: npt.NDArray[np.int64], ended_s: npt.NDArray[np.float64], count: int
) -> Fairness | None:
    """How ``count`` slots got on; None without work for all of them.

    ``slots`` and ``ended_s`` hold the slot and the time of each completion, in
    seconds since the crawl began. What counts ends when the last but ``count``
    exchanges are done: from then on some slots find nothing left to do, and
    that is not unfair.
    """
    if len(ended_s) <= count:
        return None
    order = np.argsort(ended_s, kind="stable")
    slots, ended_s = slots[order], ended_s[order]
    until = float(ended_s[-count - 1])
    kept = ended_s <= until
    slots, ended_s = slots[kept], ended_s[kept]
    ends = np.linspace(0.0, until, WINDOWS + 1)[1:]
    window = np.minimum(np.searchsorted(ends, ended_s), WINDOWS - 1)
    done = np.zeros((WINDOWS, count))
    np.add.at(done, (window, slots), 1)
    total = done.cumsum(axis=0)
    final = total[-1]
    return Fairness(
        slots=count,
        quantiles=list(QUANTILES),
        ends_s=[round(float(end), 6) for end in ends],
        completions=[np.quantile(row, QUANTILES).tolist() for row in total],
        silent=[int(n) for n in (done == 0).sum(axis=1)],
        longest_gap_s=np.quantile(longest_gaps(slots, ended_s, count, until), QUANTILES).tolist(),
        jain=float(final.sum() ** 2 / (count * (final**2).sum())),
    )


def longest_gaps(
    slots: npt.NDArray[np.int64], ended_s: npt.NDArray[np.float64], count: int, until: float
) -> npt.NDArray[np.float64]:
    """For each slot the longest time without a completion, from the start to ``until``."""
    everyone = np.arange(count)
    who = np.concatenate([everyone, slots, everyone])
    when = np.concatenate([np.zeros(count), ended_s, np.full(count, until)])
    order = np.lexsort((when, who))
    who, when = who[order], when[order]
    same = who[1:] == who[:-1]
    longest = np.zeros(count)
    np.maximum.at(longest, who[1:][same], np.diff(when)[same])
    return longest
