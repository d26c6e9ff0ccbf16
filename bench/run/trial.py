"""What all trials of a campaign share, and what one trial has found so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench.histograms import FloatArray
from bench.launch import OWN_PYTHON
from bench.machine import cpu
from bench.plan.backends import of_role
from bench.plan.participants import SPREADING
from bench.plan.plan import Turn
from bench.plan.tls import WAYS, Way
from bench.plan.workloads import Params, Point
from bench.run.working import Expected
from bench.schema import Cancelled, Ledger, Memory, Status, Turns
from bench.sides.protocol import Result
from bench.sides.servers import Server
from bench.sides.tls import Tls
from bench.text import now
from crawlers.backend import Backend
from crawlers.catalogue import HANDED_OVER


@dataclass(slots=True)
class Bench:
    warmups: dict[Tls | None, Server]  # plain, and over TLS if a trial needs that
    backends: Mapping[str, Backend]
    pinning: cpu.Pinning
    seed: int
    scratch: Path
    deadline_s: float | None = None
    ceiling: float | None = None  # the server's requests per second; None until it was measured
    # Names of interpreters, and the commands that start them; "" is the harness's own.
    pythons: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"": OWN_PYTHON})
    free_threaded: Collection[str] = ()  # the interpreters without a lock
    work: Expected = field(default_factory=Expected)


@dataclass(slots=True)
class Trial:
    """One trial while it runs; whatever it did not reach stays None."""

    bench: Bench
    point: Point
    turn: Turn
    number: int
    started: str = field(default_factory=now)
    result: Result | None = None
    ledger: Ledger | None = None  # of a fixture server
    round_us: float | None = None  # how long a round of work takes alone (bench.run.working)
    work_expected: tuple[int, int] | None = None
    memory: Memory | None = None
    cancelled: Cancelled | None = None
    extra: dict[str, Any] = field(default_factory=lambda: {"ready_s": None})
    threads: int = 0
    status: Status = "ok"
    reason: str | None = None
    stderr: str | None = None
    unpinned: str | None = None
    turns: Turns | None = None
    waited_s: float = 0.0  # for a processor, in counted turns; 0 where nobody knows
    within_turns: Sequence[float] | FloatArray = ()

    @property
    def backend(self) -> Backend:
        return of_role(self.point, self.turn.label, self.bench.backends)

    @property
    def way(self) -> Way:
        return self.point.way(self.turn.label)

    @property
    def warmup(self) -> Server:
        """The server to warm up on: over TLS before a trial over TLS.

        Importing ssl and making a context must not fall into a trial.
        """
        return self.bench.warmups[Tls() if self.way.tls else None]

    def cafile(self, server: Server) -> str | None:
        """The authorities of the warm-up server and of the trial's, in one file; None without TLS.

        One file, so that the trial uses the context that the warm-up has made.
        """
        files = [one.cafile for one in (self.warmup, server) if one.cafile]
        if not files:
            return None
        both = self.times.with_suffix(".pem")
        both.write_bytes(b"".join(file.read_bytes() for file in files))
        return str(both)

    @property
    def rounds(self) -> int:
        """How many rounds of work a page of the point needs, if it needs any; 0 without work."""
        if self.point.work_ms is None:
            return 0
        assert self.round_us is not None, "a trial measures a round before it needs one"
        return max(1, round(1000 * self.point.work_ms / self.round_us))

    @property
    def deadline_s(self) -> float:
        return self.bench.deadline_s or self.point.deadline_s

    @property
    def times(self) -> Path:
        return self.bench.scratch / f"times-{self.number}"

    @property
    def pinning(self) -> cpu.Pinning:
        """Which processors the two sides of this trial get.

        More than one for a client with several threads, except where memory is measured, which
        depends on the number of processors through malloc's arenas; and at a point that spreads
        for every backend that can use them. A server under test is placed as a client is, and its
        load has the server's processor to itself.
        """
        pinning, point, label = self.bench.pinning, self.point, self.turn.label
        several = self.backend.several_threads
        if point.role == "server":
            return pinning.spread("apart") if several and point.kind != "hold" else pinning
        if point.spread and (several or label.name in (*SPREADING, *HANDED_OVER)):
            return pinning.spread(point.spread, point.over)
        several = (several or label.wide or point.everywhere) and point.kind != "hold"
        if self.flip == "processors":
            several = not several
        return pinning.unpinned() if several else pinning

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
        pinning = self.pinning
        apart = bool(pinning.server) and not pinning.shared
        asleep = self.turn.label.asleep or self.flip == "asleep"
        return self.point.polls and apart and not asleep

    @property
    def flip(self) -> str:
        return self.point.flip if self.turn.label.flipped else ""

    @property
    def environment(self) -> dict[str, str] | None:
        if self.flip != "bytecode":
            return None
        nowhere = str(self.bench.scratch / "no-bytecode")
        return {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": nowhere}

    @property
    def hash_seed(self) -> int:
        """The workers' hash seed: one for all labels of a block, another in each block.

        Seeds alone can change a program's speed by several per cent (V. Stinner, "My
        journey to stable benchmark, part 3", 2016), so a block must not mix them, and
        a campaign must not rest on one.
        """
        another = 500 if self.flip == "hash" else 0
        return (self.bench.seed * 1000 + self.turn.block + 1 + another) % 2**32

    @property
    def schedule_seed(self) -> int:
        """The seed of the arrivals: the same for all labels of a block, new in each block."""
        return self.bench.seed * 1000 + self.turn.block


def recorder(point: Point, turn: Turn) -> Literal["times", "slots", "windows", "null"]:
    return "null" if turn.label.null_recorder else point.recorder


def params(point: Point, turn: Turn) -> Params:
    """The point's parameters as recorded, with what is particular to this turn."""
    own: Params = {"recorder": recorder(point, turn)}
    if turn.label.asleep:
        own["server"] = "asleep"
    if turn.label.wide:
        own["processors"] = "all"
    if turn.label.flipped:
        own["flipped"] = 1
    if turn.label.mode:
        tls = WAYS[turn.label.mode].tls
        own |= {"mode": turn.label.mode, "tls": tls.words if tls else None}
    return point.params | own
