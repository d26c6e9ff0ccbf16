"""What all trials of a campaign share, and what one trial has found so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.conditions.condition import Condition
from bench.histograms import FloatArray
from bench.launch import OWN_PYTHON
from bench.machine import cpu
from bench.plan.backends import of_role
from bench.plan.participants import SPREADING
from bench.plan.plan import Turn
from bench.plan.workloads import Point
from bench.schema import CeilingRecord, Status, Turns
from bench.sides.servers import Server
from bench.sides.tls import Tls
from bench.text import now
from crawlers.backend import Backend


@dataclass(slots=True)
class Bench:
    warmups: dict[Tls | None, Server]  # plain, and over TLS if a trial needs that
    backends: Mapping[str, Backend]
    pinning: cpu.Pinning
    seed: int
    scratch: Path
    deadline_s: float | None = None
    ceilings: Sequence[CeilingRecord] = ()  # those measured so far
    # Names of interpreters, and the commands that start them; "" is the harness's own.
    pythons: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"": OWN_PYTHON})
    free_threaded: Collection[str] = ()  # the interpreters without a lock

    @property
    def ceiling(self) -> float | None:
        """The server's requests per second, by the median; None until it was measured."""
        known = [one.requests_per_s for one in self.ceilings if one.requests_per_s is not None]
        return median(known) if known else None


@dataclass(slots=True)
class Trial:
    """One trial while it runs; whatever it did not reach stays None."""

    bench: Bench
    point: Point
    turn: Turn
    number: int
    started: str = field(default_factory=now)
    status: Status = "ok"
    reason: str | None = None
    stderr: str | None = None
    unpinned: str | None = None
    turns: Turns | None = None
    waited_s: float = 0.0  # for a processor, in counted turns; 0 where nobody knows
    within_turns: Sequence[float] | FloatArray = ()
    ready_s: float | None = None

    @property
    def backend(self) -> Backend:
        return of_role(self.point, self.turn.label, self.bench.backends)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.point.under(self.turn.label)

    @property
    def tls(self) -> Tls | None:
        return next((one.tls for one in self.conditions if one.tls), None)

    @property
    def warmup(self) -> Server:
        """The server to warm up on: over TLS before a trial over TLS.

        Importing ssl and making a context must not fall into a trial.
        """
        return self.bench.warmups[Tls() if self.tls else None]

    @property
    def deadline_s(self) -> float:
        return self.bench.deadline_s or self.point.deadline_s

    @property
    def times(self) -> Path:
        return self.bench.scratch / f"times-{self.number}"

    @property
    def pinning(self) -> cpu.Pinning:
        """Which processors the two sides get: what is under test has the client's.

        More than one if it has several threads, unless a condition says otherwise.
        """
        pinning, wide = self.bench.pinning, self.backend.several_threads
        for one in self.conditions:
            wide = one.wide(wide, self.turn.label.name)
        if not wide:
            return pinning
        placed = (one.place(pinning) for one in self.conditions)
        return next(filter(None, placed), pinning.unpinned())

    @property
    def most_busy(self) -> int:
        """How many processors the client can keep busy: one thread at a time has the lock."""
        label = self.turn.label
        locked = label.name not in SPREADING and label.interpreter not in self.bench.free_threaded
        return 1 if locked else len(self.pinning.client) or 1

    @property
    def server_polls(self) -> bool:
        """Whether the server stays awake: where the processor counts, and on one of its own.

        On loopback the client's ``send`` pays for waking the server's processor, which a
        network card does for a remote server.
        """
        apart = bool(self.pinning.server) and not self.pinning.shared
        return self.point.polls and apart and not any(one.asleep for one in self.conditions)

    @property
    def environment(self) -> dict[str, str]:
        """The worker's own variables, with one hash seed for all labels of a block.

        Seeds alone can change a program's speed by several per cent (V. Stinner, "My
        journey to stable benchmark, part 3", 2016), so a block must not mix them, and
        a campaign must not rest on one.
        """
        seed = (self.bench.seed * 1000 + self.turn.block + 1) % 2**32
        found = {"PYTHONHASHSEED": str(seed)}
        for one in self.conditions:
            found |= one.environment(self.bench.scratch, seed)
        return found

    @property
    def hash_seed(self) -> int:
        return int(self.environment["PYTHONHASHSEED"])

    @property
    def schedule_seed(self) -> int:
        """The seed of the arrivals: the same for all labels of a block, new in each block."""
        return self.bench.seed * 1000 + self.turn.block
