"""How evenly the slots of a crawl were served.

In a closed loop every slot sends its next request as soon as it has an answer,
so all slots should complete about the same number of exchanges. A model that
keeps resuming some slots before others starves the others: they complete
fewer exchanges, with longer gaps in between.
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
    """How evenly ``count`` slots were served; None if there was not enough work for all.

    ``slots`` and ``ended_s`` hold the slot and the time of each completion, in
    seconds since the crawl began. The last ``count`` exchanges do not count:
    by then some slots have nothing left to do, which is not unfair.
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
    every_slot = np.arange(count)
    slot = np.concatenate([every_slot, slots, every_slot])
    when = np.concatenate([np.zeros(count), ended_s, np.full(count, until)])
    order = np.lexsort((when, slot))
    slot, when = slot[order], when[order]
    same = slot[1:] == slot[:-1]
    longest = np.zeros(count)
    np.maximum.at(longest, slot[1:][same], np.diff(when)[same])
    return longest
