"""What does one change cost?

Every backend is compared with its baseline, the one that it changes a single thing of. The
campaign's record says which that is, as the registry described it at the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import STACK, Analysis
from bench.analysis.stats import CPU_PER_1000, EQUIVALENT, Comparison, Metric, Pair
from bench.analysis.stats.records import widest_point
from bench.plan.participants import SPREADING
from bench.questions.question import Answer, contrast
from bench.schema import Rung, TrialRecord
from bench.show import cells
from bench.show.figures import Estimate, Figure, Forest, Unit
from bench.show.measured import US, Measure, Measured, by_label
from bench.show.table import MISSING, Column, Row, Table, name, words
from bench.show.words import strongest
from bench.store import Records
from bench.text import KIB, count, listing, number, plural, size_words
from crawlers.registry import MODELS

NAME: Final = "variants"
ASKS: Final = "What does one change cost?"
THREADS, HAND_BUILT = "threads", ("callbacks", "generators")
"""Families: what waits in a thread or greenlet, and what has a loop that is built by hand."""

ASYNCIO: Final = ("async", "loop_per_thread")
"""How the names of backends begin that run on the loop of the standard library."""

PAIRED_FROM: Final = 1000
"""Memory is paired from this many connections up; below, whole pages and slabs blur it."""

PROSE: Final = (
    "Every backend is compared with its baseline, from which it differs in one thing, in the same "
    "blocks. To measure it: `python -m bench run --profile full --only ladder-100,c10k`."
)


def _kib(value: float) -> str:
    return size_words(value * KIB)


PAGE, HELD = "page", "held"
MEASURES: Final = {
    PAGE: Measure("a page", "a crawled page among all variants, processor time", US),
    HELD: Measure("a connection", "memory of an idle connection", Unit("KiB", _kib, number)),
}


def _memory(trial: TrialRecord) -> float | None:
    """Bytes that each held connection added on the client's side, over all parts that were read."""
    growth = stats.memory_growth(trial)
    if growth is None or growth["user"] is None or trial.memory is None:
        return None
    known = [growth[part] for part in stats.MEMORY_PARTS]
    return sum(value for value in known if value is not None) / trial.memory.connections


def _kib_each(trial: TrialRecord) -> float | None:
    found = _memory(trial)
    return None if found is None else found / KIB


MEMORY: Final = Metric(
    "memory_per_connection",
    "memory per connection",
    "bytes",
    "more memory",
    "less memory",
    ("c10k",),
    _memory,
)


def pairs(records: Records, metric: Metric) -> list[Pair]:
    point = widest_point(records)
    if metric is not CPU_PER_1000 or point is None:
        return []
    return [(point, one.against, one.name) for one in records.campaign.rungs if one.against]


@dataclass(frozen=True)
class Variants:
    """Every variant that was measured, in the order of the catalogue."""

    about: Mapping[str, Rung]
    measured: Measured
    point: str  # where the processor time is from
    connections: int | None  # held where memory is shown
    cpu: Mapping[str, Comparison]  # with the baseline
    memory: Mapping[str, Comparison]
    no_memory: Mapping[str, str]  # why there is none

    def row(self, label: str) -> list[Estimate]:
        return [
            Estimate(
                self.measured.spread(label, key),
                compared[label].ratio if label in compared else None,
                missing,
            )
            for key, compared, missing in (
                (PAGE, self.cpu, ""),
                (HELD, self.memory, self.no_memory.get(label, "")),
            )
        ]


def variants(analysis: Analysis) -> Variants | None:
    """None where the records do not say what a backend changes, or have no trial."""
    records, point = analysis.records, widest_point(analysis.records)
    about = {one.name: one for one in sorted(records.campaign.rungs, key=lambda one: one.rung)}
    if point is None or not about:
        return None
    at_point = [t for t in stats.trials_of(records, twins=False) if t.point == point]
    held = stats.trials_of(records, "c10k", twins=False)
    most = _connections(held)
    # Milliseconds for 1000 pages are microseconds for each.
    pages = by_label(at_point, about, {PAGE: CPU_PER_1000.value})
    at_most = [t for t in held if t.memory and t.memory.connections == most]
    memory = by_label(at_most, about, {HELD: _kib_each})
    values = {
        label: {**pages.get(label, {}), **memory.get(label, {})}
        for label in about
        if label in pages or label in memory
    }
    if not values:
        return None
    compared = analysis.family(CPU_PER_1000).of(pairs(records, CPU_PER_1000))
    return Variants(
        about,
        Measured(MEASURES, values),
        point,
        most,
        {c.label: c for c in compared},
        {c.label: c for c in _compared_memory(held, about.values())},
        {label: _why(records, about[label], most) for label in values if label not in memory},
    )


