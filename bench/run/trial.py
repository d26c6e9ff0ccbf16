"""What all trials of a campaign share, and one trial while it runs: of a crawler, or of a server.

A crawler is tested against a fixture server. For a server the harness is turned round: it has the
place of a worker, its processor, its turns, its barrier. A load (:mod:`bench.sides.loader`) has the
place of the fixture server and never sleeps, so no send of the server under test has to wake a
processor. Both ends compare what they saw.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final, Self

from bench import filesystem
from bench.conditions import Condition, Fields
from bench.controls import FAMILY, REPEATS
from bench.histograms import FloatArray
from bench.launch import OWN_PYTHON
from bench.machine import cpu
from bench.machine.objects import PORT
from bench.plan import durations
from bench.plan.backends import of_role
from bench.plan.participants import SPREADING, Label
from bench.plan.plan import PlannedTrial
from bench.plan.workloads import SITE_SEED, WARMUP_SITE, Point
from bench.run.judge import BUSY, limiter, served_reason, slot_bound, void_reason
from bench.run.turns import Taker
from bench.schema import CeilingRecord, Shares, Status, Turns
from bench.sides.group import GroupEndedError
from bench.sides.process import ProcessError, WorkerProcess, kill, without_huge_pages
from bench.sides.protocol import Command, Result, Served
from bench.sides.servers import ModelServer, Server, ServerError, Tls, authorities
from bench.sides.sides import PLACES, Progress
from bench.text import now
from crawlers.backend import Backend

LAST_WORDS_S: Final = 0.5

PATIENCE: Final = 10.0
"""What takes turns may last so many times a point's deadline: it waits for the others."""


@dataclass(slots=True, kw_only=True)
class Bench:
    backends: Mapping[str, Backend]
    seed: int
    deadline_s: float | None = None
    ceilings: Sequence[CeilingRecord] = ()  # those measured so far
    # Names of interpreters, and the commands that start them; "" is the harness's own.
    pythons: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"": OWN_PYTHON})
    free_threaded: Collection[str] = ()  # the interpreters without a lock
    # What this machine forbids at a point: reasons.
    refusals: Mapping[tuple[str, Label], str] = field(default_factory=dict)
    pinning: cpu.Pinning = field(default_factory=cpu.split_cores)
    scratch: Path = Path()
    warmups: dict[Tls | None, Server] = field(default_factory=dict)
    ends: ExitStack = field(default_factory=ExitStack)  # when warm-up servers do

    @property
    def ceiling(self) -> float | None:
        """The server's requests per second, by the median; None until it was measured."""
        known = [one.requests_per_s for one in self.ceilings if one.requests_per_s is not None]
        return median(known) if known else None

    def warmup(self, tls: Tls | None = None) -> Server:
        """The server on which every worker warms up, in every workload; another if it has ended.

        It has a small site without delay, so that all backends warm up alike and a trial's own
        server sees nothing but the trial.
        """
        server = self.warmups.get(tls)
        if server is None or not server.listens:
            server = Server(WARMUP_SITE, seed=SITE_SEED, cores=self.pinning.server, tls=tls)
            self.warmups[tls] = self.ends.enter_context(server)
        return server

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """With a folder and a warm-up server, and the harness kept off the client's processor."""
        own, before = os.getpid(), os.sched_getaffinity(0)
        if self.pinning.harness:
            cpu.pin(own, self.pinning.harness)
        try:
            with filesystem.scratch() as self.scratch, self.ends:
                self.warmup()
                yield self
        finally:
            cpu.pin(own, sorted(before))


def block_seed(campaign_seed: int, block: int) -> int:
    """The same for all labels of a block, new in each block."""
    return campaign_seed * 1000 + block


