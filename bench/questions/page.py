"""What does a page cost, and what is it made of?

Backends are compared by processor time and pages per second. The controls of a campaign
(:mod:`bench.controls`) took turns with them, in the same blocks. So a backend's time per exchange
splits into the time of ``bare`` (sockets alone), the time of ``shared`` (frontier, exchange and
links, from memory), and what is left. The rest is the model: how the program waits and switches,
and colder caches than either control has. A whole HTTP stack has no shared parts, so all of its
time beyond the sockets is its own.

A backend whose server slept is not split: waking the server is part of its sends, and of no
control's. ``bare`` only fetches lists. A crawl of pages of the same size sends the same requests,
so its sockets are those of the list with the same number of slots, where both were measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, PAGES_PER_S, Comparison, Metric
from bench.analysis.wording import bases, prose
from bench.questions.question import Answer, Headline, contrast, paragraph
from bench.show import cells
from bench.show.figures import Colour, Figure, Stack, Stacked, StackedPanel
from bench.show.measured import US, Blocks, Measure, Measured
from bench.show.table import Column, Columns, Table, name, tabled
from bench.show.words import (
    blocks_words,
    differences,
    of_blocks,
    point_words,
    silence,
    strongest,
)
from bench.text import listing, plural
from crawlers.registry import MODELS

NAME: Final = "page"
ASKS: Final = "What does a page cost, and what is it made of?"
BARE, COMMON = "bare", "shared"
"""The controls: sockets alone, and what all backends share."""

SHOWN: Final = {
    "fetch-100": ("fetched", "a fetched page: a list, no links"),
    "throughput-100": ("crawled", "a crawled page: links too"),
}
"""The points of the chart: what a page of each is, and the title of its panel."""

TOTAL, SOCKETS, SHARED, REST = "page", "sockets", "shared", "model"
PARTS: Final[dict[str, Colour]] = {
    "sockets": "grey",
    "shared parts": "faint",
    "model, or a whole stack": "own",
}
USER, SYSTEM = "user", "system, in the kernel"
COMMAND: Final = "To measure it: `python -m bench run --only fetch-100,throughput-100`."


@dataclass(frozen=True, slots=True)
class Contrast:
    """What is compared, and the words for it: "threads *fetch* 35 % *fewer* …"."""

    name: str  # of its finding
    point: str
    where: str
    metric: Metric
    verb: str
    less: str
    what: str


CONTRASTS: Final = (
    Contrast(
        *("page", "fetch-100", "A list of pages without links, at 100 slots", CPU_PER_1000),
        *("need", "less", "processor time per fetched 2 KB page"),
    ),
    Contrast(
        *("crawl", "throughput-100", "A crawl, at 100 slots", CPU_PER_1000, "need", "less"),
        "processor time per crawled 2 KB page",
    ),
    Contrast(
        *("rate", "throughput-100", "A crawl, at 100 slots", PAGES_PER_S, "crawl", "fewer"),
        "2 KB pages per second",
    ),
)


def of_point(analysis: Analysis, metric: Metric, point: str | None) -> list[Comparison]:
    """The models against the base, where there are blocks enough for an interval."""
    found = (c for c in analysis.compare(metric) if c.point == point)
    return [c for c in found if c.label in MODELS and c.ratio.low is not None]


def contrasted(analysis: Analysis, asked: Contrast) -> tuple[Headline, str] | None:
    """Each backend against the base: the models first, whole stacks apart."""
    models = of_point(analysis, asked.metric, asked.point)
    if not models:
        return None
    best = strongest(models)
    head = contrast(best, asked.verb, asked.what, asked.less) if best else None
    groups: dict[str, list[Comparison]] = {asked.where: models}
    for c in analysis.compare(asked.metric):
        if c.point == asked.point and c.label not in MODELS:
            group = "HTTP stacks" if c.label in analysis.stacks else "Variants"
            groups.setdefault(group, []).append(c)
    said = {group: differences(mine, asked.less) for group, mine in groups.items()}
    everyone = [c for mine in groups.values() for c in mine]
    texts = [f"{group}: {each}." for group, each in said.items() if each]
    texts.append(f"The base: {bases(everyone)}.")
    texts += [
        f"No verdict for `{c.label}`: {c.ratio.reason}."
        for c in analysis.compare(asked.metric)
        if (c.point, c.ratio.verdict) == (asked.point, stats.OTHER_WORK) and c.label in MODELS
    ]
    if head is None:
        base, blocks = prose(models[0].base), max(c.ratio.blocks for c in models)
        nothing = f"No model differs clearly from {base} in {asked.what}"
        head = Headline(nothing, plural(blocks, "block"))
    return head, " ".join(texts)


# --- the parts ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Split:
    """One backend at one point, in microseconds per exchange, block by block."""

    point: str
    label: str
    total: Blocks
    sockets: Blocks
    shared: Blocks | None  # None for a stack, which has its own parts

    @property
    def rest(self) -> Blocks:
        """The model, or all of a stack; below 0 by noise, because the parts are measured apart.

        A control without a block stands there with its median.
        """
        parts = [self.sockets, self.shared or {}]
        return {
            block: value - sum(part.get(block, middle(part)) for part in parts)
            for block, value in self.total.items()
        }

    @property
    def medians(self) -> list[float]:
        """Of the parts, the last of them what is left of the median of the page."""
        sockets, shared = middle(self.sockets), middle(self.shared or {})
        return [sockets, shared, max(middle(self.total) - sockets - shared, 0.0)]


def middle(blocks: Blocks) -> float:
    """The median; 0 without any."""
    return stats.middle(blocks.values()) or 0.0


def splits(analysis: Analysis) -> list[Split]:
    """Every backend at every point where both controls can be had, in the campaign's order."""
    controls: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    polled: dict[str, bool | None] = {}
    for trial in analysis.records.controls:
        value = stats.per_exchange(trial)
        if trial.status == "ok" and value is not None:
            polled[trial.point] = stats.polled(trial)
            controls[trial.point, trial.label][trial.block] = value
    pages: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for trial in stats.trials_of(analysis.records, twins=False):
        value = stats.per_exchange(trial)
        if value is not None and polled.get(trial.point) == stats.polled(trial):
            pages[trial.point, trial.label][trial.block] = value
    found = []
    for point in stats.points_of(analysis.records):
        shared = controls.get((point, COMMON))
        fetched = f"fetch-{point.rpartition('-')[2]}"
        bare = controls.get((point, BARE)) or controls.get((fetched, BARE))
        for label in analysis.labels if shared and bare else ():
            if blocks := pages.get((point, label)):
                parts = None if label in analysis.stacks else shared
                found.append(Split(point, label, blocks, bare or {}, parts))
    return found


