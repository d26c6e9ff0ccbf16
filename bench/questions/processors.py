"""What do several processors gain?

In every other point a client with one thread has one processor, because it can use no more, and so
have ``processes``, ``subinterpreters`` and ``partition``. Here these and all with several threads
get every processor: all but the server's (``apart``), or all of them, the server's included
(``shared``). Which processors each side had is in the record of each trial.

On 1, 2, 4 … processors with the server apart, pages per second over those on one are a law of
scaling (:mod:`bench.analysis.scaling`). What has threads and no lock is compared with one loop and
with processes on as many processors, both on an interpreter with the lock if one was measured:
that is what people would run in its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

import numpy as np

from bench.analysis import scaling, stats
from bench.analysis.analysis import Analysis
from bench.analysis.scaling import Law, Parameter
from bench.analysis.stats import Comparison, Ratio, Spread
from bench.analysis.summary import processors as processors_of
from bench.analysis.wording import against, conjugated, interval
from bench.plan.labels import Label
from bench.plan.participants import BASE, FREE, SPREADING
from bench.questions.question import Answer, Headline, paragraph
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.figures import Axis, Bars, Data, Figure, Lines, Panel, Plot, Point
from bench.show.measured import RATE as PAGES
from bench.show.measured import TIMES, Blocks, Measure, Measured
from bench.show.table import MISSING, Column, Columns, name, tabled, words
from bench.show.words import of_blocks
from bench.text import capital, listing, plural

NAME: Final = "processors"
ASKS: Final = "What do several processors gain?"
ACROSS: Final = True
RATE: Final = replace(stats.PAGES_PER_S, workloads=(NAME,))
PLACES: Final = {
    "apart": "with the server on a processor of its own",
    "shared": "with the server on the same processors",
}
"""What is said of a point, by its parameter ``processors``."""
SERVER: Final = {"apart": "server on another", "shared": "server on the same"}

ABOUT: Final = (
    "Whole trials of one crawl at 100 slots, without delay; ratios of pages per second are to "
    "callbacks in the same blocks. Loops have one processor. What can use more gets all but the "
    "server’s where the server is apart, and all of them, as the server does, where it shares "
    "them. The server sleeps between requests in all of these trials, so their rates are not "
    "those of points whose server polls. CPU is that of all the client’s processes."
)
COMMAND: Final = "To measure it: `python -m bench run --profile full --only processors`."
LAW: Final = (
    "Pages per second on n processors over those on one, in the same block, are fitted with "
    "n / (1 + σ(n − 1) + κn(n − 1)): contention σ, coherency κ. "
)
PROVED: Final = (
    "The lock was off at the end of each trial that counts as one without it. To measure it: "
    "`python -m bench interpreters 3.14 3.14t --profile cores`."
)
FREE_THREADS: Final = (FREE, "loop_per_thread")
RIVALS: Final = ("async_await", "uvloop", "processes")
"""What threads without the lock are compared with: loops on one processor, processes on as many."""
FEW: Final = (
    "Two processors cannot show what more of them would gain: one is left beside the server’s, or "
    "client and server share both."
)
LOCKED: Final = "every interpreter of this campaign has its lock"


@dataclass(frozen=True, slots=True)
class Row:
    """One label at one point: where it ran, and how many pages a second that gave."""

    point: str
    how: str  # "apart" or "shared"
    label: str
    client: Sequence[int]  # processors
    server: Sequence[int]
    rates: Blocks
    cpu: Blocks  # µs for a page, all processes of the client together
    compared: Comparison | None  # pages per second over those of the base; None for the base
    hollow: bool  # the server was the limit
    rivals: Mapping[str, Comparison]  # pages per second over theirs

    @property
    def spreads(self) -> bool:
        """Whether the backend was given all that it could use."""
        return Label.parse(self.label).name in SPREADING or len(self.client) > 1

    @property
    def on(self) -> str:
        """``2 processors``."""
        return plural(len(self.client), "processor")

    @property
    def ratio(self) -> Ratio | None:
        """Pages per second over those of the base."""
        return self.compared.ratio if self.compared else None

    @property
    def said(self) -> str:
        """```processes` on 2 processors 1.30 [1.28–1.33]``."""
        verdict = "" if self.ratio is None or self.ratio.shown else f", {self.ratio.verdict}"
        return f"`{self.label}` on {self.on} {cells.ratio(self.ratio)}{verdict}"


def rows(analysis: Analysis) -> list[Row]:
    compared: dict[tuple[str, str], dict[str, Comparison]] = defaultdict(dict)
    for found in analysis.once(comparisons):
        compared[found.point, found.label][found.base] = found
    mine: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in stats.trials_of(analysis.records, NAME, twins=False):
        if trial.pages_per_s is not None:
            mine[trial.point, trial.label].append(trial)
    return [
        Row(
            point=point,
            how=str(trials[0].params["processors"]),
            label=label,
            client=sorted(processors_of(trials[0], "client")),
            server=sorted(processors_of(trials[0], "server")),
            rates={t.block: t.pages_per_s or 0.0 for t in trials},
            cpu={t.block: cost for t in trials if (cost := stats.CPU_PER_1000.value(t))},
            compared=compared[point, label].pop(base_of(label), None),
            hollow=stats.limiter_of(trials) == "server",
            rivals=compared[point, label],
        )
        for point in stats.points_of(analysis.records, NAME)
        for label in analysis.labels
        if (trials := mine[point, label])
    ]


def gains(found: Comparison | None) -> bool:
    """Whether it is shown to crawl more pages per second than the base."""
    return bool(found and found.ratio.shown and (found.ratio.value or 0.0) > 1)


def comparisons(analysis: Analysis) -> list[Comparison]:
    pairs = [
        (point, base, label)
        for point in stats.points_of(analysis.records, NAME)
        for label in analysis.labels
        for base in (base_of(label), *rivals_of(analysis, label))
        if base != label
    ]
    return stats.compare_pairs(analysis.records, pairs, RATE) if pairs else []


def base_of(label: str) -> str:
    """``callbacks`` on the label's interpreter."""
    return replace(Label.parse(label), name=BASE, twin=False).backend


