"""Mixed load in sentences: a finding with its cause, the check by theory, and the command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.analysis.mixed import Mixed
from bench.text import count, duration, listing

USUAL_MS: Final = 10.0
"""The work that the finding is about, if it was measured: what parsing a large page takes."""

STEADY: Final = 0.1
"""Work that took more or less than it should by this share is said."""

COMMAND: Final = "`python -m bench run --profile full --only mixed`"

CAUSE: Final = (
    "A loop does one thing at a time, so its pages wait in one queue, and work on one delays all "
    "behind it. It also waits for a due time in whole milliseconds, because `epoll_wait` and libuv "
    "do, so a request is sent about half a millisecond late even where nothing needs work; threads "
    "sleep in microseconds. A thread that computes keeps the interpreter's lock until another has "
    "asked for it for a switch interval (5 ms by default), and a loop beside a thread asks again "
    "for each step. Another process has a lock of its own, and the kernel takes the processor from "
    "it as soon as the loop wakes."
)


def rows_of(rows: Sequence[Mixed]) -> list[Mixed]:
    """The rows of the work that sentences are about."""
    works = {row.work_ms for row in rows}
    chosen = USUAL_MS if USUAL_MS in works else min(works, default=0.0)
    return [row for row in rows if row.work_ms == chosen]


def finding(rows: Sequence[Mixed]) -> str | None:
    """What the other pages wait, backend by backend, the least first; None without any."""
    mine = sorted(rows_of(rows), key=lambda row: row.mean_ms)
    if len(mine) < 2:
        return None
    first, last, work = mine[0], mine[-1], duration(mine[0].work_ms)
    head = (
        f"**If one page in {first.every} needs {work} of the processor, the others take "
        f"{duration(first.mean_ms)} with `{first.label}` and {duration(last.mean_ms)} with "
        f"`{last.label}`.**"
    )
    each = [f"`{row.label}` {told(row)}" for row in mine]
    parts = [
        head,
        f"Response time of pages without work at {count(first.rate)} requests/s on a schedule, "
        f"mean (median, {percentile(first)}): {', '.join(each)}.",
        *check(mine),
        *speed(mine),
        CAUSE,
        f"To measure it: {COMMAND}.",
    ]
    return " ".join(parts)


def told(row: Mixed) -> str:
    """``5.3 ms (1.9 ms, 31 ms)``."""
    return f"{duration(row.mean_ms)} ({duration(row.p50_ms)}, {duration(row.tail_ms)})"


def percentile(row: Mixed) -> str:
    """``99th percentile``."""
    return f"{row.tail:g}th percentile"


def check(rows: Sequence[Mixed]) -> list[str]:
    """What theory says about the loops of these rows: sentences, or none."""
    loops = [(row, row.predicted) for row in rows if row.predicted]
    if not loops:
        return []
    each = [
        f"{duration(theory.best.mean_ms)} for `{row.label}` (measured {duration(row.mean_ms)})"
        for row, theory in loops
    ]
    sentences = [f"On the same schedules, theory gives a mean of {listing(each)}."]
    if all(theory.loop for _, theory in loops):
        queues = listing([duration(theory.queue.mean_ms) for _, theory in loops])
        sentences.append(
            f"Of that, the queue for the processor is {queues}; the rest is the loop's timers and "
            "the steps of a page."
        )
    else:
        sentences.append("That is the queue for the processor, without timers.")
    if disturbed := [row for row in rows if not row.undisturbed]:
        row = max(disturbed, key=lambda row: row.wall_ms)
        sentences.append(
            f"Other programs had the client's processor as well: with `{row.label}` the work took "
            f"{duration(row.wall_ms)} by the clock and {duration(row.cpu_ms)} of the processor, so "
            "these times say little about this backend."
        )
    return sentences


def speed(rows: Sequence[Mixed]) -> list[str]:
    """What the work took, where that is not what the point says: a sentence, or none."""
    took = sorted(row.cpu_ms for row in rows)
    if all(abs(ms / rows[0].work_ms - 1) <= STEADY for ms in took):
        return []
    than = "slower" if took[-1] <= rows[0].work_ms else "at another speed"
    return [
        f"The work took {duration(took[0])} to {duration(took[-1])} of the processor in these "
        f"trials, not {duration(rows[0].work_ms)}: the machine was {than} when a round of it was "
        "measured alone."
    ]
