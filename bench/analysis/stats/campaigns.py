"""One number over several campaigns: what the next one will find.

Blocks of one campaign share a machine, a boot and a minute, so their interval is about that
campaign alone. Here the campaign is the unit: each gives one value. That is the model with levels
of T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013, section 9),
in which the scatter of the highest level's means has that of all levels below in it. So the next
campaign's value lies, with a probability of 95 %, within

    mean ± t(n - 1) · s · sqrt(1 + 1/n)

of the logarithms of n campaigns' values, where s is their standard deviation. It is an interval of
prediction: it does not shrink to a point as campaigns are added. Values that are not all above 0
are not turned into logarithms.

Below :data:`FEWEST` campaigns, and where the ends of that interval are more than :data:`WIDEST`
times apart, the *range* takes its place: from the lowest to the highest end of the campaigns' own
intervals. So it does for response times: one stall makes a value several times as high, so their
logarithms are not normal. Five campaigns, because the interval of five is 1.6 times as long as one
from endlessly many, that of three 2.5 times and that of two 8 times; and because of what cannot be
known: if a campaign is in one of two states, all n are in the same one while the next is not with a
probability of at most 0.25, 0.105 and 0.067 for two, three and five campaigns, whatever is done
with them.

docs/notebook/method-studies.md has how often either covers the next campaign, simulated. A quoted
range names the number of its campaigns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from scipy import special

from bench.analysis.stats.records import LEVEL, Spread, average
from bench.schema import CampaignRecord

FEWEST: Final = 5
"""Campaigns from which an interval is given."""
WIDEST: Final = 4.0
"""An interval whose ends are more than this factor apart is not quoted."""
APART: Final = timedelta(hours=1)
"""Campaigns of one boot that began closer together count as one."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number behind a headline, as one campaign found it."""

    key: str  # unique in its question and the same in every campaign: "opening/threads"
    what: str  # "to open and close a connection, processor time: threads"
    unit: str  # "×" for a ratio, else as it is written: "µs", "KiB"
    found: Spread  # with the campaign's own interval, or its lowest and highest block
    stalls: bool = False  # a response time, of which there is no interval for the next campaign


@dataclass(frozen=True, slots=True)
class Combined:
    """A number over several campaigns."""

    value: float  # geometric mean of the campaigns' values
    low: float
    high: float
    campaigns: int
    predicted: bool  # low and high are an interval for the next campaign; False: a range


def combined(campaigns: Sequence[Sequence[Spread]], *, stalls: bool = False) -> Combined:
    """Combine the values of independent campaigns; several in one of them count as one.

    ``stalls`` is that of :class:`Number`.
    """
    every = [spread for campaign in campaigns for spread in campaign]
    found = np.array([average([s.value for s in campaign]) for campaign in campaigns])
    logarithmic = bool((found > 0).all())
    values = np.log(found) if logarithmic else found
    back = np.exp if logarithmic else float
    count, mean = len(campaigns), float(values.mean())
    if count >= FEWEST and not stalls:
        t = float(special.stdtrit(count - 1, 0.5 + LEVEL / 2))
        half = t * float(values.std(ddof=1)) * math.sqrt(1 + 1 / count)
        low, high = float(back(mean - half)), float(back(min(mean + half, 700.0)))
        if low > 0 and high <= WIDEST * low:
            return Combined(float(back(mean)), low, high, count, predicted=True)
    return Combined(float(back(mean)), *ends_of(every), count, predicted=False)


def ends_of(every: Iterable[Spread | Combined]) -> tuple[float, float]:
    """From the lowest end to the highest: the range of a number over campaigns or processors."""
    ends = [(one.low, one.high) for one in every]
    return min(low for low, _ in ends), max(high for _, high in ends)


def counted(places: Iterable[int], values: Iterable[Spread | None]) -> list[list[Spread]]:
    """For :func:`combined`: the values of each place that they count with, but for missing ones."""
    together: dict[int, list[Spread]] = defaultdict(list)
    for place, value in zip(places, values, strict=True):
        if value:
            together[place].append(value)
    return [*together.values()]


def independent(campaigns: Sequence[CampaignRecord]) -> list[int]:
    """Of each campaign, by the time they began: the place of the one that it counts with.

    That is its own, or that of an earlier one on the same boot, less than an hour before: the two
    share too much. Where no boot was recorded, all such campaigns are taken for those of one.
    """
    first: list[int] = []
    for place, campaign in enumerate(campaigns):
        began, boot = datetime.fromisoformat(campaign.created), campaign.environment.boot
        near = (
            other
            for other in sorted({*first})
            if campaigns[other].environment.boot == boot
            and began - datetime.fromisoformat(campaigns[other].created) < APART
        )
        first.append(next(near, place))
    return first