def rivals_of(analysis: Analysis, label: str) -> list[str]:
    """With the lock: on the same release, else on the newest, else on the interpreter itself."""
    mine, free = Label.parse(label), analysis.campaign.free_threaded
    if mine.name not in FREE_THREADS or mine.interpreter not in free:
        return []
    others = [one.name for one in analysis.campaign.interpreters if one.name not in free]
    same = [name for name in others if name == mine.interpreter.rstrip("t")]
    on = (same or others or [mine.interpreter])[-1]
    return [x for name in RIVALS if (x := Label(name, on).backend) in analysis.labels]


def measured(found: Sequence[Row]) -> Measured:
    measures: dict[str, Measure] = {}
    values: dict[str, dict[str, Blocks]] = defaultdict(dict)
    for row in found:
        where = f"server {row.how}" + (f", on {row.on}" if row.client else "")
        key = f"{row.point}-{len(row.client)}"
        measures[key] = Measure(where, f"a crawl, {where}", PAGES)
        values[row.label][key] = row.rates
    return Measured(measures, values)


def usable(analysis: Analysis) -> int:
    """How many processors the campaign used."""
    trials = stats.trials_of(analysis.records, NAME)
    used = {
        core for t in trials for side in ("client", "server") for core in processors_of(t, side)
    }
    return len(used) or analysis.campaign.environment.cpu_count


def not_tried(analysis: Analysis) -> list[str]:
    """What could have used every processor and did not run, each with the reason.

    Backends that the suite did not have at the time of the campaign are no part of it.
    """
    campaign = analysis.campaign
    ran = {trial.backend for trial in stats.trials_of(analysis.records, NAME)}
    names = {Label.parse(backend).name for backend in ran}
    missing = {one.name: one.missing for one in campaign.rungs if one.name in SPREADING}
    found = [
        f"`{name}`, because {why or 'it was not among the backends of this campaign'}"
        for name, why in missing.items()
        if name not in names
    ]
    if not {Label(FREE, interpreter).backend for interpreter in campaign.free_threaded} & ran:
        found.append(f"`{FREE}` without the interpreter lock, because {LOCKED}")
    return [f"Not tried: {'; '.join(found)}."] if found else []


def answer(analysis: Analysis) -> Answer | None:
    found = analysis.once(rows)
    if not found:
        return None
    number = usable(analysis)
    scales = analysis.once(laws)
    spread = [row for row in found if row.spreads or row.label in scales]
    head, untried = headline(number, spread), not_tried(analysis)
    each = [
        f"{capital(place)}, pages per second over those of `{BASE}` on one: {listing(said)}."
        for how, place in PLACES.items()
        if (said := [row.said for row in spread if row.how == how])
    ]
    return Answer(
        measured(found),
        head,
        " ".join([*each, *([FEW] if number == 2 else []), *untried, COMMAND]),
        tables=[
            tabled(
                "On all processors, against the models on one",
                COLUMNS,
                found,
                about=" ".join([ABOUT, *untried]).replace("`", ""),
                grouped=True,
            )
        ],
        figures=[figure(analysis, spread, head, untried)] if any(r.ratio for r in spread) else [],
        details=scaling_details(found, scales),
    )


