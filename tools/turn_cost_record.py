"""The record of :mod:`tools.turn_cost`, and the figures that it gives, block by block.

Blocks are the sample: every figure is calculated in each block, from the same processes, and
the interval is that of :func:`bench.analysis.stats.log_interval` over blocks. A page's cost is
processor time per exchange; ``steady`` is that of longer turns from 20 to 100 ms after they began.
"""

from __future__ import annotations

import gzip
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from bench import filesystem, store
from bench.analysis import stats
from bench.launch import RESULTS
from bench.plan.cast import BASE
from bench.schema import Environment, Record, TurnsRecord

RECORD: Final = RESULTS / "turn-cost" / "record.jsonl.gz"
OTHERS, ONE, ITSELF, PAUSE = "others", "one", "itself", "pause"
SWEPT, SERVER_SWEPT, FILLING = "swept", "server swept", "filling"
STOPPED: Final = -1
"""The end of the part of a turn in which it is stopped, instead of a time in milliseconds."""

STEADY_FROM_MS, STEADY_TO_MS, SUITE_MS = 20, 100, 10
WHOLE_PAGES: Final = 4000
"""Of a whole trial of a campaign (``whole-100``): its start is spread over so many."""

Blocks = Mapping[int, float]


class Head(Record):
    """The first line: where and how it was measured."""

    kind: Literal["turn-cost"] = "turn-cost"
    environment: Environment
    labels: list[str]
    pages: int
    seed: int


class Cell(Record):
    """All turns of one label, condition and length in a block: one part of them, added up."""

    label: str
    before: str  # what happened before the turn
    turn_ms: int
    from_ms: int  # since the turn began
    to_ms: int
    turns: int
    exchanges: int
    cpu_us: int
    wall_us: int


class Block(Record):
    """One block of fresh processes."""

    kind: Literal["block"] = "block"
    block: int
    wall_s: float
    load1: float | None
    steal_s: float | None
    probe_s: float
    bad: dict[str, str] = Field(default_factory=dict)  # label -> why its crawl does not count
    out_of_work: list[str] = Field(default_factory=list)  # labels that took part to the last page
    cells: list[Cell]


LINE: TypeAdapter[Head | Block] = TypeAdapter(Head | Block)


def write(file: Path, head: Head, blocks: Sequence[Block]) -> None:
    """Write everything so far; an interrupted run keeps its whole blocks."""
    lines = "".join(f"{line.model_dump_json()}\n" for line in (head, *blocks))
    with filesystem.replacing(file) as part:
        part.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


def read(file: Path = RECORD) -> tuple[Head, list[Block]]:
    """The record; raises :class:`bench.store.StoreError` for anything else."""
    lines, _ = store.load_lines(file, LINE)
    if not lines or not isinstance(lines[0], Head):
        raise store.StoreError(f"{file}: not a record of tools.turn_cost")
    return lines[0], [line for line in lines[1:] if isinstance(line, Block)]


@dataclass(frozen=True, slots=True)
class Figure:
    """A geometric mean over blocks; the interval is None with too few of them."""

    value: float
    low: float | None
    high: float | None

    @property
    def change(self) -> str:
        """As a change in per cent: ``+4.2 [3.0 to 5.1]``."""
        text = f"{100 * (self.value - 1):+.1f}"
        if self.low is None or self.high is None:
            return text
        return f"{text} [{100 * (self.low - 1):+.1f} to {100 * (self.high - 1):+.1f}]"


def figure(blocks: Blocks) -> Figure | None:
    """The mean of a positive figure; None without any."""
    logs = [math.log(value) for value in blocks.values()]
    if not logs:
        return None
    value = math.exp(math.fsum(logs) / len(logs))
    if len(logs) < stats.MIN_BLOCKS:
        return Figure(value, None, None)
    low, high = stats.log_interval(logs)
    return Figure(value, math.exp(low), math.exp(high))


def cost(blocks: Iterable[Block], label: str, wanted: Callable[[Cell], bool]) -> dict[int, float]:
    """Block -> microseconds for a page of this label, in the parts of turns that are wanted."""
    found = {}
    for block in blocks:
        mine = [c for c in block.cells if c.label == label and wanted(c)]
        exchanges, cpu_us = sum(c.exchanges for c in mine), sum(c.cpu_us for c in mine)
        if exchanges and cpu_us > 0 and label not in block.bad:
            found[block.block] = cpu_us / exchanges
    return found


def in_turns(blocks: Iterable[Block], label: str, before: str, turn_ms: int) -> dict[int, float]:
    """The cost of a page over whole turns, stopping included."""
    return cost(blocks, label, lambda c: (c.before, c.turn_ms) == (before, turn_ms))


def steady(blocks: Iterable[Block], label: str) -> dict[int, float]:
    """The cost of a page when nothing has stopped the crawl for a while."""
    return cost(
        blocks,
        label,
        lambda c: (
            (c.before == OTHERS and c.from_ms >= STEADY_FROM_MS and 0 < c.to_ms <= STEADY_TO_MS)
            and c.turn_ms >= 2 * STEADY_FROM_MS
        ),
    )


def marginal(
    blocks: Iterable[Block], label: str, shorter_ms: int, longer_ms: int
) -> dict[int, float]:
    """What a page costs that turns of one length have and those of a shorter one have not.

    Whole turns are exact: the clock of a stopped process is.
    """
    found = {}
    for block in blocks:
        less = amounts(block, label, shorter_ms) if shorter_ms else (0.0, 0.0)
        more = amounts(block, label, longer_ms)
        if less is None or more is None or label in block.bad:
            continue
        if more[0] > less[0] and more[1] > less[1]:
            found[block.block] = (more[1] - less[1]) / (more[0] - less[0])
    return found


