"""How does a crawler get to ten thousand connections, and back?

The largest number of connections of ``c10k``, watched over time: they are opened at one pace for
all, the server answers once all are open, and the crawl ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.stats import Spread
from bench.questions.question import Answer, Headline, of_models
from bench.schema import Ramp, TrialRecord
from bench.show.figures import Axis, Figure, Lines, Plot, Point, Unit
from bench.show.measured import Measure, Measured, by_label
from bench.show.words import of_blocks
from bench.text import KIB, MIB, count, duration, number, size_words

NAME: Final = "ramp"
ASKS: Final = "How does a crawler get to ten thousand connections, and back?"
OPENED, OWN = "opened", "own"


def _size(mib: float) -> str:
    return size_words(mib * MIB)


def _seconds(value: float) -> str:
    return duration(1000 * value)


MEASURES: Final = {
    OPENED: Measure("open after", "until all connections are open", Unit("s", _seconds, number)),
    OWN: Measure("with", "… user memory and stacks then", Unit("MiB", _size, number)),
}
PROSE: Final = (
    "User memory, page tables and kernel stacks of the process when the server begins to answer, "
    "with every connection idle. To measure it: `python -m bench run --only c10k`."
)


def answer(analysis: Analysis) -> Answer | None:
    watched: dict[str, dict[float, list[TrialRecord]]] = {
        label: {n: with_ramp for n, mine in sizes.items() if (with_ramp := _watched(mine))}
        for label, sizes in analysis.by_size("c10k", "connections").items()
        if label in analysis.main
    }
    top = max((n for sizes in watched.values() for n in sizes), default=0.0)
    trials = {label: sizes[top] for label, sizes in watched.items() if top in sizes}
    if not trials:
        return None
    found = _measured(trials)
    head = of_models(found, OWN, f"A process with {count(top)} connections uses")
    return Answer(found, head, PROSE, figures=[_figure(trials, top, head)])


def _watched(trials: Iterable[TrialRecord]) -> list[TrialRecord]:
    return [t for t in trials if t.ramp is not None and t.ramp.opened_ms is not None]


def _measured(trials: dict[str, list[TrialRecord]]) -> Measured:
    every = [trial for mine in trials.values() for trial in mine]
    return Measured(MEASURES, by_label(every, trials, {OPENED: _opened, OWN: _own}))


def _opened(trial: TrialRecord) -> float | None:
    return (trial.ramp.opened_ms or 0) / 1000 if trial.ramp else None


def _own(trial: TrialRecord) -> float | None:
    own = at_barrier(trial.ramp) if trial.ramp else None
    return None if own is None else own / MIB


def own_bytes(ramp: Ramp) -> list[float | None]:
    """The crawler's own memory over time."""
    return [None if kib is None else kib * KIB for kib in ramp.own_kib]


def at_barrier(ramp: Ramp) -> float | None:
    """The crawler's own memory when the barrier opened."""
    before = [
        own
        for at, own in zip(ramp.at_ms, own_bytes(ramp), strict=True)
        if own is not None and (ramp.opened_ms is None or at <= ramp.opened_ms)
    ]
    return before[-1] if before else None


def typical(trials: Sequence[TrialRecord]) -> Ramp:
    """The ramp of the trial whose barrier opened at the median time; the one drawn."""
    ramps = [trial.ramp for trial in trials if trial.ramp is not None]
    ramps.sort(key=lambda ramp: ramp.opened_ms or 0)
    return ramps[(len(ramps) - 1) // 2]


def _figure(
    trials: dict[str, list[TrialRecord]],
    top: float,
    head: Headline | None,
) -> Figure:
    blocks = [len({trial.block for trial in mine}) for mine in trials.values()]
    everyone = [trial for mine in trials.values() for trial in mine]
    pace = {trial.params.get("ramp_per_s") for trial in everyone}
    paced = f" at {count(float(pace.pop() or 0))} a second" if len(pace) == 1 and all(pace) else ""
    drawn = {label: typical(mine) for label, mine in trials.items()}
    seconds = Axis("seconds since the crawl began")
    plots = [
        Plot(
            {label: _line(ramp, ramp.connections) for label, ramp in drawn.items()},
            seconds,
            Axis("", words=count),
            "open connections, counted by the server",
            marks={x: _mark(ramp, max(ramp.connections)) for x, ramp in drawn.items()},
        ),
        Plot(
            {
                label: line
                for label, ramp in drawn.items()
                if (line := _line(ramp, own_bytes(ramp)))
            },
            seconds,
            Axis("", "memory"),
            "the crawler’s user memory, page tables and kernel stacks",
            marks={x: _mark(ramp, own) for x, ramp in drawn.items() if (own := at_barrier(ramp))},
        ),
    ]
    return Figure(
        name=NAME,
        title="The ramp: connections and memory against time",
        headline=head.text if head else None,
        subtitle=f"Connections are opened{paced}; the server answers once all {count(top)} are "
        "open; markers: it starts to answer",
        data=Lines([plot for plot in plots if plot.lines]),
        notes=(
            f"Each line is one of {of_blocks(blocks)}: the one that had all connections open at "
            "the median time."
            if max(blocks) > 1
            else f"Each line is {of_blocks(blocks)}.",
            *_interval(everyone),
        ),
    )


def _line(ramp: Ramp, values: Sequence[float | None]) -> list[Point]:
    pairs = zip(ramp.at_ms, values, strict=True)
    return [_point(at, value) for at, value in pairs if value is not None]


def _mark(ramp: Ramp, value: float) -> Point:
    return _point(ramp.opened_ms or 0, value)


def _point(at_ms: float, y: float) -> Point:
    return Point(at_ms / 1000, Spread(y, y, y, 1))


def _interval(trials: Iterable[TrialRecord]) -> list[str]:
    """That threads wait longer for the lock than Python has them, which changes the times."""
    found = {trial.params.get("switch_interval_s") for trial in trials} - {None}
    if not found:
        return []
    longest = max(float(value or 0) for value in found)
    return [
        f"Switch interval {longest:g} s for every backend (Python’s own is 5 ms): with threads it "
        "changes the times, and hardly the memory."
    ]
