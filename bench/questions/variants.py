"""What does one change cost?

Every backend is compared with its baseline, the one that it changes a single thing of. The
campaign's record says which that is, as the registry described it at the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import STACK, Analysis
from bench.analysis.stats import CPU_PER_1000, Metric, Pair, Ratio, widest_point
from bench.plan.participants import SPREADING
from bench.questions.question import Answer, forest, intervals
from bench.schema import Rung, TrialRecord
from bench.show import cells
from bench.show.figures import Bars, Figure
from bench.show.measured import KIB_OR_MORE, US, Measure, Measured, by_label
from bench.show.table import Column, Table, name, words
from bench.store import Records
from bench.text import count, listing
from crawlers.registry import MODELS

NAME: Final = "variants"
ASKS: Final = "What does one change cost?"
THREADS, HAND_BUILT = "threads", ("callbacks", "generators")
"""Families: what waits in a thread or greenlet, and what has a loop that is built by hand."""

ASYNCIO: Final = ("async", "loop_per_thread")
"""How the names of backends begin that run on the loop of the standard library."""

SHOWN_FROM: Final = 1000
"""Memory is shown at so many connections or more; below, whole pages and slabs blur it."""

PROSE: Final = (
    "Every backend is compared with its baseline, from which it differs in one thing, in the same "
    "blocks. To measure it: `python -m bench run --profile full --only ladder-100,c10k`."
)


PAGE, HELD = "page", "held"
MEASURES: Final = {
    PAGE: Measure("a page", "a crawled page among all variants, processor time", US),
    HELD: Measure("a connection", "memory of an idle connection", KIB_OR_MORE),
}


def pairs(records: Records, metric: Metric) -> list[Pair]:
    point = widest_point(records)
    if metric is not CPU_PER_1000 or point is None:
        return []
    return [(point, rung.against, rung.name) for rung in records.campaign.rungs if rung.against]


@dataclass(frozen=True)
class Variants:
    """Every variant that was measured, in the order of the catalogue."""

    about: Mapping[str, Rung]
    measured: Measured
    point: str  # where the processor time is from
    memory_words: str  # "memory", or "user memory" where the kernel's was not read
    connections: int | None  # held where memory is shown
    ratios: Mapping[str, Mapping[str, Ratio]]  # measure -> variant -> to its baseline


def variants(analysis: Analysis) -> Variants | None:
    """None where the records do not say what a backend changes, or have no trial."""
    records, point = analysis.records, widest_point(analysis.records)
    about = {rung.name: rung for rung in sorted(records.campaign.rungs, key=lambda rung: rung.rung)}
    if point is None or not about or not stats.trials_of(records, "ladder"):
        return None
    at_point = [t for t in stats.trials_of(records, twins=False) if t.point == point]
    held = stats.trials_of(records, "c10k", twins=False)
    most = _connections(held)
    # Milliseconds for 1000 pages are microseconds for each.
    pages = by_label(at_point, about, {PAGE: CPU_PER_1000.value})
    at_most = [t for t in held if t.memory and t.memory.connections == most]
    memory, what = by_label(at_most, about, {HELD: stats.kib_each(*stats.MEMORY_PARTS)}), "memory"
    if not memory:
        memory, what = by_label(at_most, about, {HELD: stats.kib_each("user")}), "user memory"
    both = {label: {**pages.get(label, {}), **memory.get(label, {})} for label in about}
    values = {label: row for label, row in both.items() if row}
    if not values:
        return None
    compared = analysis.family(CPU_PER_1000).of(pairs(records, CPU_PER_1000))
    measures = {**MEASURES, HELD: replace(MEASURES[HELD], what=f"{what} of an idle connection")}
    measured = Measured(measures, values)
    shown = measured.with_(HELD, values)
    against = [(about[label].against or "", label) for label in shown]
    kept = measured.compared(HELD, [pair for pair in against if pair[0] in shown])
    ratios = {
        key: {c.label: c.ratio for c in comparisons}
        for key, comparisons in ((PAGE, compared), (HELD, kept))
    }
    return Variants(about, measured, point, what, most, ratios)


def _connections(held: Sequence[TrialRecord]) -> int | None:
    # Only some backends hold as many as a campaign has, and bars at two numbers do not compare:
    # so that at which most did, and the largest of these.
    backends: dict[int, set[str]] = defaultdict(set)
    for trial in held:
        if trial.memory:
            backends[trial.memory.connections].add(trial.backend)
    enough = [number for number in backends if number >= SHOWN_FROM] or list(backends)
    return max(enough, key=lambda number: (len(backends[number]), number), default=None)


def answer(analysis: Analysis) -> Answer | None:
    """No headline: with fifty crawls alive caches are cold, and ``page`` has the same ratios."""
    spectrum = variants(analysis)
    if spectrum is None:
        return None
    figures = [_figure(analysis, spectrum, key, *group) for key, group in GROUPS.items()]
    return Answer(
        prose=PROSE,
        tables=[_table(analysis, spectrum)],
        figures=[figure for figure in figures if figure],
    )


def _on_asyncio(rung: Rung) -> bool:
    return rung.family == "async" and rung.name.startswith(ASYNCIO)


def _on_another(rung: Rung) -> bool:
    """Whether asyncio stays, and what is below it is another's."""
    return rung.name.startswith(("uvloop", "aiofastnet"))


