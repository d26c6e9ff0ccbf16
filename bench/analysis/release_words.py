"""Two campaigns on two Python releases, in words: what keeps its ratios, and what does not.

Another release is another program, so a figure that has moved was not wrong. Interpreters are
built differently, so no absolute figure of one is compared with the other's: every ratio is to a
backend in the same blocks of the same campaign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.changed import Change, Changes
from bench.analysis.changed_words import build, instruments, ratio
from bench.analysis.wording import between, change
from bench.schema.past import PastCampaign
from bench.text import count, listing, markdown_table, plural

POINTS: Final = {"throughput-100": "crawled", "fetch-100": "fetched"}
"""The columns of the table, and what a page is in each."""

LADDER: Final = "ladder-100"

WORTH: Final = 1.05
"""A ratio that has changed by less is left out of the lists, even if no interval overlaps."""


def differ(past: PastCampaign, now: PastCampaign) -> bool:
    """Whether these words fit: both campaigns took turns, on different Python releases."""
    return past.turns and now.turns and release(past) != release(now)


def release(one: PastCampaign) -> tuple[str, ...]:
    """``CPython 3.11`` of ``CPython 3.11.7``, as a tuple to compare."""
    name, _, version = one.python.partition(" ")
    return name, *version.split(".")[:2]


def markdown(found: Changes) -> str:
    """The paragraph, the table of what most people compare, and the lists of what has changed."""
    parts = [paragraph(found)]
    if rows := table(found):
        parts.append("\n".join(rows))
    moved = [one for one in costs(found) if one.apart and abs(shift(one) - 1) >= WORTH - 1]
    for title, mine in (
        (f"Dearer on {found.now.python}", [one for one in moved if shift(one) > 1]),
        (f"Cheaper on {found.now.python}", [one for one in moved if shift(one) < 1]),
    ):
        if mine:
            mine.sort(key=lambda one: max(shift(one), 1 / shift(one)), reverse=True)
            parts.append("\n".join([f"**{title}**", "", *(f"- {sentence(one)}" for one in mine)]))
    return "\n\n".join(parts)


def paragraph(found: Changes) -> str:
    """Which campaigns, what they share, and how many of their ratios agree."""
    past, now = found.past, found.now
    told = [
        instruments(found),
        f"The builds differ ({build(past)}; {build(now)}), so no absolute figure of one is "
        "compared with the other's. Every ratio is to another backend in the same blocks.",
    ]
    for first, second in ((past, now), (now, past)):
        if alone := sorted(first.described.keys() - second.described.keys()):
            told.append(f"Only {first.python} has {listing([f'`{name}`' for name in alone])}.")
    if found.every:
        apart = [one for one in found.every if one.apart]
        turned = [one for one in apart if one.kind == "reversed"]
        told.append(
            f"Both compared {plural(len(found.every), 'pair')}. The 95 % intervals of "
            f"{count(len(found.every) - len(apart))} overlap, and {count(len(turned))} of the "
            "others show a difference in the opposite direction."
        )
    return " ".join(told)


def costs(found: Changes) -> list[Change]:
    """The changes by processor time per page, at the points that the words are about."""
    wanted = (*POINTS, LADDER)
    mine = [one for one in found.every if one.metric is stats.CPU_PER_1000]
    return [one for one in mine if one.then.point in wanted]


def version(one: PastCampaign) -> str:
    """``3.11.7`` of ``CPython 3.11.7``."""
    return one.python.removeprefix("CPython ")


def table(found: Changes, name: Callable[[PastCampaign], str] = version) -> list[str]:
    """Ratios to the base side by side: one row per backend, two columns per point.

    ``name`` is how the head of a column calls a campaign.
    """
    base = found.now.base
    ratios = {
        (one.then.point, one.then.label): one for one in costs(found) if one.then.base == base
    }
    labels = [label for point, label in ratios if point == next(iter(POINTS))]
    if not labels:
        return []
    head = [f"{what}, {name(one)}" for what in POINTS.values() for one in (found.past, found.now)]
    rows = [
        [f"`{label}`", *(cell for point in POINTS for cell in cells(ratios.get((point, label))))]
        for label in labels
    ]
    return [
        f"Processor time per page divided by that of `{base}`, with 95 % intervals:",
        "",
        *markdown_table(["", *head], rows, right=len(head)),
    ]


def cells(one: Change | None) -> Sequence[str]:
    """A ratio in each campaign."""
    if one is None:
        return "", ""
    then = one.then
    return ratio(then.value, then.low, then.high), ratio(*one.present)


def shift(one: Change) -> float:
    """By what the ratio has been multiplied."""
    return one.present[0] / one.then.value


def sentence(one: Change) -> str:
    """A ratio in both campaigns: "`trio` against `callbacks` at ladder-100: 18 % more …"."""
    then = one.then
    return (
        f"`{then.label}` against `{then.base}` at {then.point}: {much(*one.present)}; was "
        f"{much(then.value, then.low, then.high)}."
    )


def much(value: float, low: float, high: float, less: str = "less") -> str:
    """A ratio as a change with its interval; as a ratio where it may be none."""
    if low < 1 < high:
        return f"undecided, {ratio(value, low, high)}"
    return f"{change(value, less)} ({between(value, low, high)})"
