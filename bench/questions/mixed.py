"""What does work on one page in ten do to the other nine?

The trials of a backend at a point are merged: each has a schedule of its own. For a loop the same
schedules give what theory predicts (:mod:`bench.analysis.loops`): a queue for the processor, and
what a loop makes of it with its timers and steps. So the measurement can be checked against
something that was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.loops import Predicted, mean, predicted, rate_of
from bench.analysis.wording import prose
from bench.plan.participants import SPREADING
from bench.plan.workloads import MIXED as ORDER
from bench.questions.question import Answer, Headline, few
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.figures import Figure, Span, Spans, SpansPanel
from bench.show.measured import MS, Blocks, Measure, Measured
from bench.show.table import MISSING, Column, Columns, name, tabled
from bench.show.words import of_blocks
from bench.text import count, duration, listing, plural, significant
from crawlers.catalogue import HANDED_OVER
from crawlers.registry import MODELS

NAME: Final = "mixed"
ASKS: Final = "What does work on one page in ten do to the other nine?"
ONE_THREAD: Final = ("callbacks", "generators", "async")
"""The families whose backends work on pages where they loop, unless they hand the work over."""

FREE: Final = 1.25
"""Work that a loop did in more than so many times its processor time was interrupted by others."""

TAILS: Final = (99.0, 90.0)
"""The percentile of the chart is the first of these with enough samples beyond it."""

USUAL_MS: Final = 10.0
"""The work that the headline is about, if it was measured: what parsing a large page takes."""

STEADY: Final = 0.1
"""Work that took more or less than it should by this share is said."""

PROSE: Final = (
    "A loop does one thing at a time, so its pages wait in one queue, and work on one delays all "
    "behind it. It also waits for a due time in whole milliseconds, because `epoll_wait` and libuv "
    "do, so a request is sent about half a millisecond late even where nothing needs work; threads "
    "sleep in microseconds. A thread that computes keeps the interpreter’s lock until another has "
    "asked for it for a switch interval (5 ms by default), and a loop beside a thread asks again "
    "for each step. Another process has a lock of its own, and the kernel takes the processor from "
    "it as soon as the loop wakes. To measure it: `python -m bench run --profile full --only "
    "mixed`."
)
ABOUT: Final = (
    "Open loop in which one page in ten needs work: response times of the others, from the due "
    "time to the last byte, all blocks merged; the range is that of the blocks’ means. The tail is "
    "p99 where ten pages lie beyond it, otherwise p90. In theory: the mean that a loop gives on "
    "the same schedules with the measured times of work, followed step by step, with timers that "
    "wait whole milliseconds; of the queue alone: with one server, first come first served, that "
    "is never late; in the long run: Pollaczek and Khinchine’s mean for the rate. All three are "
    "for loops only. Work done: until a page that needed work had it; work takes: by the clock, in "
    "the thread that did it."
)


@dataclass(frozen=True, slots=True)
class Mixed:
    """One backend at one point, all its trials together; times are response times in ms."""

    label: str
    point: str
    work_ms: float  # of a page in ``every``, alone
    every: int
    rate: float  # requests per second, on the schedule
    count: int  # pages without work
    mean_ms: float  # of those
    means: Blocks  # of the single trials
    p50_ms: float
    tail: float  # the percentile of tail_ms: see TAILS
    tail_ms: float
    worked_p50_ms: float | None  # until a page with work was worked on
    cpu_ms: float  # what that work took of a processor
    wall_ms: float  # and by the clock
    predicted: Predicted | None  # of a loop

    @property
    def undisturbed(self) -> bool:
        """Whether a loop had the processor whenever it worked; True where that cannot be seen."""
        return self.predicted is None or self.wall_ms <= FREE * self.cpu_ms

    @property
    def named(self) -> str:
        """Models as in other sentences, variants by the name that a reader can look up."""
        return prose(self.label) if self.label in MODELS else self.label


def rows(analysis: Analysis) -> list[Mixed]:
    trials = [t for t in stats.trials_of(analysis.records, NAME, twins=False) if t.work]
    found = [
        row
        for point in dict.fromkeys(t.point for t in trials)
        for label in analysis.labels
        if (row := _merged([t for t in trials if (t.point, t.label) == (point, label)]))
    ]
    return sorted(found, key=lambda row: row.work_ms)


def usual(found: Sequence[Mixed]) -> list[Mixed]:
    works = {row.work_ms for row in found}
    chosen = USUAL_MS if USUAL_MS in works else min(works, default=0.0)
    return [row for row in found if row.work_ms == chosen]


def _merged(trials: Sequence[TrialRecord]) -> Mixed | None:
    found = [(t, t.work, t.work.others) for t in trials if t.work and t.work.others]
    if not found:
        return None
    others = stats.merge_histograms(times.hdr for _, _, times in found)
    worked = stats.merge_histograms(work.worked.hdr for _, work, _ in found if work.worked)
    tail = next((p for p in TAILS if others.highest_percentile >= p), None)
    if tail is None:
        return None
    first, work, _ = found[0]
    return Mixed(
        label=first.label,
        point=first.point,
        work_ms=work.work_ms,
        every=work.every,
        rate=rate_of(first),
        count=others.count,
        mean_ms=mean((times.mean_ms, times.count) for _, _, times in found),
        means={t.block: times.mean_ms for t, _, times in found},
        p50_ms=others.at_ms(50),
        tail=tail,
        tail_ms=others.at_ms(tail),
        worked_p50_ms=worked.at_ms(50) if worked.count else None,
        cpu_ms=mean((w.cpu_ms, w.pages) for _, w, _ in found),
        wall_ms=mean((w.wall_ms, w.pages) for _, w, _ in found),
        predicted=predicted([(t, w) for t, w, _ in found], tail) if loops(first) else None,
    )


def loops(trial: TrialRecord) -> bool:
    """Whether every page of the trial was worked on in the thread of one loop."""
    hands_over = trial.backend in (*HANDED_OVER, *SPREADING)
    return trial.family in ONE_THREAD and not hands_over


def measured(found: Sequence[Mixed]) -> Measured:
    measures: dict[str, Measure] = {}
    values: dict[str, dict[str, Blocks]] = {}
    for row in found:
        beside = f"beside {duration(row.work_ms)} of work"
        measures[key(row)] = Measure(beside, f"response time {beside}, mean of a trial", MS)
        values.setdefault(row.label, {})[key(row)] = row.means
    return Measured(measures, values)


def key(row: Mixed) -> str:
    return f"mean-{row.work_ms:g}"


def answer(analysis: Analysis) -> Answer | None:
    found = analysis.once(rows)
    if not found:
        return None
    mine = sorted(usual(found), key=lambda row: row.mean_ms)
    head = headline(mine, measured(found))
    first = mine[0]
    each = [
        f"`{row.label}` {duration(row.mean_ms)} ({duration(row.p50_ms)}, {duration(row.tail_ms)})"
        for row in mine
    ]
    said = (
        f"One page in {first.every} needs the work. Response time of the others at "
        f"{count(first.rate)} requests/s on a schedule, mean (median, {first.tail:g}th "
        f"percentile): {', '.join(each)}."
    )
    return Answer(
        measured(found),
        head,
        " ".join([said, *check(mine), *speed(mine), PROSE]),
        tables=[tabled(CAPTION, COLUMNS, found, about=ABOUT, grouped=True)],
        figures=[figure(found, head)],
    )


def headline(mine: Sequence[Mixed], found: Measured) -> Headline | None:
    """The ends of the rows, which begin with the least; as many trials as stand behind it."""
    if len(mine) < 2:
        return None
    least, most = mine[0], mine[-1]
    compared = found.compared(key(most), [row.label for row in mine])
    pair = next(c for c in compared if (c.label, c.base) == (most.label, least.label))
    ratio = pair.ratio
    only, beside = few(ratio.blocks), f"While others compute {duration(most.work_ms)}"
    blocks = plural(ratio.blocks, "trial")
    if not only and not ratio.shown:
        return Headline(f"{beside}, pages take about as long with every backend", blocks)
    ends = [found.spread(row.label, key(row)) for row in (most, least)]
    ranges = " and ".join(f"{duration(s.low)} to {duration(s.high)}" for s in ends if s)
    return Headline(
        f"{beside}, pages take {duration(most.mean_ms)} with {most.named} and "
        f"{duration(least.mean_ms)} with {least.named}{only}",
        "means; no interval" if only else f"means; {ranges}: lowest and highest of {blocks}",
        [pair],
    )


def check(mine: Sequence[Mixed]) -> list[str]:
    """What theory says about the loops of these rows: sentences, or none."""
    known = [(row, row.predicted) for row in mine if row.predicted]
    if not known:
        return []
    each = [
        f"{duration(theory.best.mean_ms)} for `{row.label}` (measured {duration(row.mean_ms)})"
        for row, theory in known
    ]
    sentences = [f"On the same schedules, theory gives a mean of {listing(each)}."]
    if all(theory.loop for _, theory in known):
        queues = listing([duration(theory.queue.mean_ms) for _, theory in known])
        sentences.append(
            f"Of that, the queue for the processor is {queues}; the rest is the loop’s timers and "
            "the steps of a page."
        )
    else:
        sentences.append("That is the queue for the processor, without timers.")
    if disturbed := [row for row in mine if not row.undisturbed]:
        row = max(disturbed, key=lambda row: row.wall_ms)
        sentences.append(
            f"Other programs had the client’s processor as well: with `{row.label}` the work took "
            f"{duration(row.wall_ms)} by the clock and {duration(row.cpu_ms)} of the processor, so "
            "these times say little about this backend."
        )
    return sentences


def speed(mine: Sequence[Mixed]) -> list[str]:
    """What the work took, where that is not what the point says: a sentence, or none."""
    took = sorted(row.cpu_ms for row in mine)
    if all(abs(ms / mine[0].work_ms - 1) <= STEADY for ms in took):
        return []
    than = "slower" if took[-1] <= mine[0].work_ms else "at another speed"
    return [
        f"The work took {duration(took[0])} to {duration(took[-1])} of the processor in these "
        f"trials, not {duration(mine[0].work_ms)}: the machine was {than} when a round of it was "
        "measured alone."
    ]


def _spread(row: Mixed) -> str:
    means = row.means.values()
    return f"{_ms(row.mean_ms)} [{_ms(min(means))}–{_ms(max(means))}]"


def _theory(of: Callable[[Predicted], float | None]) -> Callable[[Mixed], str]:
    return lambda row: _ms(of(row.predicted) if row.predicted else None)


COLUMNS: Final[Columns[Mixed]] = (
    (name("backend"), lambda row: row.label),
    (name("work"), lambda row: f"{duration(row.work_ms)} of work"),
    (Column("requests/s", drop=6), lambda row: f"{row.rate:,.0f}"),
    (Column("mean [min–max]"), _spread),
    (Column("p50"), lambda row: _ms(row.p50_ms)),
    (Column("p90 or p99"), lambda row: f"{_ms(row.tail_ms)} (p{row.tail:g})"),
    (Column("mean in theory", drop=2), _theory(lambda of: of.loop.mean_ms if of.loop else None)),
    (Column("… of the queue alone", drop=3), _theory(lambda of: of.queue.mean_ms)),
    (Column("… in the long run", drop=4), _theory(lambda of: of.long_run_ms)),
    (Column("work done p50", drop=5), lambda row: _ms(row.worked_p50_ms)),
    (Column("work takes", drop=8), lambda row: _ms(row.wall_ms)),
    (Column("pages", drop=7), lambda row: cells.figure(row.count)),
)
CAPTION: Final = "Mixed load: response times beside pages that need work, ms"


def _ms(value: float | None) -> str:
    return MISSING if value is None else significant(value, 3)


def figure(found: Sequence[Mixed], head: Headline | None) -> Figure:
    """A panel for each amount of work; in it a line from the median to the tail for each."""
    rates = {row.work_ms: f"{count(row.rate)} requests/s at {row.work_ms:g} ms" for row in found}
    return Figure(
        name=NAME,
        title="Response time beside pages that need work",
        headline=head.text if head else None,
        subtitle=f"Open loop; one page in {found[0].every} needs work of the client’s processor. "
        f"Response times of all the others; {of_blocks(len(row.means) for row in found)}, merged",
        data=Spans(
            [
                SpansPanel(
                    f"{mine[0].work_ms:g} ms of work, to p{mine[0].tail:g}",
                    {row.label: _span(row) for row in mine},
                    mine[0].work_ms,
                )
                for _, each in groupby(found, key=lambda row: row.work_ms)
                if (mine := list(each))
            ],
            sorted(dict.fromkeys(row.label for row in found), key=_place),
            "response time of pages without work",
        ),
        notes=(
            "From the median (dot) to the percentile above (stroke). Diamonds: the same, "
            "calculated for a loop on the same schedules, whose pages queue for one processor and "
            "whose timers wait whole milliseconds. Dotted: the work. Processes had every "
            f"processor, the others one. {listing(list(rates.values()))}.",
        ),
    )


def _span(row: Mixed) -> Span:
    best = row.predicted.best if row.predicted else None
    return Span(row.p50_ms, row.tail_ms, (best.p50_ms, best.tail_ms) if best else ())


def _place(label: str) -> int:
    """Loops first, then what hands their work over, then threads; others last."""
    return ORDER.index(label) if label in ORDER else len(ORDER)
