"""Mixed load in sentences: a finding with its cause, the check by theory, and the command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.analysis.mixed import Mixed
from bench.text import count, duration, listing

USUAL_MS: Final = 10.0
"""The work that the finding is about, if it was measured: what parsing a large page takes."""

COMMAND: Final = "`python -m bench run --profile full --only mixed`"

CAUSE: Final = (
    "A loop does one thing at a time, so its pages wait in one queue, and work on one delays all "
    "behind it. A thread that computes keeps the interpreter's lock until another has asked for "
    "it for a switch interval (5 ms by default), and a loop beside a thread asks again for each "
    "step. Another process has a lock of its own, and the kernel takes the processor from it as "
    "soon as the loop wakes."
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
    """What queueing theory says about the loops of these rows: a sentence, or none."""
    each = [
        f"{duration(row.predicted.mean_ms)} for `{row.label}` (measured {duration(row.mean_ms)})"
        for row in rows
        if row.predicted
    ]
    if not each:
        return []
    sentences = [
        "A queue with one server, served in order, would have given a mean of "
        f"{listing(each)} on the same schedules."
    ]
    if disturbed := [row for row in rows if not row.undisturbed]:
        row = max(disturbed, key=lambda row: row.wall_ms)
        sentences.append(
            f"Other programs had the client's processor as well: with `{row.label}` the work took "
            f"{duration(row.wall_ms)} by the clock and {duration(row.cpu_ms)} of the processor, so "
            "these times say little about this backend."
        )
    return sentences
