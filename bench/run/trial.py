"""What all trials of a campaign share, and one trial while it runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from bench.conditions.condition import Fields
from bench.histograms import FloatArray
from bench.launch import OWN_PYTHON
from bench.machine import cpu
from bench.plan.backends import of_role
from bench.plan.participants import SPREADING
from bench.plan.plan import Turn
from bench.plan.workloads import Point
from bench.run.turns import GroupEndedError, Taker
from bench.schema import CeilingRecord, Status, Turns
from bench.sides.process import ProcessError, WorkerError, kill
from bench.sides.progress import Progress
from bench.sides.protocol import Command, Result
from bench.sides.servers import Server, ServerError, Tls, authorities
from bench.sides.sides import Sides
from bench.text import now
from crawlers.backend import Backend

FAILURES: Final = (ProcessError, WorkerError, ServerError)
LAST_WORDS_S: Final = 0.5

PATIENCE: Final = 10.0
"""What takes turns may last so many times a point's deadline: it waits for the others."""


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
        rates = [record.requests_per_s for record in self.ceilings]
        known = [rate for rate in rates if rate is not None]
        return median(known) if known else None


def block_seed(campaign_seed: int, block: int) -> int:
    """The same for all labels of a block, new in each block."""
    return campaign_seed * 1000 + block


