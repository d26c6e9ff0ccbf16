"""Work on a part of the pages: what the other pages waited, as mixed load measured it."""

from __future__ import annotations

import math
from statistics import median
from typing import Final

from bench.analysis import mixed
from bench.analysis.analysis import Analysis
from bench.capacity.need import Need
from bench.text import count, duration, listing
from crawlers.catalogue import HANDED_OVER

LOOP: Final = "async_await"
ELSEWHERE: Final = ("async_await_to_thread", "async_await_pool")
"""The variants of the loop that hand work over."""
COMPARED: Final = (LOOP, "threads", "processes", *HANDED_OVER)


def sentences(analysis: Analysis, need: Need) -> list[str]:
    """What to do about work on a part of the pages; nothing for another need."""
    if not need.work_s or need.share == 1:
        return []
    rows = [row for row in analysis.mixed if row.label in COMPARED]
    if not rows:
        return [
            "A thread or a pool of processes for the work lets the other pages go on. Measure it: "
            "python -m bench run --only mixed."
        ]
    wanted = math.log(1000 * need.work_s)
    first = min(rows, key=lambda row: abs(math.log(row.work_ms) - wanted))
    mine = sorted((r for r in rows if r.point == first.point), key=lambda row: -row.tail_ms)
    pages = {
        row.label: median(
            1000 * mixed.page_s(trial, trial.work)
            for trial in analysis.at_point(row.point)[row.label]
            if trial.work
        )
        for row in mine
    }
    handed = [
        f"{duration(max(pages[label] - pages[LOOP], 0.0) * first.every)} with {label}"
        for label in ELSEWHERE
        if {label, LOOP} <= pages.keys()
    ]
    return [
        f"Measured with {duration(first.work_ms)} of work in one page of {first.every} at "
        f"{count(first.rate)} pages/s: {first.tail:.0f} % of the other pages took at most "
        f"{listing([f'{duration(row.tail_ms)} with {row.label}' for row in mine])}.",
        *([f"Handing a page over costs processor time: {listing(handed)}."] if handed else []),
    ]
