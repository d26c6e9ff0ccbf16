"""Two records of costs compared: does a page take more than it did?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bench.costs.account import Account, Cost, accounts
from bench.costs.record import Costs, CostsError, Header
from bench.machine.instruments import ALLOCATED, ALLOCATIONS, INSTRUCTIONS, WORKING

GATED = {
    INSTRUCTIONS: "instructions",
    WORKING: "system calls",
    ALLOCATIONS: "allocations",
    ALLOCATED: "allocations",
    "bytes_sent": "kernel",
}
"""The costs that code decides and not the moment; each with its instrument."""

WITHIN = 0.02
"""By how much a cost may grow before it counts as more."""

Verdict = Literal["more", "fewer", "same"]


@dataclass(frozen=True, slots=True)
class Row:
    """One cost of one backend on one workload, in both records."""

    workload: str
    backend: str
    cost: str
    a: Cost
    b: Cost
    verdict: Verdict

    @property
    def ratio(self) -> float | None:
        """B over A; None if A is 0."""
        return self.b.middle / self.a.middle if self.a.middle else None


@dataclass(frozen=True, slots=True)
class Gate:
    """What a comparison found."""

    rows: tuple[Row, ...]
    lost: tuple[str, ...]  # counted in A, and not in B
    notes: tuple[str, ...]  # what could not be compared, and why

    @property
    def more(self) -> list[Row]:
        """The costs that grew."""
        return [row for row in self.rows if row.verdict == "more"]

    @property
    def failed(self) -> bool:
        """Whether B does not pass."""
        return bool(self.more or self.lost)


def differences(a: Header, b: Header) -> list[str]:
    """Why two records count different things; empty if they can be compared."""
    first, second = a.environment, b.environment
    found = [
        f"{what}: {x} and {y}"
        for what, x, y in (
            ("pages", a.pages, b.pages),
            ("slots", a.slots, b.slots),
            ("interpreter", first.python, second.python),
            ("machine", first.machine, second.machine),
        )
        if x != y
    ]
    if first.python == second.python and first.python_build != second.python_build:
        found.append("the build of the interpreter")
    found += [
        f"{package}: {version} and {second.packages[package]}"
        for package, version in first.packages.items()
        if package in second.packages and second.packages[package] != version
    ]
    return found


def compare(a: Costs, b: Costs, within: float = WITHIN, *, force: bool = False) -> Gate:
    """Compare record B with record A.

    A cost grew if the lowest of B's seeds is above the highest of A's by more than ``within``.
    Raises :class:`CostsError` when the two were counted differently, unless ``force``.
    """
    notes = differences(a.header, b.header)
    if notes and not force:
        raise CostsError(
            f"the two records were counted differently ({'; '.join(notes)}); "
            "use --force to compare them anyway"
        )
    tools_a, tools_b = a.header.tools, b.header.tools
    usable = set()
    for instrument in tools_a:
        if instrument not in tools_b:
            notes.append(f"{instrument}: not counted in B")
        elif tools_a[instrument] != tools_b[instrument] and not force:
            notes.append(
                f"{instrument}: counted with {tools_a[instrument]} and {tools_b[instrument]}"
            )
        else:
            usable.add(instrument)
    second = {(each.workload, each.backend): each for each in accounts(b)}
    rows: list[Row] = []
    lost: list[str] = []
    for before in accounts(a):
        after = second.get((before.workload, before.backend))
        if after is None:
            notes.append(f"{before.workload}, {before.backend}: not counted in B")
            continue
        rows += compared(before, after, usable, within)
        lost += [f"{after.workload}, {after.backend}: {reason}" for reason in after.bad]
    if not rows and not lost:
        raise CostsError("the two records have nothing in common that could be compared")
    return Gate(tuple(rows), tuple(lost), tuple(notes))


def compared(before: Account, after: Account, usable: set[str], within: float) -> Iterator[Row]:
    """The gated costs that both accounts have."""
    for cost, instrument in GATED.items():
        if instrument not in usable or cost not in before.costs or cost not in after.costs:
            continue
        a, b = before.costs[cost], after.costs[cost]
        verdict: Verdict = "same"
        if b.low > a.high * (1 + within):
            verdict = "more"
        elif b.high < a.low / (1 + within):
            verdict = "fewer"
        yield Row(before.workload, before.backend, cost, a, b, verdict)
