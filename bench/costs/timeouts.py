"""What a timeout for each exchange adds to a page: instructions and system calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.analysis.timeouts import SUFFIX, WAYS
from bench.costs.account import Account, Cost
from bench.machine.instruments import INSTRUCTIONS
from bench.text import count, listing

LISTED: Final = "fetch"
LOCK: Final = "futex"
MANY: Final = 0.9
"""So many calls for a page are named."""

COMMAND: Final = (
    "python -m bench costs --workload fetch --count instructions --backends "
    "async_await,async_await_timeouts,uvloop,uvloop_timeouts,trio,trio_timeouts,"
    "aiohttp,aiohttp_timeouts"
)


def words(made: Sequence[Account]) -> str:
    """What each way adds to a page of a list, the most first, for docs/findings.md.

    Where the ranges over hash seeds overlap, no difference is stated.
    """
    accounts = {each.backend: each for each in made if each.workload == LISTED}
    shown: list[tuple[float, str]] = []
    blurred: list[str] = []
    for backend, way in WAYS.items():
        plain, timed = accounts.get(backend), accounts.get(backend + SUFFIX)
        if plain is None or timed is None:
            continue
        before, after = plain.costs.get(INSTRUCTIONS), timed.costs.get(INSTRUCTIONS)
        if before is None or after is None:
            continue
        more = after.middle - before.middle
        if overlap(before, after):
            blurred.append(f"`{way}`")
        else:
            told = f"`{way}` {count(more)} (of {count(after.middle)})"
            shown.append((more, told + calls(plain, timed)))
    if not shown and not blurred:
        return f"(Instructions were not counted: `{COMMAND}`.)"
    most_first = [told for _, told in sorted(shown, reverse=True)]
    text = f"In instructions per fetched page: {'; '.join(most_first)}." if shown else ""
    ranges = f"The ranges over hash seeds overlap for {listing(blurred)}." if blurred else ""
    return f"{text} {ranges}".strip()


def overlap(one: Cost, other: Cost) -> bool:
    """Whether the ranges over hash seeds have a value in common."""
    return one.low <= other.high and other.low <= one.high


def calls(plain: Account, timed: Account) -> str:
    """The system calls that come with it, where there is one for a page or more.

    Not those of the interpreter's lock, which depend on how often threads meet there.
    """
    before = {name: cost.middle for name, cost in plain.calls().items()}
    more = {name: cost.middle - before.get(name, 0.0) for name, cost in timed.calls().items()}
    named = [f"{n:.0f} `{name}`" for name, n in more.items() if name != LOCK and n >= MANY]
    return f" and {listing(named)}" if named else ""
