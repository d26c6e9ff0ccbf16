"""What a trial is under: here what a condition is; each group has a file, and none imports another.

A condition changes one thing on the way down (what the server and the worker are told, where both
run), may do something around the crawl, and says on the way up what it saw, and whether the trial
counts. One that changes nothing is a twin. Only points name conditions
(:mod:`bench.plan.workloads`, :mod:`bench.plan.profiles`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from bench.machine.cpu import Pinning
from bench.schema import Kind, Ledger
from bench.sides.protocol import Command, Result
from bench.sides.servers import Tls
from bench.sides.sides import Sides

Params = dict[str, int | float | str | None]
Fields = Mapping[str, Any]
"""Those of a record, by name."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """All trials of a point are under its conditions, and some labels under one of their own.

    ``name`` is in labels (``callbacks/asleep``) and records. ``own`` is what the records of trials
    under it have in their parameters, besides the name of a ``mode``. ``only`` names the backends
    that have such a label, None for all.
    """

    name: str = ""
    own: Mapping[str, int | str | None] = field(default_factory=dict)
    only: tuple[str, ...] | None = None
    kind: Kind = "trial"  # of the label's records
    mode: bool = False  # every label of a point is under one of those: none is without
    tls: Tls | None = None
    keep_alive: bool = True
    crawls: bool = True  # the crawl is complete, page by page
    counted: bool = True  # by the recorder; if not, all labels of the point are by the ledger
    asleep: bool = False  # the server of this label sleeps
    sleeps: bool = False  # that of every label of the point does
    fills: bool = False  # every slot has a connection at the same time
    memory: bool = False  # is read meanwhile
    seeded: bool = False  # draws arrivals
    limited: bool = True  # by something: a rate is what was measured
    collected: bool = True  # garbage, to the end of the crawl
    sets: Mapping[str, int | str] = field(default_factory=dict)
    """What has another value in the worker, from before it imports a backend: ``module:name``, and
    the value, or where it is: ``{"selectors:DefaultSelector": "selectors:PollSelector"}``."""
    adds: tuple[float, float] = (0.0, 0.0)
    """What it adds to a page: a fixed part, and one that grows with the page's weight."""

    def of(self, *names: str) -> Self:
        return replace(self, only=names)

    # --- on the way down ---

    def params(self, slots: int) -> Params:
        """What the records of all trials of a point have in their parameters."""
        return {}

    def site(self, site: str) -> str:
        return site

    def server(self) -> Sequence[str]:
        """Further options of the server."""
        return ()

    def environment(self, scratch: Path, hash_seed: int) -> dict[str, str]:
        """Further variables of the worker's environment."""
        return {}

    def command(self, command: Command, sides: Sides) -> Command:
        """What the worker is told. The server is there."""
        return command

    def place(self, now: Pinning, narrow: Pinning, name: str) -> Pinning:
        """Where both sides run with a backend: ``narrow`` has one processor for each."""
        return now

    # --- meanwhile ---

    @contextmanager
    def around(self, sides: Sides) -> Iterator[None]:
        """Around the start of the worker; what it does at the end runs beside the crawl."""
        yield

    def ended(self, sides: Sides, result: Result) -> None:
        """When the worker has given its result, and the server has not been asked yet."""

    # --- on the way up ---

    def seen(self, sides: Sides, result: Result) -> Fields:
        """Its fields of the record."""
        return {}

    def void(self, sides: Sides, result: Result, ledger: Ledger) -> str | None:
        """Why a trial does not count, or None when it does. Now parts have the fields seen."""
        return None


TWIN = Condition(name="2")
"""The second trial of an A/A pair: ``callbacks#2``."""

ASLEEP = Condition(name="asleep", own={"server": "asleep"}, asleep=True, kind="companion")
"""Against a server that sleeps: with this a label is compared whose own server has to sleep.

Where those with several threads share the server's processor, it sleeps, and waking it is part of
each send. So each of ``only`` has a second trial in the same block, its *companion*.
"""