class Trial(Taker):
    """One trial while it runs; whatever it did not reach stays None."""

    start_s = 30.0  # how long it may take to get ready
    progress: Progress | None = None
    status: Status = "ok"
    reason: str | None = None
    stderr: str | None = None
    not_pinned: str | None = None  # why
    turns: Turns | None = None
    waited_s: float | None = None  # for a processor, in turns in those that count
    within_turns: Sequence[float] | FloatArray = ()

    def __init__(self, bench: Bench, point: Point, planned: PlannedTrial, number: int) -> None:
        self.bench, self.point, self.planned, self.number = bench, point, planned, number
        self.label, self.seed = planned.label, block_seed(bench.seed, planned.block)
        self.slots, self.cores, self.parts = point.slots, bench.pinning.client, {}
        self.out, self.started = bench.scratch / f"times-{number}", now()
        if reason := bench.refusals.get((point.id, self.label)):
            self.status, self.reason = "refused", reason
        self.backend = of_role(point, self.label, bench.backends)
        self.conditions = point.under(self.label)
        # On loopback the client's send pays for waking the server's processor, which a network
        # card does for a remote server. So it stays awake where the processor counts, if it has
        # one of its own.
        self.pinning = self.placed()
        apart = bool(self.pinning.server) and not self.pinning.shared
        asleep = any(condition.asleep for condition in self.conditions)
        self.server_polls = point.polls and apart and not asleep
        self.processors = self.pinning.client
        self.turn_s = durations.turn_s(point, self.label)
        self.once = durations.once(point, self.label)

    @property
    def deadline_s(self) -> float:
        return self.bench.deadline_s or self.point.deadline_s

    def placed(self) -> cpu.Pinning:
        """Which processors the two sides get: what is under test has the client's.

        More than one if it has several threads, unless a condition says otherwise.
        """
        narrow = self.bench.pinning
        pinning = narrow.unpinned() if self.backend.several_threads else narrow
        for condition in self.conditions:
            pinning = condition.place(pinning, narrow, self.label.name)
        return pinning

    def pin(self, pid: int, cores: list[int]) -> None:
        self.not_pinned = self.not_pinned or (cpu.pin(pid, cores) if cores else self.pinning.reason)

    @property
    def most_busy(self) -> int:
        """How many processors the client can keep busy: one thread at a time has the lock."""
        label = self.label
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

    def start(self, stack: ExitStack, server: Server | None) -> None:
        """Start a worker, and a server unless there is one; neither is waited for."""
        with without_huge_pages() if self.point.memory else nullcontext():
            self.launch(stack, server)

    # --- what either kind does in its own way, in this order ---

    @abstractmethod
    def launch(self, stack: ExitStack, server: Server | None) -> None:
        """Start the processes of :meth:`start`."""

    def ready(self) -> None:
        """Wait for a server without which there is no campaign, and raise what it raises."""

    def tell(self) -> None:
        """Tell the worker what to do; it warms up at once."""
        point = self.point
        # Importing ssl and making a context must not fall into a trial.
        over_tls = any(condition.tls for condition in self.conditions)
        warmup = self.bench.warmup(Tls() if over_tls else None)
        command = Command(
            backend=self.label.name,
            prefix=self.server.prefix,
            warmup_prefix=warmup.prefix,
            urls=point.urls,
            slots=point.slots,
            timeout_s=self.deadline_s * (PATIENCE if point.interleaved else 1),
            out=str(self.out),
            progress=None if self.progress is None else self.progress.file,
            cafile=authorities(self.out.with_suffix(".pem"), warmup, self.server),
            sets={k: value for each in self.conditions for k, value in each.sets.items()},
        )
        for condition in self.conditions:
            command = condition.command(command, self)
        self.command = command
        self.worker.command(command)

    def warm(self) -> None:
        """Warm the server up, when the worker has."""

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
    def why_void(self, result: Result) -> str | None:
        """Why the trial does not count, or None when it does."""

    @abstractmethod
    def strain(self, result: Result, fields: Fields) -> Fields:
        """How busy both sides were, and what limited the trial."""

    # --- whoever fails, the others of the block go on ---

    @property
    def going(self) -> bool:
        """Whether its crawl can still end well."""
        return self.status == "ok"

    @property
    def broke_off(self) -> bool:
        """Whether a crawl was lost before its end. A worker that is done may end in its turn."""
        return self.lost is not None and self.worker.process.poll() != 0

    def lose(self, reason: str) -> None:
        """Note why it is out, with the last words of what is under test."""
        self.status, self.reason, self.lost = "failed", reason, reason
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
        except (ProcessError, ServerError) as error:
            self.lose(str(error))

    def end(self) -> None:
        """End its processes at once, stopped or not, and whatever they have started."""
        kill(self.tested.pid)
        if self.point.interleaved:
            kill(self.other.pid)
        if self.progress is not None:
            self.progress.close()

    def release(self) -> None:
        """Leave the barrier as it was, whatever happened."""
        self.barrier.release()

    def forget(self) -> None:
        for file in self.bench.scratch.glob(f"{self.out.name}.*"):
            file.unlink()


