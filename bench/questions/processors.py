"""What do several processors gain?

In every other point a client with one thread has one processor, because it can use no more, and so
have ``processes``, ``subinterpreters`` and ``partition``. Here these and all with several threads
get every processor: all but the server's (``apart``), or all of them, the server's included
(``shared``). Which processors each side had is in the record of each trial.

What has threads and no lock is compared with one loop and with processes on as many processors,
both on an interpreter with the lock if one was measured: that is what people would run in its
place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison, Ratio
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
    for found in comparisons(analysis):
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


def usable(found: Sequence[Row], analysis: Analysis) -> int:
    """How many processors the campaign used."""
    used = {core for row in found for core in (*row.client, *row.server)}
    return len(used) or analysis.campaign.environment.cpu_count


def answer(analysis: Analysis) -> Answer | None:
    found = rows(analysis)
    if not found:
        return None
    number, spread = usable(found, analysis), spreading(found)
    head = headline(number, spread)
    each = [
        f"{capital(place)}, pages per second over those of `{BASE}` on one: {listing(said)}."
        for how, place in PLACES.items()
        if (said := [row.said for row in spread if row.how == how])
    ]
    return Answer(
        measured(found),
        head,
        " ".join([*each, *([FEW] if number == 2 else []), COMMAND]),
        tables=[
            tabled(
                "On all processors, against the models on one",
                COLUMNS,
                found,
                about=ABOUT,
                grouped=True,
            )
        ],
        figures=[figure(number, spread, head)] if any(row.ratio for row in spread) else [],
        details=contested(found),
    )


def spreading(found: Sequence[Row]) -> list[Row]:
    """What was given all processors that it could use, and on fewer of them, too."""
    several = {row.label for row in found if row.how == "apart" and len(row.client) > 1}
    return [
        row
        for row in found
        if Label.parse(row.label).name in SPREADING or len(row.client) > 1 or row.label in several
    ]


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


def contested(found: Sequence[Row]) -> dict[str, str]:
    """Whether threads without the lock beat a loop and processes."""
    contests: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in sorted(found, key=lambda row: len(row.client)):
        for rival in row.rivals:
            contests[row.label, rival].append(row)
    if not contests:
        return {}
    said = [_contest(*sides, rows) for sides, rows in contests.items()]
    prose, head = f"{'. '.join(said)}. {PROVED}", beats_a_loop(contests)
    return {"scaling": paragraph(head, prose) if head else prose}


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


COLUMNS: Final[Columns[Row]] = (
    (name("backend"), lambda row: row.label),
    (name("server"), lambda row: f"server {row.how}"),
    (Column("client’s processors"), lambda row: ", ".join(map(str, row.client)) or MISSING),
    (Column("server’s processors"), lambda row: ", ".join(map(str, row.server)) or MISSING),
    (
        Column("pages/s, median [min–max]"),
        lambda row: cells.spread(stats.spread(row.rates.values())),
    ),
    (Column("ratio [95 %]"), lambda row: cells.ratio(row.ratio, base=row.compared is None)),
    (words("verdict"), lambda row: row.ratio.verdict if row.ratio else ""),
    (Column("CPU µs per page"), lambda row: cells.figure(stats.middle(row.cpu.values()))),
    (Column("trials"), lambda row: str(len(row.rates))),
)


def figure(number: int, spread: Sequence[Row], head: Headline) -> Figure:
    lines: dict[str, dict[str, list[Point]]] = {how: defaultdict(list) for how in PLACES}
    for row in sorted(spread, key=lambda row: len(row.client)):
        if row.client and row.ratio and (found := row.ratio.spread):
            lines[row.how][row.label].append(Point(len(row.client), found, row.hollow))
    drawn = {how: mine for how, mine in lines.items() if mine}
    points = [point for mine in drawn.values() for line in mine.values() for point in line]
    return Figure(
        name=NAME,
        title="Many processors, against callbacks on one",
        headline=head.text.replace("`", ""),
        subtitle="Pages per second over those of callbacks on one processor, by the client’s "
        f"processors; this machine has {number}. 95 % intervals over "
        + of_blocks(point.y.count for point in points),
        data=_data(drawn),
        notes=(
            "What can use many processors gets all that the server leaves it, or shares all with "
            "it; callbacks has one.",
        ),
    )


def _data(lines: Mapping[str, Mapping[str, Sequence[Point]]]) -> Data:
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
    plots = [Plot(mine, x, y, PLACES[how]) for how, mine in lines.items()]
    return Lines(plots, columns=len(lines))
