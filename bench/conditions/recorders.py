"""What a crawl's recorder keeps: nothing, which slot was served when, or context switches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from bench.conditions import Condition, Fields
from bench.schema import Fairness, Switches, Windows
from bench.sides.protocol import Command, Result
from bench.sides.sides import Sides

if TYPE_CHECKING:  # a list of what to measure needs no numpy, here and below
    import numpy as np
    import numpy.typing as npt

QUANTILES: Final = (0.0, 0.05, 0.5, 0.95, 1.0)


@dataclass(frozen=True, kw_only=True)
class Recording(Condition):
    keeps: Literal["slots", "windows", "null"]

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, recorder=self.keeps)


NULL = Recording(keeps="null", name="null", own={"recorder": "null"}, counted=False)
"""A recorder that keeps nothing: so what the recorder costs is a difference within a block."""


class Slots(Recording):
    """Which slot finished when: whether a model starves any."""

    def seen(self, sides: Sides, result: Result) -> Fields:
        import numpy as np

        slots = np.fromfile(sides.out.with_suffix(".slots"), "l", result.kept["slots"])
        return {"fairness": fairness(slots, sides.seconds("ended"), sides.slots)}


class Switching(Recording):
    """Context switches and processor time along the crawl, in windows of some hundred exchanges."""

    def seen(self, sides: Sides, result: Result) -> Fields:
        import numpy as np

        rows = sides.seconds("windows").reshape(-1, 4)
        exchanges, cpu_s, voluntary, involuntary = np.diff(rows, axis=0).T
        windows = Windows(
            exchanges=exchanges.astype(int).tolist(),
            cpu_us=np.rint(1e6 * cpu_s).astype(int).tolist(),
            voluntary=voluntary.astype(int).tolist(),
            involuntary=involuntary.astype(int).tolist(),
        )
        counts = {"voluntary": result.voluntary, "involuntary": result.involuntary}
        return {"switches": Switches(**counts, windows=windows)}


SLOTS = Slots(keeps="slots", own={"recorder": "slots"})
WINDOWS = Switching(keeps="windows", own={"recorder": "windows"})


def fairness(
    slots: npt.NDArray[np.int64], ended_s: npt.NDArray[np.float64], count: int
) -> Fairness | None:
    """How evenly ``count`` slots were served; None if there was not enough work for all.

    In a closed loop every slot sends its next request as soon as it has an answer, so all slots
    should complete about the same number of exchanges. A model that keeps resuming some slots
    before others starves the others: they complete fewer exchanges, with longer gaps in between.

    ``slots`` and ``ended_s`` hold the slot and the time of each completion, in
    seconds since the crawl began. The last ``count`` exchanges do not count:
    by then some slots have nothing left to do, which is not unfair.
    """
    import numpy as np

    if len(ended_s) <= count:
        return None
    order = np.argsort(ended_s, kind="stable")
    slots, ended_s = slots[order], ended_s[order]
    until = float(ended_s[-count - 1])
    kept = ended_s <= until
    slots, ended_s = slots[kept], ended_s[kept]
    done = np.bincount(slots, minlength=count)
    of_each = (ended_s[slots == slot] for slot in range(count))
    gaps = [float(np.diff(ended, prepend=0.0, append=until).max()) for ended in of_each]
    return Fairness(
        slots=count,
        until_s=round(until, 6),
        quantiles=list(QUANTILES),
        completions=np.quantile(done, QUANTILES).tolist(),
        silent=int((done == 0).sum()),
        longest_gap_s=np.quantile(gaps, QUANTILES).tolist(),
        jain=float(done.sum() ** 2 / (count * (done**2).sum())),
    )
