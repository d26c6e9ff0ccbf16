"""What a page's processor time is made of: sockets, shared parts, and the model.

The controls of a campaign (:mod:`bench.controls`) took turns with the backends, in the
same blocks. So a backend's time per exchange splits into the time of ``bare`` (sockets
alone), the time of ``shared`` (frontier, exchange and links, from memory), and what is
left. The rest is the model: how the program waits and switches, and colder caches than
either control has. A whole HTTP stack has no shared parts, so all of its time beyond the
sockets is its own.

A backend whose server slept is not split: waking the server is part of its sends, and of
no control's.

``bare`` only fetches lists. A crawl of pages of the same size sends the same requests, so
its sockets are those of the list with the same number of slots, where both were measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from bench.analysis import stats
from bench.analysis.ladder import STACK
from bench.analysis.stats import Spread
from bench.schema import TrialRecord
from bench.store import Records

BARE, SHARED = "bare", "shared"

Blocks = Mapping[int, float]
"""Block -> microseconds of processor time per exchange."""


@dataclass(frozen=True, slots=True)
class Segments:
    """One backend at one point. All times are microseconds per exchange, medians over blocks.

    ``rest`` is the model, or all of a stack. It can be below 0 by noise: the parts were
    measured apart.
    """

    point: str
    workload: str
    label: str
    total: Spread
    sockets: float
    shared: float | None  # None for a stack, which has its own parts
    rest: Spread

    @property
    def over_sockets(self) -> float:
        """The total as a multiple of the sockets alone."""
        return self.total.median / self.sockets


def segments(records: Records) -> list[Segments]:
    """Every backend at every point where both controls can be had, in the campaign's order."""
    controls: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    polled: dict[str, bool | None] = {}
    for trial in records.controls:
        value = per_exchange(trial)
        if trial.status == "ok" and value is not None:
            polled[trial.point] = stats.polled(trial)
            controls[trial.point, trial.label][trial.block] = value
    families = {rung.name: rung.family for rung in records.campaign.rungs}
    measured: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    workloads: dict[str, str] = {}
    for trial in stats.trials_of(records, twins=False):
        value = per_exchange(trial)
        if value is not None and polled.get(trial.point) == stats.polled(trial):
            measured[trial.point, trial.label][trial.block] = value
            workloads[trial.point] = trial.workload
    found = []
    for point in stats.points_of(records):
        shared = controls.get((point, SHARED))
        fetched = f"fetch-{point.rpartition('-')[2]}"
        bare = controls.get((point, BARE)) or controls.get((fetched, BARE))
        if not shared or not bare:
            continue
        for label in stats.labels_of(records):
            if (point, label) in measured:
                stack = families.get(label) == STACK
                blocks = measured[point, label]
                row = _row(point, workloads[point], label, blocks, bare, None if stack else shared)
                found += [row] if row else []
    return found


def per_exchange(trial: TrialRecord) -> float | None:
    """Microseconds of processor time per exchange in the counted turns; None without any."""
    turns = trial.turns
    return 1e6 * turns.cpu_s / turns.exchanges if turns and turns.exchanges else None


def _row(
    point: str, workload: str, label: str, blocks: Blocks, bare: Blocks, shared: Blocks | None
) -> Segments | None:
    """Split one backend's blocks; the parts come from the same blocks where they can."""
    sockets, common = stats.spread(bare.values()), stats.spread((shared or {}).values())
    if sockets is None or (shared is not None and common is None):
        return None
    apart = common.median if common else 0.0
    rest = stats.spread(
        value - bare.get(block, sockets.median) - (shared or {}).get(block, apart)
        for block, value in blocks.items()
    )
    total = stats.spread(blocks.values())
    if rest is None or total is None:
        return None
    return Segments(
        point, workload, label, total, sockets.median, common.median if common else None, rest
    )
