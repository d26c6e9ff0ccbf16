"""What a later campaign changed in the words of an earlier one: a paragraph, and the list.

Every sentence is made from the two campaigns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from bench.analysis import changed, stats
from bench.analysis.changed import DECIDED, WRONG, Change, Changes, Kind
from bench.analysis.stats import Metric
from bench.analysis.wording import between, change, percent
from bench.schema.past import PastCampaign
from bench.text import count, listing, plural
from crawlers.registry import MODELS

NAME: Final = "changed"
"""The generated part of a Markdown file that holds these words."""

WHAT: Final[Mapping[str, tuple[str, str, str]]] = {
    stats.CPU_PER_1000.name: ("takes", "less", "processor time per page"),
    stats.PAGES_PER_S.name: ("fetches", "fewer", "pages per second"),
}
"""Metric -> the verb, the word for less, and what is counted."""

POINTS: Final = ("throughput-100", "ladder-100")
"""Where the base is looked at, the first that both have."""

SAME: Final = 1.05
"""A base that costs less than this many times as much is the same."""

BY_CHANCE: Final = 0.05
"""The share of pairs of 95 % intervals that chance leaves apart, at most."""


def markdown(found: Changes, claims: Mapping[str, str] | None = None) -> str:
    """The paragraph, then each part that has something to list.

    ``claims`` are the verdicts on well-known claims now, by title.
    """
    parts = [paragraph(found)]
    for title, lines in (
        ("Published, and wrong", _told(found, *WRONG)),
        ("Published as undecided, and decided now", _told(found, *DECIDED)),
        (
            "Well-known claims whose verdict reads otherwise, some after a closer experiment",
            claims_lines(found.past, claims or {}),
        ),
        ("What else is not the same", others(found)),
    ):
        if lines:
            parts.append("\n".join([f"**{title}**", "", *(f"- {line}" for line in lines)]))
    return "\n\n".join(parts)


def wrapped(words: str) -> str:
    """The same Markdown in lines of 100 columns, for a document; rows of tables stay whole."""
    return "\n".join(
        line
        if line.startswith("|")
        else textwrap.fill(
            line,
            100,
            subsequent_indent="  " if line.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in words.splitlines()
    )


def _told(found: Changes, *kinds: Kind) -> list[str]:
    other = changed.other_work(found.every)
    lines = []
    for one in changed.published(found.of(*kinds)):
        mine = [f"`{name}`" for name in (one.then.label, one.then.base) if name in other]
        also = f" The work per page of {listing(mine)} is not the same either." if mine else ""
        lines.append(sentence(one) + also)
    return lines


def paragraph(found: Changes) -> str:
    """What the later instrument sees, and what it does to the verdicts of the earlier one."""
    told = [instruments(found), floors(found)]
    if not found.every:
        return " ".join([*told, "No pair was compared in both, so no verdict can be checked."])
    return " ".join([*told, undecided(found), shown(found), intervals(found)])


def instruments(found: Changes) -> str:
    """Which campaigns, when, on what, and how long they took."""
    first, second = (
        f"`{one.campaign}` ({one.created[:10]}, {one.python}, "
        f"{'interleaved turns' if one.turns else 'whole trials'}{took(one)})"
        for one in (found.past, found.now)
    )
    return f"Campaign {first} is held against campaign {second}."


def took(one: PastCampaign) -> str:
    """How long a campaign took; empty where it did not end."""
    return "" if one.wall_s is None else f", {plural(round(one.wall_s / 60), 'minute')}"


def floors(found: Changes) -> str:
    """The noise floor, then and now."""
    told = []
    for name, (_, _, what) in WHAT.items():
        then, now = (one.floors.get(name) for one in (found.past, found.now))
        if then is not None and now is not None:
            told.append(f"from ±{then:.1f} % to ±{now:.1f} % of {what}")
    return f"The noise floor went {listing(told)}." if told else "The noise floors are not known."


def undecided(found: Changes) -> str:
    """What became of the pairs that the earlier one left undecided."""
    seen, same = found.of("seen"), found.of("same")
    still = [c for c in found.of("open") if c.then.verdict not in ("equivalent", *_shown())]
    before = len(seen) + len(same) + len(still)
    head = f"Both compared {plural(len(found.every), 'pair')}."
    if not before:
        return f"{head} The earlier one left none of them undecided."
    text = f"{head} The earlier one left {count(before)} undecided, which reads as no difference"
    if not seen:
        return f"{text}; no difference is shown now either."
    sizes = sorted(max(value, 1 / value) for c in seen if (value := c.now.value))
    return (
        f"{text}. Of these, {count(len(seen))} have one, from {percent(sizes[0])} to "
        f"{percent(sizes[-1])} % (median {percent(median(sizes))} %), {count(len(same))} are now "
        f"shown to be equivalent, and {count(len(still))} are still undecided."
    )


def _shown() -> tuple[str, ...]:
    return tuple(word for metric in stats.METRICS for word in (metric.more, metric.less))


def shown(found: Changes) -> str:
    """What became of the verdicts that the earlier one gave."""
    kinds: Sequence[tuple[Kind, str]] = (
        ("confirmed", "{} confirmed"),
        ("size", "{} of another size in the same direction"),
        ("gone", "{} not there"),
        ("reversed", "{} in the other direction"),
        ("unequal", "{} different where it said equivalent"),
    )
    told = [words.format(len(mine)) for kind, words in kinds if (mine := found.of(kind))]
    loose = [c for c in found.of("open") if c.then.verdict in ("equivalent", *_shown())]
    told += [f"{len(loose)} undecided now"] if loose else []
    return f"Its other verdicts: {listing(told)}." if told else "It gave no other verdicts."


def intervals(found: Changes) -> str:
    """How many intervals exclude each other, and whether chance explains it."""
    apart = [c for c in found.every if c.apart]
    share = len(apart) / len(found.every)
    text = f"The 95 % intervals of {count(len(apart))} pairs ({100 * share:.0f} %) do not overlap"
    if share <= BY_CHANCE:
        return f"{text}, as chance explains."
    other = changed.other_work(found.every)
    mine = [c for c in apart if c.then.label in other or c.then.base in other]
    why = (
        f" {count(len(mine))} of them concern {listing([f'`{name}`' for name in other])}, which "
        "do other work per page now."
        if mine
        else ""
    )
    return (
        f"{text}. Chance leaves at most 5 in 100 apart, so more than the noise has changed.{why} "
        "What else is not the same stands below."
    )


def sentence(one: Change) -> str:
    """A published figure, and what it is now."""
    then, now = one.then, one.now
    where = listing(then.published)
    value, low, high = one.present
    if one.kind in DECIDED:
        said = (
            f"{where}: no difference shown between `{then.label}` and `{then.base}` in "
            f"{WHAT[one.metric.name][2]} at {then.point}, {ratio(then.value, then.low, then.high)}"
        )
    else:
        said = f"{where}: `{then.label}` {_much(one.metric, then.value, then.base)} at {then.point}"
        said += f" ({between(then.value, then.low, then.high)})"
    if one.kind == "same":
        return f"{said}. Now: equivalent within ±{100 * (now.margin or 0):.0f} %."
    if not now.shown:
        return f"{said}. Now: {now.verdict}, {ratio(value, low, high)}."
    _, less, _ = WHAT[one.metric.name]
    return f"{said}. Now: {change(value, less)} ({between(value, low, high)})."


def ratio(value: float, low: float, high: float) -> str:
    """A ratio with its interval: ``0.92 [0.75–1.13]``."""
    return f"{value:.2f} [{low:.2f}–{high:.2f}]"


def _much(metric: Metric, value: float, base: str) -> str:
    verb, less, what = WHAT[metric.name]
    much = change(value, less)
    return f"{verb} {much} {what} {'as' if 'times' in much else 'than'} `{base}`"


def claims_lines(past: PastCampaign, now: Mapping[str, str]) -> list[str]:
    """The well-known claims whose verdict reads otherwise now."""
    return [
        f"*{claim.title}*: {claim.verdict}. Now: {now[claim.title]}."
        for claim in past.claims
        if claim.title in now and now[claim.title] != claim.verdict
    ]


def others(found: Changes) -> list[str]:
    """What else may have moved the figures: interpreter, work per page, and what backends are."""
    past, now = found.past, found.now
    lines = []
    if (past.python, past.build) != (now.python, now.build):
        first, second = (f"{one.python} ({build(one)})" for one in (past, now))
        lines.append(f"The interpreter: {first} then, {second} now.")
    if past.polls != now.polls:
        first, second = ("polled" if one.polls else "slept between requests" for one in (past, now))
        lines.append(
            f"The server {first} in the earlier campaign and {second} in the later one. Waking it "
            "is part of a page only if it sleeps."
        )
    lines += base_lines(past, now)
    lines += [
        f"`{label}`: {before:.1f} page faults per page then, {after:.1f} now."
        for label, (before, after) in changed.other_work(found.every).items()
    ]
    apart = {c.then.label for c in found.every if c.apart} - set(MODELS)
    lines += [
        f"`{name}` was “{before}” and is “{after}”."
        for name, before in past.described.items()
        if name in apart and (after := now.described.get(name)) not in (None, before)
    ]
    return lines


def base_lines(past: PastCampaign, now: PastCampaign) -> list[str]:
    """What the base of the ratios took then and takes now, on machines that look the same.

    If the base has become cheaper, what others add to it is a larger share.
    """
    if past.base != now.base or not past.machine or past.machine != now.machine:
        return []
    both = [point for point in past.base_ms if point in now.base_ms]
    wanted = next((point for point in POINTS if point in both), None)
    if wanted is None:
        return []
    before, after = past.base_ms[wanted], now.base_ms[wanted]
    if max(before, after) < SAME * min(before, after):
        return []
    return [
        f"`{past.base}`, which most ratios are to, took {before:.1f} ms of processor time for 1000 "
        f"pages at {wanted} then, and takes {after:.1f} ms now. "
        + (
            "So the same addition is a larger share of it."
            if after < before
            else "So the same addition is a smaller share of it."
        )
    ]


def build(one: PastCampaign) -> str:
    """What is known of how the interpreter was built."""
    known = one.build.items()
    said = {"True": "", "False": "no "}
    words = [f"{said[v]}{name.upper()}" if v in said else v for name, v in known]
    return ", ".join(words) or "its build was not recorded"