def headline(number: int, spread: Sequence[Row]) -> Headline:
    everywhere = "shared" if any(row.how == "shared" for row in spread) else "apart"
    better = [row for row in spread if row.how == everywhere and gains(row.compared)]
    if not better:
        blocks = min((row.ratio.blocks for row in spread if row.ratio), default=1)
        where = f"On {plural(number, 'processor')}"
        text = f"{where}, no backend clearly crawls more pages per second than `{BASE}` on one"
        return Headline(text, plural(blocks, "block"))
    won = [(row.compared, row.on) for row in better if row.compared]
    best, on = max(won, key=lambda one: one[0].ratio.value or 0.0)
    base = f"`{best.base}` on one"
    much = against(best.ratio.value or 0.0, "fewer", "pages per second", base)
    behind = f"{interval(best)}, {plural(best.ratio.blocks, 'block')}"
    verb = conjugated(best.label, "crawl")
    return Headline(f"On {on}, `{best.label}` {verb} {much}", behind, [best])


def laws(analysis: Analysis) -> dict[str, Law | None]:
    """What ran apart from the server on several numbers of processors: the law, if there is one.

    It leaves out the numbers of processors at which the server was the limit.
    """
    rates: dict[str, dict[int, Blocks]] = defaultdict(dict)
    for row in analysis.once(rows):
        if row.how == "apart" and row.client:
            rates[row.label][len(row.client)] = {} if row.hollow else row.rates
    return {
        label: scaling.fit({n: blocks for n, blocks in mine.items() if blocks})
        for label, mine in rates.items()
        if len(mine) > 1
    }


def scaling_details(found: Sequence[Row], scales: Mapping[str, Law | None]) -> dict[str, str]:
    """The law of each label, and whether threads without the lock beat a loop and processes."""
    contests: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in sorted(found, key=lambda row: len(row.client)):
        for rival in row.rivals:
            contests[row.label, rival].append(row)
    said = [_law(label, law) for label, law in scales.items()]
    said += [_contest(*sides, rows) for sides, rows in contests.items()]
    prose, head = f"{'. '.join(said)}. {LAW if scales else ''}{PROVED}", beats_a_loop(contests)
    return {"scaling": paragraph(head, prose) if head else prose} if said else {}


def won_from(rows: Sequence[Row], rival: str) -> Row | None:
    """The fewest processors from which on every number of them is shown to beat the rival."""
    won = list(takewhile(lambda row: gains(row.rivals[rival]), reversed(rows)))
    return won[-1] if won else None


def beats_a_loop(contests: Mapping[tuple[str, str], Sequence[Row]]) -> Headline | None:
    """For threads that beat every loop they were compared with; of these, the hardest to beat."""
    mine = {
        sides: won_from(rows, sides[1])
        for sides, rows in contests.items()
        if Label.parse(sides[0]).name == FREE and Label.parse(sides[1]).name != "processes"
    }
    won = [(row, *sides) for sides, row in mine.items() if row]
    if not won or len(won) < len(mine):
        return None
    row, label, rival = max(won, key=lambda one: len(one[0].client))
    crawl = f"`{label}` {conjugated(label, 'crawl')}"
    text = f"Without the interpreter lock, {crawl} more pages per second than `{rival}`"
    ratio = row.rivals[rival].ratio
    behind = f"{SERVER[row.how]}: {cells.ratio(ratio)} times, {plural(ratio.blocks, 'block')}"
    return Headline(f"{text} on one from {row.on} on", behind, [row.rivals[rival]])


def _contest(label: str, rival: str, rows: Sequence[Row]) -> str:
    first = won_from(rows, rival)
    verdict = f"beats it from {first.on} on" if first else "is not shown to beat it"
    ratios = [f"{cells.ratio(row.rivals[rival].ratio)} on {len(row.client)}" for row in rows]
    return f"`{label}` has {listing(ratios)} times the pages per second of `{rival}`: it {verdict}"