def _connections(held: Sequence[TrialRecord]) -> int | None:
    # Only some backends hold as many as a campaign has, and bars at two numbers do not compare:
    # so that at which most did, and the largest of these.
    backends: dict[int, set[str]] = defaultdict(set)
    for trial in held:
        if trial.memory:
            backends[trial.memory.connections].add(trial.backend)
    enough = [number for number in backends if number >= PAIRED_FROM] or list(backends)
    return max(enough, key=lambda number: (len(backends[number]), number), default=None)


def _compared_memory(held: Sequence[TrialRecord], about: Iterable[Rung]) -> list[Comparison]:
    """Paired within blocks at every number of connections from 1,000 on."""
    values: dict[str, dict[int, float]] = defaultdict(dict)
    places: dict[tuple[str, int], int] = {}
    for trial in held:
        value = MEMORY.value(trial)
        if trial.memory and trial.memory.connections >= PAIRED_FROM and value and value > 0:
            place = places.setdefault((trial.point, trial.block), len(places))
            values[trial.label][place] = value
    return stats.corrected(
        [
            Comparison(
                *("c10k", "c10k", MEMORY, one.against, one.name),
                stats.ratio(values[one.against], values[one.name], metric=MEMORY),
                server_limited=False,
            )
            for one in about
            if one.against and one.name in values and one.against in values
        ]
    )


def _why(records: Records, one: Rung, connections: int | None) -> str:
    if connections is not None and one.most is not None and one.most < connections:
        return f"holds at most {one.most:,}"
    status = {
        t.status
        for t in stats.trials_of(records, "c10k", status=None)
        if t.label == one.name and stats.number_param(t, "connections") == connections
    }
    return f"trial {min(status)}" if status - {"ok"} else "not measured"


# --- what it says -----------------------------------------------------------------------


def answer(analysis: Analysis) -> Answer | None:
    found = variants(analysis)
    if found is None:
        return None
    figures = [
        figure
        for key, (title, wanted) in GROUPS.items()
        if (figure := _figure(analysis, found, key, title, wanted))
    ]
    return Answer(
        found.measured,
        # No headline: with fifty crawls alive caches are cold, and `page` has the same ratios.
        prose=PROSE,
        tables=[_table(analysis, found)],
        figures=figures,
        compared=[*found.cpu.values(), *found.memory.values()],
    )


NEEDS: Final = ("need", "processor time for a crawled page")


def leading(found: Variants, drawn: Sequence[str]) -> Comparison | None:
    """The largest difference between two models, else between two of those that are drawn."""
    mine = [c for label, c in found.cpu.items() if label in drawn]
    inside = [c for c in mine if c.base in drawn]
    models = [c for c in inside if {c.label, c.base} <= set(MODELS)]
    return strongest(models) or strongest(inside) or strongest(mine)


def _on_asyncio(one: Rung) -> bool:
    return one.family == "async" and one.name.startswith(ASYNCIO)


def _on_another(one: Rung) -> bool:
    """Whether asyncio stays, and what is below it is another's."""
    return one.name.startswith(("uvloop", "aiofastnet"))


GROUPS: Final[dict[str, tuple[str, Callable[[Rung], bool]]]] = {
    NAME: (
        "From threads to coroutines, one change at a time",
        lambda one: one.name in MODELS or (one.family in HAND_BUILT and one.name not in SPREADING),
    ),
    f"{NAME}-spreading": (
        "One crawl on several processors, one change at a time",
        lambda one: one.name == "callbacks" or one.name in SPREADING,
    ),
    f"{NAME}-threads": (
        "Threads and greenlets, one change at a time",
        lambda one: one.family == THREADS,
    ),
    f"{NAME}-asyncio": ("The ways to use asyncio, one change at a time", _on_asyncio),
    f"{NAME}-loops": (
        "Other loops and transports below asyncio, one change at a time",
        lambda one: one.family == "async" and (one.name in MODELS or _on_another(one)),
    ),
    f"{NAME}-libraries": (
        "Other libraries with await, one change at a time",
        lambda one: (
            one.family not in (THREADS, *HAND_BUILT, STACK)
            and (one.name in MODELS or not (_on_asyncio(one) or _on_another(one)))
        ),
    ),
    f"{NAME}-stacks": (
        "HTTP stacks, with their own parser, pool and everything above the socket",
        lambda one: one.family == STACK,
    ),
}


