"""What it takes to interrupt a crawl, in sentences: a finding with its cause and command."""

from __future__ import annotations

from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.cancelling import MANY, Cancellations, Ended
from bench.analysis.wording import prose
from bench.text import count, duration, listing, plural, significant
from crawlers.registry import MODELS

COMMAND: Final = "python -m bench run --profile reference --only cancel"

SLOWER: Final = 1.5
"""A library is named with its cause from so many times the processor time of the least."""

CAUSES: Final = {
    "threads": "a thread must be woken for each socket and get the interpreter’s lock to end",
    "async_await": "`task.cancel()` resumes each coroutine once more, with an exception",
    "uvloop": "`task.cancel()` resumes each coroutine once more, with an exception",
    "trio": "a cancelled scope resumes each task with an exception that passes through the "
    "stream’s and the scope’s own handlers, all of it in Python",
    "aiohttp": "the exception passes through the whole stack of session, connector and response",
    "gevent": "closing a socket in use makes the loop wake its greenlet with an error",
}
"""Why it takes longer than closing a socket; of the backends whose way differs."""


def finding(analysis: Analysis) -> str | None:
    """How long it takes to end a crawl with the most exchanges in flight; models first."""
    found = analysis.cancellations
    if not found.sizes:
        return None
    size = found.sizes[-1]
    rows = sorted(found.at(size), key=lambda row: row.closed.median)
    models = [row for row in rows if row.label in MODELS]
    if not models:
        return None
    others = [row for row in rows if row.label not in MODELS]
    ends = listing(
        [f"{_time(row)} with {prose(row.label)}" for row in dict.fromkeys((models[0], models[-1]))]
    )
    trials = max(row.closed.count for row in rows)
    parts = [
        f"**An interrupted crawl with {plural(size, 'exchange')} in flight has closed everything "
        f"in {ends}{_nothing_left(found)}.** From the moment when the crawl notices the interrupt, "
        "in brackets the client’s processor time for each exchange; median of "
        f"{plural(trials, 'trial')}: {', '.join(map(each, models))}.",
        f"Variants: {', '.join(map(each, others))}." if others else "",
        _floor(found, size),
        _causes(rows),
        f"To measure it: `{COMMAND}`.",
    ]
    return " ".join(part for part in parts if part)


def _nothing_left(found: Cancellations) -> str:
    """That nothing was left behind, where the judge found nothing."""
    if found.left:
        return f"; left behind by {listing([f'`{label}`' for label in found.left])}: see void"
    return ", and left nothing behind"


def _time(row: Ended) -> str:
    return duration(1000 * row.closed.median)


def each(row: Ended) -> str:
    """```trio` 790 ms (66 µs)``."""
    return f"`{row.label}` {_time(row)} ({significant(row.each_us, 2)} µs)"


def _floor(found: Cancellations, size: int) -> str:
    """What the sockets and the server take by themselves."""
    control = found.control(size)
    if control is None:
        return ""
    text = (
        f"Closing {plural(size, 'socket')} and nothing else takes {_time(control)} (control "
        f"`bare_close`, {significant(control.each_us, 2)} µs each)"
    )
    if size < MANY:
        return f"{text}."
    work_us = 1e6 * control.server_work.median / size
    text += f"; the server works for {significant(work_us, 2)} µs to end each"
    paced = [f"`{row.label}`" for row in found.at(size) if row.each_us < work_us]
    return f"{text}, which sets the pace for {listing(paced)}." if paced else f"{text}."


def _causes(rows: list[Ended]) -> str:
    """Why the slower ones are slower."""
    least = min(row.each_us for row in rows)
    slower = [row.label for row in rows if row.each_us > SLOWER * least]
    causes: dict[str, list[str]] = {}
    for label in slower:
        if label in CAUSES:
            causes.setdefault(CAUSES[label], []).append(f"`{label}`")
    if not causes:
        return ""
    told = [f"{listing(names)}: {cause}" for cause, names in causes.items()]
    return f"What takes the time: {'; '.join(told)}."


def size_words(size: int) -> str:
    """``1,000 exchanges in flight``."""
    return f"{count(size)} {'exchange' if size == 1 else 'exchanges'} in flight"