# --- a crawler is under test ---------------------------------------------------------------

MARGIN: Final = 2
"""A crawl with so many times the exchanges that it should have is broken, and may fail."""


class Crawling(Trial):
    _own = False  # it has a server of its own
    _by_ledger = False  # counts exchanges at the server, since that is not free in the worker
    _before = 0.0, 0.0, 0.0
    _served = 0
    _working = 1.0  # share of the server's time that was not polling

    def launch(self, stack: ExitStack, server: Server | None) -> None:
        cores = self.bench.pinning.server
        self._own = server is None
        # For all labels of the block: one way of counting for what is compared.
        self._by_ledger = not all(condition.counted for condition in self.point.varied)
        if server is None:
            server = start_server(self.point, self.conditions, cores)
            stack.callback(server.stop)
        self.server = self.barrier = server
        python = self.bench.pythons[self.label.interpreter]
        self.worker = WorkerProcess(python=python, extra_environment=self.environment)
        stack.enter_context(self.worker)
        self.tested, self.other = self.worker, server.child
        self.pin(self.worker.pid, self.pinning.client)

    def ready(self) -> None:
        if self._own:
            self.server.ready()

    def tell(self) -> None:
        if not self._own:  # the trials of a block share it, and place it differently
            self.pin(self.server.pid, self.pinning.server)
        total = self.server.urls * (REPEATS if self.backend.family == FAMILY else 1)
        self.total = total
        if self.point.interleaved and all(condition.counted for condition in self.conditions):
            self.progress = Progress(MARGIN * total)
        super().tell()

    def warm(self) -> None:
        if self._own:
            self.server.warm()
        self.server.reset()

    def count(self) -> int:
        if self._by_ledger or self.progress is None:
            return self._served
        return self.progress.count()

    def look(self) -> None:
        """Count exchanges at the server, where the worker does not.

        After a turn the server has answered what was still asked, so the number is ahead of the
        worker's by the requests in flight: as many after each turn, one or none for each slot.
        """
        if self._by_ledger:
            try:
                self._served = self.server.served()
            except ServerError:
                raise GroupEndedError from None

    def begin(self) -> None:
        self._before = (*self.server.cpu(), self.server.work_s())
        if self.server_polls:
            self.server.poll(True)

    def rest(self) -> None:
        if self.server_polls:
            self.server.poll(False)
        if (used_s := sum(self._used())) > 0:
            self._working = max(0.0, self.server.work_s() - self._before[2]) / used_s

    def _used(self) -> tuple[float, float]:
        user_s, system_s = self.server.cpu()
        return user_s - self._before[0], system_s - self._before[1]

    def collect(self) -> None:
        self.server_cpu = self._used()
        self.ledger = self.server.ledger()

    def why_void(self, result: Result) -> str | None:
        assert self.ledger is not None
        return void_reason(
            self,
            self.conditions,
            result,
            self.ledger,
            self.server.digest,
            urls=self.point.urls,
            control=self.backend.name if self.backend.family == FAMILY else None,
        )

    def strain(self, result: Result, fields: Fields) -> Fields:
        turns, elapsed_s = self.turns, fields["elapsed_s"]
        rate = result.answered / elapsed_s if elapsed_s else 0.0
        if turns is None:
            client_s, wall_s = result.user_s + result.system_s, result.call_s
            server_s = sum(self.server_cpu)
        else:  # its own clocks ran on while it was stopped, and while the host ran other guests
            client_s, server_s, wall_s = turns.cpu_s, turns.server_cpu_s, turns.own_s
            rate *= turns.robbed
        # It was measured with keep-alive on plain HTTP, and says nothing about other ways.
        plain = all(condition.keep_alive and not condition.tls for condition in self.conditions)
        # Several threads wait for each other.
        several = self.backend.several_threads or self.threads > 1
        shares = Shares(
            client_share=client_s / wall_s if wall_s else 0.0,
            processors=self.most_busy,
            waited_share=None if several else share_of(self.waited_s, wall_s),
            # A server that polls is always busy; what counts is its work.
            server_share=server_s / wall_s * min(1.0, self._working) if wall_s else 0.0,
            ceiling_share=share_of(rate, self.bench.ceiling if plain else None),
            offered_share=share_of(rate, fields.get("offered_per_s")),
            slots_share=share_of(rate, slot_bound(self.slots, self.point.delay)),
        )
        limited = all(condition.limited for condition in self.conditions)
        return {
            "shares": shares,
            "limiter": limiter(shares) if limited else None,
            "page_faults": result.page_faults,
            "server_polls": self.server_polls,
        }

    def release(self) -> None:
        if self.server.alive:  # what is lost with it, the trial says elsewhere
            super().release()
            if self.server_polls:
                self.server.poll(False)  # or the next trial of the block, which shares it, is awake