def measured(rows: Sequence[Split]) -> Measured:
    measures: dict[str, Measure] = {}
    values: dict[str, dict[str, Blocks]] = defaultdict(dict)
    for point, (what, _) in SHOWN.items():
        mine = [row for row in rows if row.point == point]
        for row in mine:
            parts = {TOTAL: row.total, SOCKETS: row.sockets, SHARED: row.shared, REST: row.rest}
            values[row.label] |= {f"{part}-{point}": b for part, b in parts.items() if b}
        if mine:
            measures |= {
                f"{TOTAL}-{point}": Measure(
                    what, f"an exchange of a {what} page, processor time", US
                ),
                f"{SOCKETS}-{point}": Measure("sockets", "… of it sockets alone", US),
                f"{SHARED}-{point}": Measure("shared", "… of it what backends share", US),
                f"{REST}-{point}": Measure("model or stack", "… of it the model or stack", US),
            }
    return Measured(measures, values)


def answer(analysis: Analysis) -> Answer | None:
    """Processor time of a fetched page; of a crawled one, and its rate, in further findings."""
    found = {each.name: one for each in CONTRASTS if (one := contrasted(analysis, each))}
    rows = splits(analysis)
    (head, said), *_ = [*found.values(), (None, "")]
    figures = [figure for figure in (breakdown(analysis, rows, head), cpu(analysis)) if figure]
    if not found and not figures:
        return None
    return Answer(
        measured(rows),
        head,
        f"{said} {COMMAND}".strip(),
        tables=[table(analysis, rows)] if rows else [],
        figures=figures,
        details={name: paragraph(*one) for name, one in [*found.items()][1:]},
        printed=True,
        compared=analysis.compare(CPU_PER_1000),  # what the figures' headlines rest on
    )


