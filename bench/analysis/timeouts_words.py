"""What a timeout costs, in sentences: a finding with its cause and command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.timeouts import SWEEP, WAYS, Timeout, priced
from bench.text import capital, listing, significant

COMMANDS: Final = (
    "`python -m bench run --profile full --only ladder-100 --backends "
    "threads,threads_timeouts,async_await,async_await_timeouts,gevent,gevent_timeouts,"
    "uvloop,uvloop_timeouts,trio,trio_timeouts,aiohttp,aiohttp_timeouts`"
)

CAUSES: Final = {
    "async_await": "`asyncio.timeout` puts a timer into the loop’s heap for each page and cancels "
    "it again, all in Python",
    "threads": "after `settimeout` Python calls `poll` before each send and each receive, and "
    "passes the interpreter’s lock once more each time",
    "uvloop": "with `uvloop` the same timer is one of libuv, under the same Python",
    "aiohttp": "`aiohttp.ClientTimeout` puts a timer into the loop for each request, and "
    "each of its waits enters a context that the timer can cancel",
    "gevent": "`gevent.Timeout` starts and stops a timer of the loop for each page",
    "trio": "`trio.move_on_after` makes a cancel scope for each exchange, and trio keeps its "
    "deadline in a heap of its own",
}


INSTEAD: Final = (
    "It replaces what hardly any program has: a sweep that compares a deadline in each of the 100 "
    "slots four times a second."
)


def finding(analysis: Analysis) -> str | None:
    """What each way adds to a page, the most expensive first, and why."""
    rows = priced(analysis.timeouts)
    if not rows:
        return None
    shown = [row for row in rows if row.ratio is not None and row.ratio.shown]
    values = [row.added_us or 0.0 for row in shown]
    parts = []
    if shown:
        shares = [100 * (row.ratio.value - 1) for row in shown if row.ratio and row.ratio.value]
        parts.append(
            f"**A timeout for each exchange costs {spread(values)} µs of processor time, "
            f"{spread(shares)} % of a page.**"
        )
    else:
        parts.append("**No price of a timeout for each exchange is shown.**")
    parts.append(INSTEAD)
    parts.append(
        "On top of a crawled page, in turns, at 100 slots, with 95 % intervals: "
        f"{', '.join(map(each, rows))}."
    )
    causes = [CAUSES[row.backend] for row in shown if row.backend in CAUSES]
    if causes:
        parts.append(f"{capital('; '.join(causes))}.")
    return " ".join([*parts, _others(analysis), f"To measure it: {COMMANDS}."])


def spread(values: Sequence[float]) -> str:
    """``4.4`` or ``1.8 to 8.9``."""
    low, high = significant(min(values), 2), significant(max(values), 2)
    return low if low == high else f"{low} to {high}"


def named(row: Timeout) -> str:
    """The way, and its backend where another has the same way."""
    shared = sum(way == row.way for way in WAYS.values()) > 1
    return f"`{row.way}` with `{row.backend}`" if shared else f"`{row.way}`"


def each(row: Timeout) -> str:
    """```asyncio.timeout` 7.4 µs (5.4 to 9.6), 15 %``, and what is not shown."""
    assert row.added_us is not None
    text = f"{named(row)} {significant(row.added_us, 2)} µs"
    if row.interval_us is not None:
        low, high = (significant(value, 2) for value in row.interval_us)
        text += f" ({low} to {high})"
    if row.ratio is None or row.ratio.value is None:
        return text
    text += f", {100 * (row.ratio.value - 1):.0f} %"
    return text if row.ratio.shown else f"{text} ({row.ratio.verdict})"


def _others(analysis: Analysis) -> str:
    """What has no price of its own."""
    without = [row for row in analysis.timeouts if row.added_us is None]
    sweeping = [f"`{row.backend}`" for row in without if row.way == SWEEP]
    named = [f"`{row.way}` with `{row.backend}`" for row in without if row.way != SWEEP]
    parts = []
    if sweeping:
        parts.append(
            f"Loops built by hand ({listing(sweeping)}) keep {SWEEP}; so does every other backend, "
            "and no page is without it."
        )
    if named:
        parts.append(f"Not measured by itself: {listing(named)}.")
    return " ".join(parts)