def amounts(block: Block, label: str, turn_ms: int) -> tuple[float, float] | None:
    """Pages and processor microseconds of one turn of this length, after seven others."""
    mine = [c for c in block.cells if (c.label, c.before, c.turn_ms) == (label, OTHERS, turn_ms)]
    turns = sum(c.turns for c in mine if c.from_ms == 0)
    if not turns:
        return None
    return sum(c.exchanges for c in mine) / turns, sum(c.cpu_us for c in mine) / turns


def over(one: Blocks, other: Blocks) -> dict[int, float]:
    """The ratio, block by block."""
    return {block: one[block] / other[block] for block in sorted(one.keys() & other.keys())}


@dataclass(frozen=True, slots=True)
class Fit:
    """cpu per page = steady + refill / pages of the turn, over all lengths, in each block."""

    steady_us: Figure
    refill_us: float  # per turn: mean over blocks
    error_us: float | None  # standard error of that
    misfit: float  # the largest deviation of a length's mean cost from the fit, as a share


def fit(blocks: Sequence[Block], label: str) -> Fit | None:
    """Least squares over the lengths of each block."""
    lines: dict[int, tuple[float, float]] = {}
    residuals: dict[int, list[float]] = {}
    for block in blocks:
        if label in block.bad:
            continue
        lengths = sorted({c.turn_ms for c in block.cells if c.before == OTHERS})
        found = {ms: amounts(block, label, ms) for ms in lengths}
        points = {ms: one for ms, one in found.items() if one is not None and one[0] > 0}
        if len(points) < 3:
            continue
        pages, us = np.array(list(points.values())).T
        x, y = 1 / pages, us / pages
        slope, intercept = np.polyfit(x, y, 1)
        if intercept <= 0:
            continue
        lines[block.block] = (float(intercept), float(slope))
        for ms, have, made in zip(points, y, intercept + slope * x, strict=True):
            residuals.setdefault(ms, []).append(math.log(have / made) if made > 0 else math.nan)
    if not lines:
        return None
    refills = np.array([slope for _, slope in lines.values()])
    middle = figure({number: intercept for number, (intercept, _) in lines.items()})
    assert middle is not None, "there is a line"
    error = float(refills.std(ddof=1)) / math.sqrt(len(refills)) if len(refills) > 1 else None
    misfit = max(abs(math.expm1(float(np.nanmean(r)))) for r in residuals.values())
    return Fit(middle, float(refills.mean()), error, misfit)


def compared(blocks: Sequence[Block], label: str, turn_ms: int) -> Figure | None:
    """A label's ratio to the base in turns of this length, over their ratio when steady."""
    mine = over(in_turns(blocks, label, OTHERS, turn_ms), steady(blocks, label))
    base = over(in_turns(blocks, BASE, OTHERS, turn_ms), steady(blocks, BASE))
    return figure(over(mine, base))


def whole(blocks: Iterable[Block], label: str) -> dict[int, float]:
    """What a page of a whole trial should cost, over the steady cost: the start is part of it."""
    found = {}
    for block in blocks:
        base = steady([block], label).get(block.block)
        starts = [c for c in block.cells if (c.label, c.before) == (label, FILLING)]
        if base is not None and starts:
            extra_us = sum(c.cpu_us - base * c.exchanges for c in starts)
            found[block.block] = 1 + max(0.0, extra_us) / WHOLE_PAGES / base
    return found


def predicted(blocks: Sequence[Block], label: str) -> Figure | None:
    """A label's ratio to the base in turns, over that in whole trials, as this explains it."""

    def one(name: str) -> dict[int, float]:
        turns = over(in_turns(blocks, name, OTHERS, SUITE_MS), steady(blocks, name))
        return over(turns, whole(blocks, name))

    return figure(over(one(label), one(BASE)))


def together(ratios: Iterable[Blocks]) -> dict[int, float]:
    """The geometric mean over labels, in each block that has all of them."""
    found = list(ratios)
    shared = set.intersection(*(set(blocks) for blocks in found)) if found else set()
    return {
        number: math.exp(math.fsum(math.log(one[number]) for one in found) / len(found))
        for number in sorted(shared)
    }


def after_itself(logs: Iterable[TurnsRecord]) -> dict[str, Figure]:
    """Label -> cost in turns that follow another label's over that in turns that follow its own.

    In a campaign's rounds, a label takes two turns in a row where the order turns round, and
    where two rounds meet. Points and blocks are the sample.
    """
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for number, log in enumerate(logs):
        sums: dict[tuple[int, bool], list[int]] = defaultdict(lambda: [0, 0])
        for i in range(1, len(log.label)):
            if log.counted[i]:
                one = sums[log.label[i], log.label[i] == log.label[i - 1]]
                one[0] += log.cpu_us[i]
                one[1] += log.exchanges[i]
        for place, label in enumerate(log.labels):
            (cold_us, cold), (warm_us, warm) = sums[place, False], sums[place, True]
            if cold and warm and cold_us and warm_us:
                found[label][number] = (cold_us / cold) / (warm_us / warm)
    figures = {label: figure(blocks) for label, blocks in found.items()}
    return {label: one for label, one in figures.items() if one is not None}
