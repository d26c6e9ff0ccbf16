"""What does the interpreter's lock cost threads?

A thread that cannot go on, because another has the lock or because nothing has arrived, gives up
its processor: a voluntary context switch. What one costs is the machine's, and differs by the
minute. So processor time is a line over the number of switches, and the headline is the number at
both ends of that line.

The crawls are whole, in windows of 500 requests. On one processor a window has one switch for each
request, or a span of windows has four to six: how many do is chance, so the number of a crawl is
that of its median window, which repeats from campaign to campaign and from machine to machine. The
server sleeps between requests in all of them, because a client on all of two processors shares the
server's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Number, Spread
from bench.plan.participants import BASE, FREE, PINNED
from bench.plan.workloads import REFERENCE_SLOTS
from bench.questions.columns import Read
from bench.questions.question import Answer, Headline, few, numbers
from bench.schema import TrialRecord
from bench.show.figures import Axis, Figure, LinePoint, Lines, Plot, Unit, calculated
from bench.show.measured import US, Measured, Value, by_label
from bench.show.table import Table
from bench.show.words import averaged
from bench.text import capital, from_to, in_percent, number, plural, times

NAME: Final = "handovers"
ASKS: Final = "What does the interpreter's lock cost threads?"
CRAWLED, FETCHED = "handovers-crawled", "handovers-fetched"
PAGES: Final = {CRAWLED: "crawled", FETCHED: "fetched"}
ONE: Final = ", one processor"
PER_PAGE: Final = Unit("a page", times, number, average="median")
"""The median, because one crawl in five may have many times the switches of the others."""
COST, VOLUNTARY, INVOLUNTARY = "cost", "voluntary", "involuntary"
PROSE: Final = (
    "Whole crawls at 100 slots, from a server that sleeps. A switch is a voluntary context switch "
    "of the client (getrusage): a thread waits for the lock, or for an answer. On several "
    "processors a thread that gives up the lock wakes another elsewhere, which often finds the "
    "lock taken again. Switches are those of a crawl's median window of 500 requests: on one "
    "processor some spans have several for each page, and how many do is chance. "
    "To measure it: `python -m bench run --only handovers`."
)


WindowsByLabel = Mapping[str, Sequence[tuple[float, float]]]
"""Label -> of each window of its crawls: voluntary switches and microseconds for a page."""


@dataclass(frozen=True, slots=True)
class Law:
    """Microseconds of a page as a line over its voluntary switches.

    The line is H. Theil's (1950): the median of all slopes, so that windows in which another
    program had the processor do not bend it. ``explained`` is the share of the variance. There is
    no interval: windows of a crawl follow from each other, so only other campaigns can give one.
    """

    fixed_us: float
    switch_us: float
    explained: float
    windows: int

    @property
    def words(self) -> str:
        # Where a line is steep, it may begin below nothing.
        page = f"{self.fixed_us:.0f} µs a page and " * (self.fixed_us >= 0)
        return (
            f"{page}{self.switch_us:.1f} µs for each switch; "
            f"this line explains {in_percent(self.explained)} of the variance of "
            f"{plural(self.windows, 'window')}"
        )


def law(windows: Sequence[tuple[float, float]]) -> Law | None:
    """The line through these windows; None where they have too few or too equal switches."""
    x, y = np.array(windows).reshape(-1, 2).T
    if len(windows) < 10 or float(np.ptp(x)) < 0.5:
        return None
    slope, *_ = stats.theil_sen(x.tolist(), y.tolist())
    fixed = float(np.median(y - slope * x))
    left = float(((y - fixed - slope * x) ** 2).sum())
    explained = max(0.0, 1 - left / float(((y - y.mean()) ** 2).sum()))
    return Law(fixed, slope, explained, len(windows))


def placed(trial: TrialRecord) -> TrialRecord:
    """With its processors in its label: "threads" has all, as users run them."""
    wide = trial.backend == FREE or trial.params.get("processors") == "all"
    name = FREE if trial.backend == PINNED else trial.backend
    return trial.model_copy(update={"label": name if wide else name + ONE})


def trials(analysis: Analysis, point: str) -> list[TrialRecord]:
    every = stats.trials_of(analysis.records, NAME, twins=False)
    return [placed(t) for t in every if t.point == point and t.switches and t.pages]


def each_page(trial: TrialRecord, what: str) -> list[float]:
    """What each window has for a page: ``cpu_us``, or context switches of a kind.

    A page is a URL answered 200: redirects and errors in a window count to its pages.
    """
    if not (trial.switches and (seen := trial.switches.windows)):
        return []
    answered = sum(trial.statuses.values())
    share = trial.pages / answered if trial.pages and answered else 1.0
    each = zip(getattr(seen, what), seen.exchanges, strict=True)
    return [number / (share * exchanges) for number, exchanges in each if exchanges]


def windows_of(trials: Iterable[TrialRecord]) -> WindowsByLabel:
    windows: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for trial in trials:
        if counts := each_page(trial, VOLUNTARY):
            windows[trial.label] += zip(counts, each_page(trial, "cpu_us"), strict=True)
    return windows


def usual(what: str) -> Value:
    """Of the median window of a crawl, for a page."""
    return lambda trial: stats.middle(each_page(trial, what), "median")


def measured(trials: Sequence[TrialRecord], what: str) -> Measured:
    cost = f"a {what} page in a whole crawl, processor time"
    titles = {VOLUNTARY: "voluntary switches", INVOLUNTARY: INVOLUNTARY}
    columns = {  # milliseconds for 1000 pages are microseconds for one
        COST: Read(f"a {what} page", cost, US, stats.CPU_PER_1000.value),
        **{
            kind: Read(title, f"{kind} context switches", PER_PAGE, usual(kind))
            for kind, title in titles.items()
        },
    }
    return Measured(columns, by_label(trials, [FREE, FREE + ONE, BASE, BASE + ONE], columns))


@dataclass(frozen=True, slots=True)
class Crawls:
    """The crawls of one kind of page, and what follows from them."""

    what: str  # "crawled"
    trials: Sequence[TrialRecord]
    found: Measured
    windows: WindowsByLabel
    line: Law | None

    @classmethod
    def of(cls, analysis: Analysis, point: str) -> Crawls:
        here, what = trials(analysis, point), PAGES[point]
        windows = windows_of(here)
        # Of one place alone, a cloud has any slope.
        both = {FREE, FREE + ONE} <= windows.keys()
        line = law([*windows[FREE], *windows[FREE + ONE]]) if both else None
        return cls(what, here, measured(here, what), windows, line)


def answer(analysis: Analysis) -> Answer | None:
    every = [crawls for point in PAGES if (crawls := Crawls.of(analysis, point)).trials]
    if not every:
        return None
    first = every[0]
    head = headline(first, every)
    law_words = f"{capital(first.line.words)}. " if first.line else ""
    return Answer(
        head,
        f"{law_words}{PROSE}",
        tables=[*map(table, every)],
        figures=[figure(first, first.line, head)] if first.line else [],
    )


def all_of(trials: Sequence[TrialRecord]) -> str:
    """How many processors the threads had, in words."""
    here = next((stats.processors(t, "client") for t in trials if t.backend == FREE), set())
    return plural(len(here), "processor") if here else "all processors"


def headline(first: Crawls, every: Sequence[Crawls]) -> Headline | None:
    """The hand-overs on all processors and on one, and what each costs."""
    windows, line, what, several = first.found, first.line, first.what, all_of(first.trials)
    if not {FREE, FREE + ONE} <= windows.values.keys() or line is None:
        return None
    on_all, on_one = windows.spread(FREE, VOLUNTARY), windows.spread(FREE + ONE, VOLUNTARY)
    assert on_all is not None
    assert on_one is not None
    blocks = min(on_all.count, on_one.count)

    def say(values: Sequence[float]) -> str:
        all_words, one_words = map(times, values)
        return (
            f"{REFERENCE_SLOTS} threads hand the lock over {all_words} times per {what} page on "
            f"{several}, {one_words} on one"
        )

    ranges = " and ".join(from_to(times, s.low, s.high) for s in (on_all, on_one))
    behind = "no interval" if few(blocks) else f"{ranges}: lowest and highest of {blocks} blocks"
    switch = Spread(line.switch_us, line.switch_us, line.switch_us, blocks)
    return Headline(
        say([on_all.value, on_one.value]) + few(blocks).removesuffix(" each"),
        f"{behind}; {line.switch_us:.0f} µs for each here",
        numbers=[
            *(
                replace(n, key=f"{each.what}/{n.key}", what=f"{n.what} ({each.what} page)")
                for each in every
                for n in numbers(each.found, VOLUNTARY, COST)
            ),
            Number("switch", "a hand-over of the lock", US.symbol, switch),
        ],
        quotes=[f"{what}/{VOLUNTARY}/{FREE}", f"{what}/{VOLUNTARY}/{FREE}{ONE}"],
        say=say,
    )


def table(crawls: Crawls) -> Table:
    windows = crawls.found.table(
        f"Context switches of a {crawls.what} page",
        f"Whole crawls at 100 slots. Without “one processor” a client has {all_of(crawls.trials)}.",
    )
    return replace(windows, notes=[f"Threads need {crawls.line.words}."] if crawls.line else ())


def figure(crawls: Crawls, line: Law, head: Headline | None) -> Figure:
    windows = crawls.found
    # On all processors the base is as on one.
    clouds = {label: cloud for label, cloud in crawls.windows.items() if label != BASE}
    cost_of = usual("cpu_us")
    middles = {
        label: [LinePoint(windows.value(label, VOLUNTARY), cost)]
        for label in clouds
        if (cost := stats.spread((cost_of(t) for t in crawls.trials if t.label == label), "median"))
    }
    right = max(x for cloud in clouds.values() for x, _ in cloud)
    x, y = Axis("voluntary context switches per page"), Axis("", words=US.ticks)
    fitted = [calculated(x, line.fixed_us + x * line.switch_us) for x in (0, right)]
    dotted = {"the line": fitted}
    plot = Plot(middles, x, y, "processor time per page", dotted=dotted, clouds=clouds)
    return Figure(
        name=NAME,
        title="Processor time of a page over its context switches",
        headline=head.text if head else None,
        subtitle=f"Each dot is 500 requests of one crawl at 100 slots, per {crawls.what} page; "
        f"marks: {averaged(windows.blocks([VOLUNTARY]), PER_PAGE.average)}",
        data=Lines([plot]),
        notes=(f"Dotted: {line.words}.",),
    )
