"""Two campaigns on two machines, in words: which verdicts another processor confirms.

The figures of a campaign are those of its machine. A ratio is taken within a block and should
travel better; how well, only a second machine can tell. The reference is the later campaign here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

import numpy as np

from bench.analysis import stats
from bench.analysis.changed import Change, Changes
from bench.analysis.changed_words import POINTS, SAME, WHAT, build, instruments
from bench.analysis.release_words import costs, much, release, shift, table
from bench.analysis.stats import Metric
from bench.analysis.wording import percent
from bench.schema.past import PastCampaign, PastRatio
from bench.text import count, listing, markdown_table, plural

MOST: Final = 0.9
"""The share of all ratios for which a bound is told."""

FEW: Final = 5
"""Backends without which no median of them is told."""

WORTH: Final = 1.15
"""A ratio that is less apart on the two machines is left out of the lists."""

_NOISE: Final = re.compile(r"\((?:R|TM)\)|\bProcessor\b|\bCPU\b|@.*", re.IGNORECASE)


def differ(past: PastCampaign, now: PastCampaign) -> bool:
    """Whether these words fit: both took turns, on one Python release, on machines that differ."""
    if not (past.turns and now.turns and past.machine and now.machine):
        return False
    return release(past) == release(now) and past.machine != now.machine


def machine(one: PastCampaign) -> str:
    """The processor as people call it: "Intel Xeon" of "2 × Intel(R) Xeon(R) Processor"."""
    model = one.machine.rpartition(" × ")[2]
    return " ".join(_NOISE.sub(" ", model).split()) or model


def markdown(found: Changes, again: PastCampaign | None = None) -> str:
    """The paragraphs, the table of what most people compare, and the lists of what differs.

    ``again`` is a second campaign of the other machine.
    """
    here, there = machine(found.now), machine(found.past)
    parts = [sides(found)]
    if not found.every:
        return f"{parts[0]} No pair was compared in both."
    parts += [verdicts(found), *([] if again is None else [repeated(found.past, again)])]
    parts += absolute(found)
    if rows := table(found, machine):
        parts.append("\n".join(rows))
    if why := cause(found):
        parts.append(why)
    apart = [one for one in costs(found) if one.apart and far(one) >= WORTH]
    for title, mine in (
        ("In opposite directions", [one for one in found.every if one.kind == "reversed"]),
        (
            "Different on one machine, and denied by the other",
            [one for one in found.every if denied(one)],
        ),
        (
            f"Of another size, by {percent(WORTH)} % or more, at 100 slots",
            [one for one in apart if one.kind == "size"],
        ),
    ):
        if mine:
            mine.sort(key=far, reverse=True)
            lines = (f"- {sentence(one, here, there)}" for one in mine)
            parts.append("\n".join([f"**{title}**", "", *lines]))
    return "\n\n".join(parts)


def sides(found: Changes) -> str:
    """Which campaigns, on which machines, with which noise floors."""
    past, now = found.past, found.now
    told = [instruments(found), f"The first ran on {past.machine}, the second on {now.machine}."]
    if (past.python, past.build) == (now.python, now.build):
        told.append("Both had the same build of Python.")
    else:
        told.append(f"Python was {past.python} ({build(past)}) and {now.python} ({build(now)}).")
    floors = [
        f"±{first:.1f} and ±{second:.1f} % for {what}"
        for name, (_, _, what) in WHAT.items()
        if (first := past.floors.get(name)) is not None
        and (second := now.floors.get(name)) is not None
    ]
    if floors:
        told.append(f"Their noise floors: {listing(floors)}.")
    return " ".join(told)


def verdicts(found: Changes) -> str:
    """How many verdicts agree, and how far the ratios are from each other."""
    both = [one for one in found.every if shown_then(one) and one.now.shown]
    turned = [one for one in both if one.kind == "reversed"]
    single = [one for one in found.every if shown_then(one) != one.now.shown]
    neither = len(found.every) - len(both) - len(single)
    told = [
        f"Both compared {plural(len(found.every), 'pair')}. {count(len(both) - len(turned))} "
        f"differ on both machines in the same direction, {count(len(turned))} in opposite "
        f"directions. {count(len(single))} are shown to differ on one machine only: the other "
        f"machine denies {count(sum(map(denied, single)))} of these, and cannot decide the rest. "
        f"{count(neither)} are shown to differ on neither."
    ]
    for metric in (stats.CPU_PER_1000, stats.PAGES_PER_S):
        if told_of := distances(both, metric):
            told.append(told_of)
    return " ".join(told)


def distances(both: Sequence[Change], metric: Metric) -> str | None:
    """How far the ratios that differ on both machines are from each other."""
    mine = [one for one in both if one.metric is metric]
    if not mine:
        return None
    widest = max(mine, key=far).then
    return (
        f"Ratios of {WHAT[metric.name][2]} {_spread([far(one) for one in mine])}; the farthest, "
        f"`{widest.label}` against `{widest.base}` at {widest.point}, by "
        f"{percent(max(map(far, mine)))} %."
    )


def _spread(factors: Sequence[float]) -> str:
    bound = float(np.quantile(factors, MOST))
    return (
        f"differ by {percent(median(factors))} % in the median and nine in ten by at most "
        f"{percent(bound)} %"
    )


def repeated(first: PastCampaign, second: PastCampaign) -> str:
    """How far a machine is from itself: two campaigns of it, by the ratios shown in both."""
    shown = {(one.metric, one.point, one.base, one.label): one for one in _shown(first)}
    pairs = [
        (one, other)
        for other in _shown(second)
        if (one := shown.get((other.metric, other.point, other.base, other.label)))
    ]
    head = (
        f"**The machine, or the moment?** Campaign `{second.campaign}` measured a part once more "
        f"on the {machine(first)}."
    )
    if not pairs:
        return f"{head} No pair differs in both."
    factors = [max(a.value / b.value, b.value / a.value) for a, b in pairs]
    turned = sum((a.value > 1) != (b.value > 1) for a, b in pairs)
    apart = sum(a.low > b.high or a.high < b.low for a, b in pairs)
    return (
        f"{head} Of {plural(len(pairs), 'ratio')} that differ from 1 in both, {count(turned)} "
        f"changed direction and the 95 % intervals of {count(apart)} do not overlap. They "
        f"{_spread(factors)}. A larger distance between two machines is the work of the machine."
    )


def _shown(one: PastCampaign) -> list[PastRatio]:
    words = {word for metric in stats.METRICS for word in (metric.more, metric.less)}
    return [ratio for ratio in one.ratios if ratio.verdict in words]


def cause(found: Changes) -> str | None:
    """How much of the distance comes from user time and kernel time having other prices."""
    here, there = machine(found.now), machine(found.past)
    rows = []
    for point in found.now.split:
        now, past = found.now.split[point], found.past.split.get(point, {})
        labels = [name for name in now if name in past and name != found.now.base]
        if len(labels) < FEW or found.now.base not in past or found.now.base not in now:
            continue
        factors = [
            median(past[name][part] / now[name][part] for name in labels if now[name][part] > 0)
            for part in (0, 1)
        ]
        scaled = {
            name: (user * factors[0], kernel * factors[1]) for name, (user, kernel) in now.items()
        }
        far_apart = [
            median(_off(past, other, name, found.now.base) for name in labels)
            for other in (now, scaled)
        ]
        rows.append(
            [point, len(labels), *(f"{factor:.2f}" for factor in factors)]
            + [f"{percent(value)} %" for value in far_apart]
        )
    if not rows:
        return None
    head = ["", "backends", "user", "kernel", "ratios apart", "with both factors"]
    return "\n".join(
        [
            f"**Why sizes differ.** User time, which is Python's own work, and kernel time have "
            f"other prices on the {there} than on the {here}. The first two factors are medians "
            f"over backends. Then: how far the ratios to `{found.now.base}` are apart, in the "
            f"median, as measured and after the two parts on the {here} are multiplied by the "
            "factors. What is left has other causes, such as caches, which we have not separated.",
            "",
            *markdown_table(head, rows, right=len(head) - 1),
        ]
    )


def _off(
    past: Mapping[str, tuple[float, float]],
    now: Mapping[str, tuple[float, float]],
    name: str,
    base: str,
) -> float:
    """By what factor two ratios to the base differ, at least 1."""
    first, second = (sum(one[name]) / sum(one[base]) for one in (past, now))
    return max(first / second, second / first)


def absolute(found: Changes) -> list[str]:
    """What the base takes on each machine, and whether a connection takes the same memory."""
    past, now = found.past, found.now
    told = []
    point = next((p for p in POINTS if p in past.base_ms and p in now.base_ms), None)
    if point is not None and past.base == now.base:
        first, second = past.base_ms[point], now.base_ms[point]
        near = max(first, second) < SAME * min(first, second)
        told.append(
            f"`{now.base}` took {first:.1f} ms of processor time for 1000 pages at {point} on the "
            f"{machine(past)}, and {second:.1f} ms on the {machine(now)}"
            + (", which is about the same." if near else ".")
        )
    ratios = [past.memory[name] / now.memory[name] for name in now.memory if name in past.memory]
    if ratios:
        sizes = sorted(max(ratio, 1 / ratio) for ratio in ratios)
        told.append(
            f"A connection's memory, user and kernel, differs by {percent(median(sizes))} % in "
            f"the median of {plural(len(sizes), 'backend')}, and by at most "
            f"{percent(sizes[-1])} %."
        )
    return [" ".join(told)] if told else []


def denied(one: Change) -> bool:
    """Whether one machine shows a difference that the interval of the other excludes."""
    return shown_then(one) != one.now.shown and one.apart


def shown_then(one: Change) -> bool:
    """Whether the earlier campaign showed a difference."""
    return one.then.verdict in (one.metric.more, one.metric.less)


def far(one: Change) -> float:
    """By what factor the two ratios differ, at least 1."""
    return math.exp(abs(math.log(shift(one))))


def sentence(one: Change, here: str, there: str) -> str:
    """A ratio on both machines."""
    then = one.then
    _, less, what = WHAT[one.metric.name]
    return (
        f"`{then.label}` against `{then.base}` at {then.point}, {what}: "
        f"{much(*one.present, less)} on the {here}, "
        f"{much(then.value, then.low, then.high, less)} on the {there}."
    )