class Trial(Sides):
    """One trial while it runs; whatever it did not reach stays None."""

    taker: Taker  # its place among those that take turns
    start_s = 30.0  # how long it may take to get ready
    progress: Progress | None = None
    status: Status = "ok"
    reason: str | None = None
    stderr: str | None = None
    unpinned: str | None = None
    turns: Turns | None = None
    waited_s = 0.0  # for a processor, in counted turns; 0 where nobody knows
    within_turns: Sequence[float] | FloatArray = ()
    ready_s: float | None = None

    def __init__(self, bench: Bench, point: Point, turn: Turn, number: int) -> None:
        out, seed = bench.scratch / f"times-{number}", block_seed(bench.seed, turn.block)
        super().__init__(point.slots, out, seed, bench.pinning.client)
        self.bench, self.point, self.turn, self.number = bench, point, turn, number
        self.started = now()
        self.backend = of_role(point, turn.label, bench.backends)
        self.conditions = point.under(turn.label)
        # On loopback the client's send pays for waking the server's processor, which a network
        # card does for a remote server. So it stays awake where the processor counts, if it has
        # one of its own.
        apart = bool(self.pinning.server) and not self.pinning.shared
        asleep = any(condition.asleep for condition in self.conditions)
        self.server_polls = point.polls and apart and not asleep

    @property
    def warmup(self) -> Server:
        """The server to warm up on: over TLS before a trial over TLS.

        Importing ssl and making a context must not fall into a trial.
        """
        over_tls = any(condition.tls for condition in self.conditions)
        return self.bench.warmups[Tls() if over_tls else None]

    @property
    def deadline_s(self) -> float:
        return self.bench.deadline_s or self.point.deadline_s

    @property
    def pinning(self) -> cpu.Pinning:
        """Which processors the two sides get: what is under test has the client's.

        More than one if it has several threads, unless a condition says otherwise.
        """
        pinning, wide = self.bench.pinning, self.backend.several_threads
        for condition in self.conditions:
            wide = condition.wide(wide, self.turn.label.name)
        if not wide:
            return pinning
        placed = (condition.place(pinning) for condition in self.conditions)
        return next(filter(None, placed), pinning.unpinned())

    def pin(self, pid: int, cores: list[int]) -> None:
        self.unpinned = self.unpinned or self.pinning.keep(pid, cores)

    @property
    def most_busy(self) -> int:
        """How many processors the client can keep busy: one thread at a time has the lock."""
        label = self.turn.label
        locked = label.name not in SPREADING and label.interpreter not in self.bench.free_threaded
        return 1 if locked else len(self.pinning.client) or 1

    @property
    def environment(self) -> dict[str, str]:
        """The worker's own variables, with one hash seed for all labels of a block.

        Seeds alone can change a program's speed by several per cent (V. Stinner, "My
        journey to stable benchmark, part 3", 2016), so a block must not mix them, and
        a campaign must not rest on one.
        """
        seed = (self.seed + 1) % 2**32
        variables = {"PYTHONHASHSEED": str(seed)}
        for condition in self.conditions:
            variables |= condition.environment(self.bench.scratch, seed)
        return variables

    @property
    def hash_seed(self) -> int:
        return int(self.environment["PYTHONHASHSEED"])

    # --- what either kind does in its own way, in this order ---

    @abstractmethod
    def start(self, stack: ExitStack, server: Server | None) -> None:
        """Start a worker, and a server unless there is one; neither is waited for."""

    def ready(self) -> None:
        """Wait for a server without which there is no campaign, and raise what it raises."""

    def tell(self) -> None:
        """Tell the worker what to do; it warms up at once."""
        point = self.point
        command = Command(
            backend=self.turn.label.name,
            prefix=self.server.prefix,
            warmup_prefix=self.warmup.prefix,
            urls=point.urls,
            slots=point.slots,
            timeout_s=self.deadline_s * (PATIENCE if point.interleaved else 1),
            out=str(self.out),
            progress=None if self.progress is None else self.progress.file,
            cafile=authorities(self.out.with_suffix(".pem"), self.warmup, self.server),
        )
        for condition in self.conditions:
            command = condition.command(command, self)
        self.command = command
        self.worker.command(command)

    def warm(self) -> None:
        """Warm the server up, when the worker has."""

    @abstractmethod
    def count(self) -> int:
        """The exchanges completed so far."""

    def look(self) -> None:
        """What there is to do after each turn, before the server stops."""

    @abstractmethod
    def begin(self) -> None:
        """Read what was used so far. From now on everything is part of the trial."""

    @abstractmethod
    def rest(self) -> None:
        """Nothing is timed any more."""

    @abstractmethod
    def collect(self) -> None:
        """Ask the server what it saw."""

    @abstractmethod
    def why_void(self, result: Result, parts: Fields) -> str | None:
        """Why the trial does not count, or None when it does."""

    @abstractmethod
    def strain(self, result: Result, fields: Fields) -> Fields:
        """How busy both sides were, and what limited the trial."""

    @property
    @abstractmethod
    def mechanism(self) -> Mapping[str, str | int]: ...

    # --- whoever fails, the others of the block go on ---

    @property
    def going(self) -> bool:
        """Whether its crawl can still end well."""
        return self.status != "failed"

    @property
    def broke_off(self) -> bool:
        """Whether a crawl was lost before its end. A worker that is done may end in its turn."""
        return self.taker.lost is not None and self.worker.process.poll() != 0

    def lose(self, reason: str) -> None:
        """Note why it is out, with the last words of what is under test."""
        self.status, self.reason, self.taker.lost = "failed", reason, reason
        self.worker.end(LAST_WORDS_S)
        self.stderr = self.tested.stderr_tail()

    @contextmanager
    def losing(self, limit_s: float) -> Iterator[None]:
        """A part of the trial that may take so long."""
        try:
            yield
        except GroupEndedError:
            self.lose("a process ended before its first turn")
        except TimeoutError:
            self.worker.abort()
            self.lose(f"no result in {limit_s:g} s; the worker was ended")
        except FAILURES as error:
            self.lose(str(error))

    def end(self) -> None:
        """End its processes at once, stopped or not, and whatever they have started."""
        kill(self.tested.pid)
        if self.point.interleaved:
            kill(self.other.pid)
        if self.progress is not None:
            self.progress.close()

    def forget(self) -> None:
        for file in self.bench.scratch.glob(f"{self.out.name}.*"):
            file.unlink()
