"""What the harness holds equal: does it decide the order?

Pinning and malloc were held equal once, and had decided it. So each thing that the harness fixes
is flipped in a point of its own (:func:`bench.plan.profiles.equal`). A ratio to callbacks that
changes by more than the noise floor belongs in a headline, or is set as users have it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import truediv
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Blocks, Ratio
from bench.conditions.flips import FLIPS
from bench.plan.profiles import MEMORY
from bench.questions.question import Answer, Headline, few
from bench.schema import TrialRecord
from bench.show.measured import TIMES, Measure, Measured, within
from bench.show.table import MISSING, Column, Table, name
from bench.text import listing, plural
from crawlers import registry
from crawlers.registry import MODELS

NAME: Final = "equal"
ASKS: Final = "Does what the harness holds equal decide the order?"
AS_ALWAYS, FLIPPED, CHANGE = "as_always", "flipped", "change"
MEASURES: Final = {
    AS_ALWAYS: Measure("as always", "over the base, as always", TIMES),
    FLIPPED: Measure("flipped", "over the base, flipped", TIMES),
    CHANGE: Measure("flipped ÷ as always", "flipped over as always", TIMES),
}
WORDS: Final = {
    **{name: (flip.always, flip.flipped) for name, flip in FLIPS.items()},
    MEMORY: ("memory is read of a client on one processor", "on all (KiB for a connection)"),
    "stops": ("labels take turns", "whole trials, one after the other"),
}
TURNS: Final = ("throughput-100", "whole-100")
MOVES: Final = 0.05
"""A change of a ratio by less than this share is not named."""
CHANGED: Final = "≠"
OWN_KIB: Final = stats.kib_each(*stats.OWN_PARTS)
PROSE: Final = (
    "Each backend crawled as always and with one thing flipped, in turns with each other at 100 "
    "slots. The server sleeps, because threads share its processor. Not flipped: loopback, "
    "which takes root to change."
)


def measured(analysis: Analysis) -> Measured:
    """``flip: label``: ratio to the base as always and flipped, by block."""
    values: dict[str, dict[str, Blocks]] = {}
    for flip, plain, flipped in _sides(analysis):
        for label in plain:
            change = within(flipped.get(label, {}), plain[label], truediv)
            if change and label != analysis.base:
                values[f"{flip}: {label}"] = {
                    AS_ALWAYS: plain[label],
                    FLIPPED: flipped[label],
                    CHANGE: change,
                }
    return Measured(MEASURES, values)


def _sides(analysis: Analysis) -> Iterator[tuple[str, dict[str, Blocks], dict[str, Blocks]]]:
    trials = stats.trials_of(analysis.records, NAME, twins=False)
    if not trials:
        return
    for flip in WORDS:
        here = [trial for trial in trials if trial.point == f"{NAME}-{flip}"]
        flipped = [trial for trial in here if "flipped" in trial.params]
        plain = [trial for trial in here if "flipped" not in trial.params]
        if flip == "stops":
            every = [*stats.trials_of(analysis.records, twins=False), *analysis.records.companions]
            plain, flipped = (
                [trial for trial in every if trial.point == point and trial.label in MODELS]
                for point in TURNS
            )
        if plain and flipped:
            yield flip, _over(plain, analysis.base), _over(flipped, analysis.base)


def _over(trials: list[TrialRecord], base: str) -> dict[str, Blocks]:
    """Label -> block -> what it costs, over the base with a server in the same state."""
    values: dict[tuple[bool, str], dict[int, float]] = defaultdict(dict)
    for trial in trials:
        value = OWN_KIB(trial) if trial.memory else stats.CPU_PER_1000.value(trial)
        if value:
            values[stats.polled(trial), trial.label][trial.block] = value
    return {
        label: within(blocks, values[state, base], truediv)
        for (state, label), blocks in values.items()
        if (state, base) in values
    }


def answer(analysis: Analysis) -> Answer | None:
    ratios = measured(analysis)
    if not ratios.values:
        return None
    changes = {row: _change(analysis, ratios, row) for row in ratios.values}
    moved = [row for row, change in changes.items() if change.shown]
    base = analysis.base
    head, table = _headline(moved, changes, base), _table(ratios, changes, base)
    return Answer(head, PROSE, [table])


def _change(analysis: Analysis, measured: Measured, row: str) -> Ratio:
    # Not corrected for the others: to miss a change is worse here than to name one too many.
    values = measured.values[row]
    floor = max(analysis.floor(stats.CPU_PER_1000).log or 0.0, math.log1p(MOVES))
    metric = stats.CPU_PER_1000
    return stats.ratio(values[AS_ALWAYS], values[FLIPPED], floor=floor, metric=metric)


def _headline(moved: list[str], changes: Mapping[str, Ratio], base: str) -> Headline:
    flips = list(dict.fromkeys(row.partition(":")[0] for row in moved))
    blocks = min(change.blocks for change in changes.values())
    text = f"{listing(flips)} change" if len(flips) > 1 else f"{listing(flips)} changes"
    if not moved:
        text = "Nothing that is held equal changes"
    more = ", not corrected for their number" * bool(moved)
    behind = f"{len(moved)} of {plural(len(changes), 'ratio')}{more}, {plural(blocks, 'block')}"
    only = few(blocks)
    return Headline(
        f"{text} a ratio to {base} by more than 5 %{only}", "no interval" if only else behind
    )


def _table(measured: Measured, changes: Mapping[str, Ratio], base: str) -> Table:
    labels = sorted({row.partition(": ")[2] for row in measured.values}, key=registry.names().index)
    flips = list(dict.fromkeys(row.partition(": ")[0] for row in measured.values))
    rows = [
        [flip, *WORDS[flip], *(_cell(measured, changes, f"{flip}: {label}") for label in labels)]
        for flip in flips
    ]
    heads = ["as always", "flipped", *(f"{label}, × {base}" for label in labels)]
    about = (
        f"Processor time per crawled page over that of {base}, as always → flipped, geometric mean "
        f"of the blocks. {CHANGED}: the change exceeds 5 % and the noise floor. Where nothing "
        "changes, about one ratio in a hundred has it all the same."
    )
    return Table("What is held equal", [name("flip"), *map(Column, heads)], rows, about=about)


def _cell(measured: Measured, changes: Mapping[str, Ratio], row: str) -> str:
    if row not in changes:
        return MISSING
    before, after = (measured.value(row, key) for key in (AS_ALWAYS, FLIPPED))
    text = f"{before:.2f} → {after:.2f}"
    return f"{text} {CHANGED}" if changes[row].shown else text