GROUPS: Final[dict[str, tuple[str, Callable[[Rung], bool]]]] = {
    NAME: (
        "From threads to coroutines, one change at a time",
        lambda rung: (
            rung.name in MODELS or (rung.family in HAND_BUILT and rung.name not in SPREADING)
        ),
    ),
    f"{NAME}-spreading": (
        "One crawl on several processors, one change at a time",
        lambda rung: rung.name == "callbacks" or rung.name in SPREADING,
    ),
    f"{NAME}-threads": (
        "Threads and greenlets, one change at a time",
        lambda rung: rung.family == THREADS,
    ),
    f"{NAME}-asyncio": ("The ways to use asyncio, one change at a time", _on_asyncio),
    f"{NAME}-loops": (
        "Other loops and transports below asyncio, one change at a time",
        lambda rung: rung.family == "async" and (rung.name in MODELS or _on_another(rung)),
    ),
    f"{NAME}-libraries": (
        "Other libraries with await, one change at a time",
        lambda rung: (
            rung.family not in (THREADS, *HAND_BUILT, STACK)
            and (rung.name in MODELS or not (_on_asyncio(rung) or _on_another(rung)))
        ),
    ),
    f"{NAME}-stacks": (
        "HTTP stacks, with their own parser, pool and everything above the socket",
        lambda rung: rung.family == STACK,
    ),
}


def _figure(
    analysis: Analysis, spectrum: Variants, key: str, title: str, wanted: Callable[[Rung], bool]
) -> Figure | None:
    held = "" if spectrum.connections is None else f", {count(spectrum.connections)} held"
    titles = {PAGE: "time per page", HELD: f"{spectrum.memory_words}{held}"}
    labels = [
        label
        for label in spectrum.measured.values
        if wanted(spectrum.about[label])
        and any(label in ratios for ratios in spectrum.ratios.values())
    ]
    if len(labels) < 2:
        return None
    floor = analysis.floor(CPU_PER_1000).log
    shown = [
        ratio for ratios in spectrum.ratios.values() for x, ratio in ratios.items() if x in labels
    ]
    return Figure(
        name=key,
        title=title,
        subtitle="Each over its baseline, paired within blocks: processor time and memory of a "
        f"connection{intervals(shown)}",
        data=Bars(
            [
                forest(titles[key], labels, ratios, floor if key == PAGE else None)
                for key, ratios in spectrum.ratios.items()
                if ratios.keys() & {*labels}
            ]
        ),
        notes=(
            *_notes(analysis, spectrum, labels),
            *[UNLIKE] * any(ratio.verdict == stats.OTHER_WORK for ratio in shown),
        ),
    )


UNLIKE: Final = "Other work: page faults or connections differ, so there is no verdict."


def _notes(analysis: Analysis, spectrum: Variants, labels: Sequence[str]) -> Iterable[str]:
    bases: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        bases[spectrum.about[label].against or ""].append(label)
    yield "Baselines: " + "; ".join(f"{base} for {listing(x)}" for base, x in bases.items()) + "."
    if floor := analysis.floor(CPU_PER_1000).log:
        unclaimed = f"Differences within the noise floor of {stats.floor_words(floor)}"
        yield f"{unclaimed} are not claimed. Memory has no A/A pair."


def _table(analysis: Analysis, spectrum: Variants) -> Table:
    held = "" if spectrum.connections is None else f" at {spectrum.connections:,} connections"
    missing = [
        f"Not run: {x}: {rung.missing}" for x, rung in spectrum.about.items() if rung.missing
    ]
    rows = []
    for label, row in spectrum.measured.values.items():
        page, memory = (stats.middle(row.get(key, {}).values()) for key in (PAGE, HELD))
        each, kept = (spectrum.ratios[key].get(label) for key in (PAGE, HELD))
        numbers = [cells.figure(page), cells.judged_ratio(each), cells.tenths(memory)]
        rows.append([label, spectrum.about[label].changes, *numbers, cells.ratio(kept)])
    return Table(
        "Variants and their baselines",
        [
            name("backend"),
            words("what it changes"),
            Column("µs per page"),
            Column(f"ratio [{stats.AT_LEVEL}]"),
            Column("KiB per connection"),
            Column(f"ratio [{stats.AT_LEVEL}]"),
        ],
        rows,
        about=(
            "Each backend is compared with the one it names. Processor time is per crawled page, "
            f"at {spectrum.point}; {spectrum.memory_words} is per connection{held}. HTTP stacks "
            "are not concurrency models."
        ),
        notes=[*([analysis.places.words] if analysis.places else []), *missing],
    )
