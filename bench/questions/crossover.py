"""From how many slots on do threads fall behind?

Threads, with Python's switch interval and with a long one, are compared with async_await in the
same blocks, by pages per second: at the points of ``crossover`` and of the workloads that cover
other cells, ``throughput`` without delay, ``waiting`` and ``regime`` behind one. Threads fall
behind where the interval of their pages per second over those of async_await excludes 1 from
below, there and at all more slots that were measured. Ten thousand slots behind a second are said
beside that: a crawl that does not end there before its deadline is an answer, not a missing value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from operator import attrgetter, itemgetter
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison
from bench.plan.participants import SWITCHING
from bench.questions.question import Answer, Headline, intervals
from bench.schema import TrialRecord
from bench.show.figures import Axis, Figure, Line, Lines, Plot, line
from bench.show.words import of_blocks
from bench.text import count, duration_tick, listing, plural

NAME: Final = "crossover"
ASKS: Final = "From how many slots on do threads fall behind?"
WORKLOADS: Final = ("throughput", "waiting", "regime", NAME)
RATE: Final = replace(stats.PAGES_PER_S, workloads=WORKLOADS)
AGAINST: Final = "async_await"
DEFAULT: Final = SWITCHING[0]
TEN_THOUSAND: Final = f"{NAME}-10000x1000ms"

PROSE: Final = (
    "Cause: every thread that is ready competes for one lock, and on several processors each "
    "hand-over wakes a thread on another one. "
    "To measure it: `python -m bench run --profile reference --only "
    "throughput,waiting,regime,crossover`."
)


def delay_ms(trial: TrialRecord) -> float:
    """The delay in milliseconds; the median where it is random."""
    _, _, numbers = str(trial.params.get("delay") or "none").partition(":")
    return float(numbers.partition(":")[0] or 0)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a kind of threads falls below async_await behind one delay."""

    label: str
    delay_ms: float
    cells: Sequence[tuple[int, Comparison]]  # pages per second against async_await, by slots
    most: int  # the most slots that were judged; 0: none were
    below: int | None  # the fewest slots from which on it always is slower
    above: int | None  # the most slots at which it is not shown to be slower

    @classmethod
    def of(cls, label: str, delay: float, cells: Sequence[tuple[int, Comparison]]) -> Crossing:
        judged = [(slots, c) for slots, c in cells if c.ratio.low is not None]
        # From the right: all slots at which it is slower, up to the first at which it is not.
        behind = [n for n, _ in takewhile(lambda cell: slower(cell[1]), reversed(judged))]
        fine = [n for n, _ in judged[: len(judged) - len(behind)]]
        below, above = (sizes[-1] if sizes else None for sizes in (behind, fine))
        return cls(label, delay, cells, judged[-1][0] if judged else 0, below, above)


def crossings(analysis: Analysis) -> list[Crossing]:
    """By delay and kind of threads; none without a point of ``crossover``."""
    records = analysis.records
    if not stats.trials_of(records, NAME):
        return []
    sample = {t.point: t for t in stats.trials_of(records, *WORKLOADS, twins=False)}
    points = stats.points_of(records, *WORKLOADS)
    pairs = [(point, AGAINST, name) for point in points for name in SWITCHING]
    cells: dict[tuple[float, int], list[tuple[int, Comparison]]] = defaultdict(list)
    for compared in stats.compare_pairs(records, pairs, RATE):
        trial = sample[compared.point]
        slots = int(stats.number_param(trial, "slots") or 0)
        cells[delay_ms(trial), SWITCHING.index(compared.label)].append((slots, compared))
    return [
        Crossing.of(SWITCHING[place], delay, sorted(by_slots, key=itemgetter(0)))
        for (delay, place), by_slots in sorted(cells.items(), key=itemgetter(0))
    ]


def slower(compared: Comparison) -> bool:
    return compared.ratio.verdict == RATE.less


def behind(delay: float) -> str:
    """``without delay``, ``with a delay of 10 ms``."""
    return f"with a delay of {duration_tick(delay)}" if delay else "without delay"


def from_where(crossing: Crossing) -> str:
    """From where on one label is slower, as ``from 1,000 slots on (not at 100)``."""
    text = f"from {count(crossing.below or crossing.most)} slots on"
    if crossing.above is None:
        return f"{text}, the fewest that were measured"
    return f"{text} (not at {count(crossing.above)})"