def _law(label: str, law: Law | None) -> str:
    if law is None:
        return f"`{label}` has no law: too few blocks, or processors before the server’s limit"
    peak = f", most pages per second on {_words(law.peak)} processors" if law.peak else ""
    return f"`{label}` has σ {_words(law.sigma)}, κ {_words(law.kappa)}{peak}"


def _words(found: Parameter) -> str:
    return f"{found.value:.2g} [{found.low:.2g}–{found.high:.2g}]"


def _median(blocks: Blocks) -> float | None:
    spread = stats.spread(blocks.values())
    return spread.median if spread else None


COLUMNS: Final[Columns[Row]] = (
    (name("backend"), lambda row: row.label),
    (name("server"), lambda row: f"server {row.how}"),
    (Column("client’s processors"), lambda row: ", ".join(map(str, row.client)) or MISSING),
    (Column("server’s processors"), lambda row: ", ".join(map(str, row.server)) or MISSING),
    (
        Column("pages/s, median [min–max]"),
        lambda row: cells.spread(stats.spread(row.rates.values())),
    ),
    (
        Column(f"ratio [{stats.AT_LEVEL}]"),
        lambda row: cells.ratio(row.ratio, base=row.compared is None),
    ),
    (words("verdict"), lambda row: row.ratio.verdict if row.ratio else ""),
    (Column("CPU µs per page"), lambda row: cells.figure(_median(row.cpu))),
    (Column("trials"), lambda row: str(len(row.rates))),
)


def figure(
    analysis: Analysis, spread: Sequence[Row], head: Headline, untried: Sequence[str]
) -> Figure:
    drawn = sorted((r for r in spread if r.client and r.ratio), key=lambda r: len(r.client))
    labels, scales = list(dict.fromkeys(row.label for row in drawn)), analysis.once(laws)
    lines = {
        how: {
            label: [_point(r) for r in drawn if (r.how, r.label) == (how, label)]
            for label in labels
            if any((r.how, r.label) == (how, label) for r in drawn)
        }
        for how in PLACES
        if any(row.how == how for row in drawn)
    }
    return Figure(
        name=NAME,
        title="Many processors, against callbacks on one",
        headline=head.text.replace("`", ""),
        subtitle="Pages per second over those of callbacks on one processor, by the client’s "
        f"processors; this machine has {usable(analysis)}. {stats.AT_LEVEL} intervals over "
        + of_blocks(row.ratio.blocks for row in drawn if row.ratio),
        data=_data(lines, _curves(drawn, scales)),
        notes=(
            "What can use many processors gets all that the server leaves it, or shares all with "
            "it; callbacks has one.",
            *(["Dotted: the law of scaling, as fitted."] if any(scales.values()) else []),
            *(text.replace("`", "") for text in untried),
        ),
    )


def _point(row: Row) -> Point:
    ratio = row.ratio
    value = ratio.value if ratio and ratio.value else 1.0
    low, high = (ratio.low, ratio.high) if ratio else (None, None)
    spread = Spread(value, low or value, high or value, 2 if low else 1)
    return Point(len(row.client), spread, row.hollow)


def _curves(drawn: Sequence[Row], scales: Mapping[str, Law | None]) -> dict[str, list[Point]]:
    """The laws, from the ratio on one processor on."""
    ones = {row.label: _point(row).y.median for row in reversed(drawn) if row.how == "apart"}
    places = np.geomspace(1, max(len(row.client) for row in drawn), 40).tolist()
    return {
        label: [Point(x, Spread(y, y, y, 1)) for x in places if (y := ones[label] * law.speedup(x))]
        for label, law in scales.items()
        if law and label in ones
    }


def _data(
    lines: Mapping[str, Mapping[str, Sequence[Point]]], dotted: Mapping[str, Sequence[Point]]
) -> Data:
    """Lines by processors; bars where a place has one number of them, as on a machine with two."""
    numbers = {how: {p.x for line in mine.values() for p in line} for how, mine in lines.items()}
    if all(len(found) == 1 for found in numbers.values()):
        return Bars(
            [
                Panel(
                    f"{plural(int(*numbers[how]), 'processor')}, {SERVER[how]}",
                    {label: [point.y] for label, (point,) in mine.items()},
                    TIMES,
                )
                for how, mine in lines.items()
            ]
        )
    x = Axis("processors of the client", "counts")
    y = Axis("pages/s ÷ callbacks on one", "ratios")
    plots = [
        Plot(mine, x, y, PLACES[how], dotted if how == "apart" else {})
        for how, mine in lines.items()
    ]
    return Lines(plots, columns=len(lines))