COLUMNS: Final[Columns[Split]] = (
    (name("backend"), lambda row: row.label),
    (name("point"), lambda row: row.point),
    (Column("CPU µs per page"), lambda row: cells.tenths(middle(row.total))),
    (Column("sockets"), lambda row: cells.tenths(middle(row.sockets))),
    (Column("shared parts"), lambda row: cells.tenths(middle(row.shared) if row.shared else None)),
    (Column("model, or stack"), lambda row: cells.tenths(middle(row.rest))),
)


def table(analysis: Analysis, rows: Sequence[Split]) -> Table:
    places = analysis.places
    return tabled(
        "What a page is made of",
        COLUMNS,
        rows,
        about=(
            "Medians over blocks, measured in turns. Sockets: the control bare. Shared parts: the "
            "control shared. The rest is the model, colder caches included; a whole stack has no "
            "shared parts. It can be below 0 by noise, because the parts are measured apart."
        ),
        notes=[f"Not split, because the server slept for them: {listing(places.labels)}."]
        if places and places.shared
        else (),
        grouped=True,
    )


def breakdown(analysis: Analysis, rows: Sequence[Split], head: Headline | None) -> Figure | None:
    panels = [mine for point in SHOWN if (mine := [row for row in rows if row.point == point])]
    if not panels:
        return None
    # A row for each label in every panel, so that they line up.
    drawn = {row.label for mine in panels for row in mine}
    empty = {label: [Stack({})] for label in analysis.labels if label in drawn}
    return Figure(
        name="segments",
        title="What a page’s processor time is made of",
        headline=head.text if head else None,
        subtitle="Processor time of the client per exchange at 100 slots, in turns; median of "
        + of_blocks(len(row.total) for mine in panels for row in mine),
        data=Stacked(
            PARTS,
            [
                StackedPanel(
                    SHOWN[mine[0].point][1],
                    empty
                    | {r.label: [Stack(dict(zip(PARTS, r.medians, strict=True)))] for r in mine},
                    US,
                )
                for mine in panels
            ],
        ),
        notes=(
            "Sockets: a control that only sends, receives and counts bytes. Shared: frontier, "
            "exchange and links from memory. Model: what is left, colder caches included.",
        ),
    )


def cpu(analysis: Analysis) -> Figure | None:
    point = analysis.reference_point("throughput", "real", "waiting")
    trials = analysis.at_point(point) if point else {}
    bars: dict[str, list[Stack]] = {}
    totals = []
    for label, mine in trials.items():
        # Milliseconds for 1000 pages are microseconds for one.
        parts = [found for trial in mine if (found := stats.cpu_ms_per_1000(trial))]
        if total := stats.spread(map(sum, parts)):
            user = middle(dict(enumerate(part for part, _ in parts)))
            ends = (total.low, total.high) if total.count > 1 else None
            bars[label] = [Stack({USER: user, SYSTEM: total.median - user}, ends)]
            totals.append(total)
    if not bars or point is None:
        return None
    sample = next(iter(trials.values()))[0]
    best = strongest(of_point(analysis, CPU_PER_1000, point))
    head = contrast(best, "need", "processor time per page") if best else None
    why = silence(analysis, CPU_PER_1000, sample.workload, point)
    return Figure(
        name="cpu",
        title="Processor time per page, user and system",
        headline=head.text if head else None,
        subtitle=f"Workload {sample.workload}, {point_words(sample)}; {blocks_words(totals)}",
        data=Stacked(
            {USER: "own", SYSTEM: "faint"},
            [StackedPanel("processor time of the crawler per page", bars, US)],
        ),
        notes=(f"{head.behind}.",) if head else (why,) if why else (),
    )