def answer(analysis: Analysis) -> Answer | None:
    """Where threads cross behind each delay, and the cause; the chart has the long interval too."""
    found = crossings(analysis)
    if not any(c.ratio.blocks for each in found if each.label == DEFAULT for _, c in each.cells):
        return None
    usual = [each for each in found if each.label == DEFAULT and each.most]
    text = []
    if places := [f"{behind(c.delay_ms)} {from_where(c)}" for c in usual if c.below]:
        text.append(f"Shown {'; '.join(places)}.")
    if level := [each for each in usual if not each.below]:
        where = listing([behind(each.delay_ms) for each in level])
        most = listing([count(n) for n in sorted({each.most for each in level})])
        text.append(f"Not shown {where}, with up to {most} slots.")
    head = _headline(found, usual)
    prose = " ".join([*text, *_ten_thousand(analysis), PROSE])
    return Answer(head, prose, figures=[_figure(found, head)])


def _headline(crossings: Sequence[Crossing], usual: Sequence[Crossing]) -> Headline:
    """From how many slots on, with the shortest delay; all other numbers are in the prose."""
    compared = [c for crossing in crossings if crossing.label == DEFAULT for _, c in crossing.cells]
    blocks = plural(max((c.ratio.blocks for c in compared), default=0), "block")
    if not usual:
        few = f"{blocks}, and an interval needs {stats.MIN_BLOCKS}"
        return Headline("Too few blocks to say from how many slots on threads fall behind", few)
    below = [(crossing.below, crossing.delay_ms) for crossing in usual if crossing.below]
    if not below:
        most, delay = max((crossing.most, crossing.delay_ms) for crossing in usual)
        where = f"At {count(most)} slots {behind(delay)}"
        return Headline(f"{where}, threads are not shown to fall behind", blocks)
    fewest, shortest = min(below)
    # Then the sentence does not say where it begins.
    from_fewest = any(c.delay_ms == shortest and c.above is None for c in usual)
    return Headline(
        f"From {count(fewest)} slots on {behind(shortest)}, threads fetch fewer pages/s "
        "than async/await",
        f"{stats.AT_LEVEL} intervals of {blocks}{'; fewer were not compared' * from_fewest}",
        [c for c in compared if slower(c)],
    )


def _ten_thousand(analysis: Analysis) -> list[str]:
    """What each model fetches with 10,000 slots, and how many of its crawls ended in time."""
    ended: dict[str, list[bool]] = defaultdict(list)
    rates: dict[str, list[float]] = defaultdict(list)
    for trial in stats.trials_of(analysis.records, status=None):
        if trial.point == TEN_THOUSAND and trial.status in ("ok", "failed"):
            ended[trial.label].append(trial.status == "ok")
            rates[trial.label] += [trial.pages_per_s] if trial.pages_per_s else []
    if not ended:
        return []
    rates_of = [
        f"`{label}` {count(rate)} ({sum(ends)} of {plural(len(ends), 'trial')})"
        if (rate := stats.middle(rates[label]))
        else f"`{label}` end no crawl in 60 s ({plural(len(ends), 'trial')})"
        for label in analysis.labels
        if (ends := ended[label])
    ]
    most = "10,000 slots behind a delay of 1 s can fetch 10,000 pages/s at most"
    return [f"{most}. Pages/s in trials that ended: {listing(rates_of)}."]


def _figure(crossings: Sequence[Crossing], head: Headline) -> Figure:
    plots = [_plot([*group]) for _, group in groupby(crossings, key=attrgetter("delay_ms"))]
    # One number of slots is no line, unless there is nothing else.
    plots = [p for p in plots if any(len(line) > 1 for line in p.lines.values())] or plots
    ratios = [c.ratio for crossing in crossings for _, c in crossing.cells]
    return Figure(
        name=NAME,
        title="Where threads stop being fine, by slots and delay",
        headline=head.text,
        subtitle="Pages per second over those of async_await in the same blocks, by slots, for "
        "each delay of the server; "
        + of_blocks(ratio.blocks for ratio in ratios)
        + intervals(ratios, "; bars"),
        data=Lines(plots, columns=len(plots)),
        notes=(
            "Shaded: threads fall behind async_await between the most slots without a clear "
            "difference and the fewest with one.",
        )
        * any(plot.shade for plot in plots),
    )


def _plot(crossings: Sequence[Crossing]) -> Plot:
    """Both kinds of threads behind one delay."""
    lines: dict[str, Line] = {}
    shade = None
    for crossing in crossings:
        if points := line((slots, c.ratio.spread) for slots, c in crossing.cells):
            lines[crossing.label] = points
        if crossing.label == DEFAULT and crossing.below:
            shade = crossing.above, crossing.below
    delay = crossings[0].delay_ms
    title = duration_tick(delay) if delay else "no delay"
    x, y = Axis("slots", "counts"), Axis("pages/s ÷ async_await", "ratios")
    return Plot(lines, x, y, title, shade=shade)