def start_server(point: Point, conditions: Sequence[Condition], cores: list[int]) -> Server:
    """Start a fixture server; it is not waited for."""
    options = [option for condition in conditions for option in condition.server()]
    return Server(point.site, delay=point.delay, seed=SITE_SEED, cores=cores, options=options)


def share_of(part: float | None, most: float | None) -> float | None:
    return part / most if part is not None and most else None


# --- a server is under test ----------------------------------------------------------------


class Serving(Trial):
    server: ModelServer
    progress: Progress
    theirs = PORT
    start_s = 60.0  # a load asks for every page of the site before it is ready
    settle_s = 0.5  # a server looks at its deadlines and goes back to sleep
    _served: Served | None = None
    _faults = 0

    def launch(self, stack: ExitStack, server: Server | None) -> None:
        """Each of both gets processors of its own."""
        label, pinning = self.label, self.pinning
        options = [option for condition in self.conditions for option in condition.server()]
        python = self.bench.pythons[label.interpreter]
        self.server = ModelServer(
            label.name, self.point.site, SITE_SEED, python, options, self.environment
        )
        stack.callback(self.server.stop)
        self.worker = WorkerProcess(f"the load of {label}", module="bench.sides.loader")
        stack.enter_context(self.worker)
        self.tested, self.other = self.server.child, self.worker
        self.pin(self.tested.pid, pinning.client)
        self.pin(self.other.pid, pinning.server)
        self.progress = self.barrier = Progress(PLACES)

    def tell(self) -> None:
        # It is what is under test, and may fail as such.
        self.server.ready()
        super().tell()

    def begin(self) -> None:
        self._faults = self.server.page_faults()

    def rest(self) -> None:
        self.progress.release()

    def collect(self) -> None:
        self.server_cpu = self.server.cpu()
        self._faults = self.server.page_faults() - self._faults
        self._served = self.server.finish()

    def why_void(self, result: Result) -> str | None:
        assert self._served is not None
        return served_reason(self.label.name, result, self._served, self.server.digest)

    def strain(self, result: Result, fields: Fields) -> Fields:
        turns = self.turns
        # A server that waits for its processor is not idle: other programs are running there.
        used_s = turns.cpu_s + (self.waited_s or 0.0) if turns else 0.0
        share = used_s / turns.own_s if turns and turns.own_s else None
        limited = None if share is None else "server" if share >= BUSY else "client"
        return {
            "shares": Shares(server_share=share),
            "page_faults": self._faults,
            "limiter": limited,
            "switches": None,
            "mechanism": {**self.server.facts, **fields["mechanism"]},
        }

    def count(self) -> int:
        return self.progress.held()


def made(bench: Bench, point: Point, planned: PlannedTrial, number: int) -> Trial:
    """A trial that has not started, on the site that its label gets."""
    kind = Serving if point.load else Crawling
    return kind(bench, durations.sized(point, planned.label), planned, number)
