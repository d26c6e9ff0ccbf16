"""What the record says of each kind: the slope of its memory, and medians of its times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import Spread
from bench.micro.waiting.kinds import KINDS, Kind
from bench.micro.waiting.record import Held, TasksRecord

PARTS: Final = {
    "user_bytes": "user",
    "page_table_bytes": "page tables",
    "kernel_stack_bytes": "kernel stacks",
    "kernel_other_bytes": "other kernel",
}
FEWEST: Final = 2
"""Numbers of tasks for a slope."""


@dataclass(frozen=True, slots=True)
class Line:
    """One kind. ``parts`` and ``total`` are bytes for one more task; times are in microseconds.

    ``at`` is the number of tasks at which spawning and cancelling was timed.
    """

    kind: Kind
    parts: dict[str, float]
    total: float | None
    interval: tuple[float, float] | None
    highest: int
    at: int
    spawn: Spread | None
    cancel: Spread | None
    switch: Spread | None
    instructions: float | None

    @property
    def user(self) -> float | None:
        """User memory alone."""
        return self.parts.get("user")


def lines(record: TasksRecord) -> list[Line]:
    """Every kind that was measured, in the order of the table of kinds."""
    return [
        _line(KINDS[name], record)
        for name, found in record.kinds.items()
        if name in KINDS and (found.held or found.switches_s)
    ]


def _line(kind: Kind, record: TasksRecord) -> Line:
    mine = record.kinds[kind.name]
    slopes = {title: slope[0] for name, title in PARTS.items() if (slope := fit(mine.held, [name]))}
    known = [name for name, title in PARTS.items() if title in slopes]
    whole = fit(mine.held, known) if slopes else None
    at = reference(mine.held, kind)
    return Line(
        kind=kind,
        parts=slopes,
        total=whole[0] if whole else None,
        interval=whole[1:] if whole else None,
        highest=max((each.count for each in mine.held), default=0),
        at=max((each.count for each in at), default=0),
        spawn=stats.spread(1e6 * each.spawn_s for each in at),
        cancel=stats.spread(1e6 * each.cancel_s for each in at),
        switch=stats.spread(1e6 * each for each in mine.switches_s),
        instructions=mine.instructions,
    )


def fit(held: Sequence[Held], names: Sequence[str]) -> tuple[float, float, float] | None:
    """The slope of these parts together and its interval; None where one was not read."""
    points = [
        (each.count, sum(found))
        for each in held
        if len(found := [v for name in names if (v := getattr(each, name)) is not None])
        == len(names)
    ]
    if len({count for count, _ in points}) < FEWEST:
        return None
    slope, _, low, high = stats.theil_sen([x for x, _ in points], [y for _, y in points])
    return slope, low, high


def reference(held: Sequence[Held], kind: Kind) -> list[Held]:
    """The runs at which times are read: of one number of tasks, the same for all but threads."""
    counts = {each.count for each in held}
    at = kind.reference if kind.reference in counts else max(counts, default=0)
    return [each for each in held if each.count == at]
