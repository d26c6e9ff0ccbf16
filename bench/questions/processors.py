"""What do several processors gain?

In every other point ``processes`` and ``subinterpreters`` have one processor, as a client with one
thread has. Here these and all with several threads get every processor: all but the server's
(``apart``), or all of them (``shared``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Blocks, Comparison, Ratio
from bench.plan.participants import BASE, SPREADING, Label
from bench.questions.question import Answer, Headline
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.table import MISSING, CellMakers, Column, name, tabled, words
from bench.show.words import against, conjugated, interval
from bench.text import plural

NAME: Final = "processors"
ASKS: Final = "What do several processors gain?"
ACROSS: Final = True
RATE: Final = replace(stats.PAGES_PER_S, workloads=(NAME,))

ABOUT: Final = (
    "Whole trials of one crawl at 100 slots, without delay; ratios of pages per second are to "
    "callbacks in the same blocks. Loops have one processor. What can use more gets all but the "
    "server’s where the server is apart, and all of them, as the server does, where it shares "
    "them. The server sleeps between requests in all of these trials, so their rates are not "
    "those of points whose server polls. CPU is that of all the client’s processes."
)
COMMAND: Final = "To measure it: `python -m bench run --profile full --only processors`."
FEW: Final = (
    "Two processors cannot show what more of them would gain: one is left beside the server’s, or "
    "client and server share both."
)


@dataclass(frozen=True, slots=True)
class ProcessorsRow:
    """One label at one point: where it ran, and how many pages a second that gave."""

    how: str  # "apart" or "shared"
    label: str
    client: Collection[int]  # its processors
    rates: Blocks
    cpu: Blocks  # µs for a page, all processes of the client together
    compared: Comparison | None  # pages per second over those of the base; None for the base
    hollow: bool  # the server was the limit

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


def rows(analysis: Analysis) -> list[ProcessorsRow]:
    points = stats.points_of(analysis.records, NAME)
    pairs = [  # with ``callbacks`` on the label's interpreter
        (point, base, label)
        for point in points
        for label in analysis.labels
        if (base := replace(Label.parse(label), name=BASE, condition="").backend) != label
    ]
    compared = {(c.point, c.label): c for c in stats.compare_pairs(analysis.records, pairs, RATE)}
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in stats.trials_of(analysis.records, NAME, twins=False):
        if trial.pages_per_s is not None:
            groups[trial.point, trial.label].append(trial)
    return [
        ProcessorsRow(
            how=str(trials[0].params.get("processors")),
            label=label,
            client=stats.processors(trials[0], "client"),
            rates={t.block: t.pages_per_s or 0.0 for t in trials},
            cpu={t.block: cost for t in trials if (cost := stats.CPU_PER_1000.value(t))},
            compared=compared.get((point, label)),
            hollow=stats.limiter_of(trials) == "server",
        )
        for point in points
        for label in analysis.labels
        if (trials := groups[point, label])
    ]


def answer(analysis: Analysis) -> Answer | None:
    places = rows(analysis)
    if not places:
        return None
    machine = analysis.campaign.environment.cpu_count
    spread = [row for row in places if row.spreads]
    head = headline(machine, spread)
    caption = "On all processors, against the models on one"
    notes = ["○: limited by the server."] * any(row.hollow for row in places)
    return Answer(
        head,
        f"{FEW} {COMMAND}" if machine == 2 else COMMAND,
        tables=[tabled(caption, COLUMNS, places, about=ABOUT, notes=notes, grouped=True)],
    )


def headline(machine: int, spread: Sequence[ProcessorsRow]) -> Headline | None:
    everywhere = "shared" if any(row.how == "shared" for row in spread) else "apart"
    here = [
        (row.compared, row.on)
        for row in spread
        if row.how == everywhere and row.compared and row.compared.ratio.blocks
    ]
    if not here:
        return None
    gained = [(c, on) for c, on in here if c.ratio.shown and (c.ratio.value or 0.0) > 1]
    if not gained:
        blocks = min(compared.ratio.blocks for compared, _ in here)
        text = f"no backend clearly crawls more pages per second than `{BASE}` on one"
        return Headline(f"On {plural(machine, 'processor')}, {text}", plural(blocks, "block"))
    best, on = max(gained, key=lambda pair: pair[0].ratio.value or 0.0)
    much = against(best.ratio.value or 0.0, "fewer", "pages per second", f"`{best.base}` on one")
    text = f"On {on}, `{best.label}` {conjugated(best.label, 'crawl')} {much}"
    return Headline(text, f"{interval(best)}, {plural(best.ratio.blocks, 'block')}", [best])


RATES, RATIO = "pages/s [min–max]", f"ratio [{stats.AT_LEVEL}]"
COLUMNS: Final[CellMakers[ProcessorsRow]] = (
    (name("backend"), lambda row: row.label),
    (name("server"), lambda row: f"server {row.how}"),
    (Column("client’s processors"), lambda row: str(len(row.client) or MISSING)),
    (Column(RATES), lambda row: cells.spread(stats.spread(row.rates.values())) + " ○" * row.hollow),
    (Column(RATIO), lambda row: cells.ratio(row.ratio, base=Label.parse(row.label).name == BASE)),
    (words("verdict"), lambda row: row.ratio.verdict if row.ratio else ""),
    (Column("CPU µs per page"), lambda row: cells.figure(stats.middle(row.cpu.values()))),
    (Column("trials"), lambda row: str(len(row.rates))),
)