def _figure(
    analysis: Analysis, found: Variants, key: str, title: str, wanted: Callable[[Rung], bool]
) -> Figure | None:
    labels = [label for label in found.measured.values if wanted(found.about[label])]
    if len(labels) < 2:
        return None
    best = leading(found, labels)
    # Of the models, `page` has the same ratios without fifty other crawls in the caches.
    head = contrast(best, *NEEDS) if best and key != NAME else None
    held = "" if found.connections is None else f", {count(found.connections)} held"
    rows = {label: found.row(label) for label in labels}
    return Figure(
        name=key,
        title=title,
        headline=head.text if head else None,
        subtitle="Each variant and its ratio (×) to the baseline that it changes one thing of, "
        "with 95 % intervals paired within blocks",
        data=Forest(
            {"processor time per page": US, f"memory per connection{held}": MEASURES[HELD].unit},
            {label: found.about[label].changes for label in labels},
            rows,
        ),
        notes=tuple(_notes(analysis, found, labels)),
    )


def _notes(analysis: Analysis, found: Variants, labels: Sequence[str]) -> Iterable[str]:
    if most := [
        f"{label} at most {count(limit)}" for label in labels if (limit := found.about[label].most)
    ]:
        yield f"Connections that can be open: {listing(most)}."
    if floor := analysis.floor(CPU_PER_1000).log:
        yield (
            f"Differences within the noise floor of {stats.floor_words(floor)} are not claimed. "
            "Memory has no A/A pair; its ratios are from 1,000 connections on."
        )
    if missing := "; ".join(f"{label} ({why})" for label, why in _absent(found)):
        yield f"Not run: {missing}."


def _absent(found: Variants) -> list[tuple[str, str]]:
    return sorted((name, one.missing) for name, one in found.about.items() if one.missing)


def _table(analysis: Analysis, found: Variants) -> Table:
    held = "" if found.connections is None else f" at {found.connections:,} connections"
    return Table(
        "Variants and their baselines",
        [
            name("backend"),
            words("what it changes"),
            Column("µs per page"),
            Column("ratio [95 %]"),
            Column("KiB per connection"),
            Column("ratio [95 %]"),
        ],
        [_row(found, label) for label in found.measured.values],
        about=(
            "Each backend is compared with the one it names. Processor time is per crawled page, "
            f"at {found.point}; memory is per connection{held}, its ratio paired over all numbers "
            f"of connections from {PAIRED_FROM:,} up. HTTP stacks are not concurrency models."
        ),
        notes=[
            *([analysis.places.words] if analysis.places else []),
            *([tally(list(found.cpu.values()))] if found.cpu else []),
            *(f"Not run: {label}: {why}" for label, why in _absent(found)),
        ],
    )


def _row(found: Variants, label: str) -> Row:
    page, held = found.row(label)
    return [
        label,
        found.about[label].changes,
        cells.figure(page.spread.median if page.spread else None),
        cells.judged_ratio(page.ratio),
        cells.tenths(held.spread.median) if held.spread else held.missing or MISSING,
        cells.judged_ratio(held.ratio),
    ]


def tally(compared: Sequence[Comparison]) -> str:
    """How many differ, how many are equivalent, and which are neither."""
    shown = sum(c.ratio.shown for c in compared)
    same = sum(c.ratio.verdict == EQUIVALENT for c in compared)
    rest = [c.label for c in compared if not c.ratio.shown and c.ratio.verdict != EQUIVALENT]
    text = (
        f"By processor time, of {plural(len(compared), 'variant')}: {shown} different, {same} "
        f"equivalent, {len(rest)} undecided"
    )
    return f"{text}: {listing(rest)}." if rest else f"{text}."
