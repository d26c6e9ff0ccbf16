"""Workloads: what is measured, setting by setting.

A *workload* is a site, a job, the server's behaviour and what is measured. A
*point* is a workload at one setting (``throughput-100`` is the workload
``throughput`` with 100 slots). Which points a campaign measures, and how
often, is in :mod:`bench.plan.profiles`.

The number of pages decides how long a trial lasts. Every backend crawls the
same pages, so that digests can be compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from bench import BenchError
from bench.conditions import ASLEEP, TWIN, Condition, Params
from bench.conditions.held import HELD, HELD_AWAKE, INTERRUPTED, RAMP_PER_S, TLS_RAMP_PER_S, Filling
from bench.conditions.loads import UnderLoad, under
from bench.conditions.processors import ALL, EVERYWHERE, Spreading
from bench.conditions.recorders import NULL, SLOTS, WINDOWS
from bench.conditions.schedule import Opening, Scheduled
from bench.conditions.ways import (
    ENCRYPTED,
    HANDSHAKE,
    LINES,
    NEW,
    OVER_TLS,
    PLAIN,
    TICKETS,
    with_lines,
)
from bench.conditions.work import WithWork
from bench.machine import cpu
from bench.plan.participants import (
    ABLE,
    BASE,
    FREE,
    PAIRED,
    PINNED,
    SPREADING,
    TWINS,
    Label,
    Participants,
    only,
)
from bench.schema import SpreadOver
from bench.sides.protocol import WORK_EVERY
from bench.sides.servers import Tls
from crawlers.catalogue import OURS
from server.models.catalogue import SERVERS

PAGE_BYTES = 2048
FANOUT = 10
DEAR_SHARE = 0.2
"""Up to this share of a crawl a page of a tree costs more than behind it.

The first tenth has the links to new pages, and the second is still dearer. Then all are alike:
docs/notebook/method-studies.md, "Where the turns of a crawl begin".
"""
SITE_SEED = 1
WARMUP_SITE = f"tree:200:{FANOUT}:{PAGE_BYTES}"
WAITING_DELAY = "lognormal:50"
PAGE_S, FIRST_SLOT_PAGE_S, LISTED_PAGE_S = 22e-6, 43e-6, 11e-6
"""Processor time of ``callbacks`` for a page: of a tree, of a tree with one slot, of a list.

Measured on two processors of a cloud machine, with a server that polls; so are the other
times here.
"""

HELD_S = 20e-6
"""Time to open, hold and release one connection, beyond the paced ramp."""

SETTLE_S = 0.2
"""Pauses before the memory is read."""

REFERENCE_SLOTS = 100
"""The number of slots that stands for all others: three A/A pairs and the controls are there."""

COMPANIONS: Final = ASLEEP.of(*PAIRED, "async_await")

DEFAULT_SIGMA = 0.5
"""Sigma of ``lognormal:MEDIAN`` without one, as the server documents it."""


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of one workload. How long a trial should take: :mod:`bench.plan.durations`."""

    workload: str
    site: str  # the server's site specification
    slots: int
    who: Participants  # in how many blocks each backend takes part
    setting: str = ""  # in its id, if that is not the number of slots
    site_name: str = ""  # replaces the site in records
    delay: str = "none"
    conditions: tuple[Condition, ...] = ()  # of all its trials
    varied: tuple[Condition, ...] = ()  # of further labels, each under one of them
    controls: tuple[str, ...] = ()  # measured in the same blocks (:mod:`bench.controls`)
    ceiling: bool = False  # measures the server's
    # The labels of a block are alive together and take turns (:mod:`bench.run.turns`); otherwise
    # each trial runs whole and alone.
    interleaved: bool = False
    rounds: int = 0  # of turns, where the load has no end; 0: until a crawl has no more pages
    beside: str = ""  # another point, with whose blocks its own coincide if it has as many
    deadline_s: float = 60.0
    waits_s: float = 0.0  # of a trial, on any machine
    work_s: float = 0.5  # of a processor of the reference machine, with ``callbacks``

    @property
    def id(self) -> str:
        return f"{self.workload}-{self.setting or self.slots}"

    @property
    def blocks(self) -> int:
        return self.who.blocks

    @property
    def pages(self) -> int:
        """The pages of its site; 1 where they cannot be chosen."""
        kind, _, numbers = self.site.partition(":")
        return int(numbers.partition(":")[0]) if kind in ("tree", "list") else 1

    @property
    def urls(self) -> int | None:
        """The pages of a list; None: crawl from the root."""
        return self.pages if self.site.startswith("list:") else None

    @property
    def load(self) -> UnderLoad | None:
        """How a server is asked; None where crawlers are under test."""
        loads = (under for under in self.conditions if isinstance(under, UnderLoad))
        return next(loads, None)

    def open_to(self, name: str) -> bool:
        """Whether the backend of this name is one that can be under test here."""
        return name in SERVERS if self.load else name not in SERVERS or name in OURS

    @property
    def memory(self) -> bool:
        return any(condition.memory for condition in self.conditions)

    @property
    def held(self) -> bool:
        """Whether there is a connection of every slot at the same time."""
        return any(condition.fills for condition in self.conditions)

    @property
    def tls(self) -> Tls | None:
        """What the server of all its trials offers."""
        return next((condition.tls for condition in self.conditions if condition.tls), None)

    @property
    def over_tls(self) -> bool:
        """Whether any of its trials is over TLS, so that a backend without it takes no part."""
        return any(condition.tls for condition in (*self.conditions, *self.varied))

    @property
    def modes(self) -> list[Condition]:
        """Every label is under one of these, if there are any."""
        return [condition for condition in self.varied if condition.mode]

    def under(self, label: Label) -> tuple[Condition, ...]:
        """The conditions of a label's trials."""
        own = (condition for condition in self.varied if condition.name == label.condition)
        return (*self.conditions, *own)

    @property
    def polls(self) -> bool:
        """Whether the server should never sleep: where nothing but the client's work counts.

        Not where it shares its processor with the client, nor in what is compared with that.
        """
        sleeps = any(condition.sleeps for condition in (*self.conditions, *self.varied))
        return self.delay == "none" and not sleeps

    @property
    def params(self) -> Params:
        """What is recorded: everything that makes this point what it is."""
        params: Params = {
            "slots": self.slots,
            "site": self.site_name or self.site,
            "delay": self.delay,
            "urls": self.urls,
            **dict.fromkeys(("connections", "rate", "ramp_per_s", "switch_interval_s")),
        }
        for condition in (*self.conditions, *self.varied):
            params |= condition.params(self.slots)
        if self.modes:
            params["modes"] = " ".join(condition.name for condition in self.modes)
        return params | ({"rounds": self.rounds} if self.rounds else {})


def mean_delay_s(spec: str) -> float:
    """Raises :class:`bench.BenchError` for none of the server's."""
    known = re.fullmatch(r"none|(fixed|lognormal):(\d*\.?\d+)(?::(\d*\.?\d+))?", spec)
    if known is None:
        raise BenchError(f"a record has the delay {spec!r}, which no server has: restore its line")
    kind, ms, sigma = known.groups()
    spread = float(sigma or DEFAULT_SIGMA) if kind == "lognormal" else 0.0
    return float(ms or 0.0) / 1000 * math.exp(spread**2 / 2)


def closed_loop(
    workload: str,
    slots: int,
    pages: int,
    who: Participants,
    *,
    delay: str = "none",
    setting: str = "",
) -> Point:
    """A crawl of a tree in which each slot asks again as soon as it is answered."""
    mean_s = mean_delay_s(delay)
    page_s = FIRST_SLOT_PAGE_S if slots == 1 else PAGE_S
    return Point(
        workload=workload,
        setting=setting,
        site=f"tree:{pages}:{FANOUT}:{PAGE_BYTES}",
        delay=delay,
        slots=slots,
        who=who,
        varied=(TWIN.of(BASE),),
        # At first few pages are known, and at last few are left: about two delays a level.
        waits_s=mean_s * (pages / slots + 2 * math.log10(pages)),
        work_s=pages * page_s if slots > 1 or not mean_s else 0.0,
    )


def listed(workload: str, slots: int, urls: int, who: Participants) -> Point:
    """A list of pages, without links."""
    return Point(
        workload=workload,
        site=f"list:{urls}:{PAGE_BYTES}",
        slots=slots,
        who=who,
        work_s=urls * LISTED_PAGE_S,
    )


# --- what a page costs -------------------------------------------------------------------


def throughput(slots: int, pages: int, who: Participants) -> Point:
    """A crawl without delay: what a crawled page costs, links and all."""
    here = slots == REFERENCE_SLOTS
    return replace(
        closed_loop("throughput", slots, pages, who),
        varied=(TWIN.of(*TWINS) if here else TWIN.of(BASE), COMPANIONS),
        controls=("stripped",) if here else (),
        ceiling=True,
        interleaved=True,
    )


def ladder(pages: int, who: Participants) -> Point:
    """The same for every backend, on few enough pages for the slowest stacks."""
    return replace(throughput(REFERENCE_SLOTS, pages, who), workload="ladder", controls=())


def whole(slots: int, pages: int, who: Participants) -> Point:
    """The crawl of throughput in whole trials, one after the other: do they agree with turns?"""
    point = closed_loop("whole", slots, pages, who)
    varied = (TWIN.of(*TWINS), ASLEEP.of(*PAIRED))
    return replace(point, varied=varied, ceiling=True, beside=f"throughput-{slots}")


def fetch(slots: int, urls: int, who: Participants) -> Point:
    """A list, counted and checksummed: what a model costs, undiluted."""
    return replace(
        listed("fetch", slots, urls, who),
        varied=(TWIN.of(*TWINS), ASLEEP.of(*PAIRED)),
        controls=("bare", "stripped") if slots == REFERENCE_SLOTS else (),
        ceiling=True,
        interleaved=True,
    )


FEW: Final = (1, 2, 3, 5, 10)


def few(slots: int, who: Participants) -> Point:
    """A crawl over few connections; threads and loops are placed alike: with one, that decides."""
    point = closed_loop("few", slots, 9000 if slots == 1 else 14000, who)
    return replace(point, conditions=(EVERYWHERE,), interleaved=True)


MODES: Final[Mapping[str, tuple[Condition, ...]]] = {
    "tls-fetch": (PLAIN, ENCRYPTED),  # what encryption adds to a page on a kept connection
    "tls-handshake": (NEW, HANDSHAKE, TICKETS),  # resumed, if a client can
    "churn": (PLAIN, NEW),
    "connect": (NEW,),  # backends are compared with each other
    "headers": tuple(map(with_lines, LINES)),  # that differ from page to page
}
"""The modes of a list: each backend takes turns with itself in all of them.

Without TLS, a backend that has a connection for each page sends ``Connection: close`` with each
request. The server closes first, so TIME_WAIT is at its end and holds none of the client's ports;
docs/notebook/method-studies.md has the counts.
"""


def in_modes(workload: str, slots: int, urls: int, who: Participants) -> Point:
    point = listed(workload, slots, urls, who)
    return replace(point, interleaved=True, varied=MODES[workload])


def recorder_cost(pages: int, blocks: int) -> Point:
    """The same crawl in turns, with a recorder that keeps times and with one that keeps nothing."""
    point = closed_loop("cost", REFERENCE_SLOTS, pages, only((BASE,), blocks))
    return replace(point, varied=(NULL,), interleaved=True)


def handovers(what: Literal["crawled", "fetched"], pages: int, blocks: int) -> Point:
    """Whole crawls of threads on one processor and on all, with their context switches.

    Whole and long, because the beginning of a crawl of threads costs more than the rest, and
    because a stopped thread is a context switch. The base has one processor and all of them, too.
    """
    who = only((FREE, PINNED, BASE), blocks)
    if what == "crawled":
        point = closed_loop("handovers", REFERENCE_SLOTS, pages, who)
    else:
        point = listed("handovers", REFERENCE_SLOTS, pages, who)
    return replace(point, setting=what, conditions=(WINDOWS,), varied=(ALL.of(BASE),))


# --- waiting -----------------------------------------------------------------------------

MANY_SLOTS_COST: Final = 3.0
"""What a page takes with so many slots, in multiples of its time with a hundred."""


def opened(workload: str, slots: int, pages: int, who: Participants, delay: str) -> Point:
    """``pages`` pages beyond the first of each slot behind a delay, once all slots are at work."""
    delay_s = mean_delay_s(delay)
    opening = Opening(slots=slots, delay_s=delay_s, own={"recorder": "slots"})
    point = listed(workload, slots, slots + pages, who)
    return replace(
        point,
        delay=delay,
        conditions=(opening,),
        waits_s=opening.settled_s + delay_s * pages / slots,
        work_s=point.work_s * (MANY_SLOTS_COST if slots >= 1000 else 1.0),
    )


def waiting(slots: int, pages: int, who: Participants) -> Point:
    """A delay of 50 ms: what waiting costs."""
    point = opened("waiting", slots, pages, who, WAITING_DELAY)
    return replace(point, varied=(TWIN.of(BASE),))


def crossover(slots: int, delay_ms: int, pages: int, who: Participants) -> Point:
    """The same behind a fixed delay.

    The delay is fixed, and the start spreads the slots over it: what so many slots can fetch
    at most is then exact, and no slow answer decides when a short trial ends.
    """
    point = opened("crossover", slots, pages, who, f"fixed:{delay_ms}")
    return replace(point, setting=f"{slots}x{delay_ms}ms")


def regime(slots: int, delay_ms: int, pages: int, who: Participants) -> Point:
    """A cell of the regime map that no throughput or waiting point covers."""
    setting = f"{slots}x{delay_ms}ms"
    return closed_loop("regime", slots, pages, who, delay=f"lognormal:{delay_ms}", setting=setting)


def fairness(slots: int, urls: int, who: Participants) -> Point:
    """Which slot finished when: whether a model starves any.

    The site is a list, so that every slot has work from the first moment until it runs out.
    """
    return replace(listed("fairness", slots, urls, who), conditions=(SLOTS,))


# --- many connections --------------------------------------------------------------------

QUIET_S: Final = 0.3
"""Pauses before the interrupt, and until the crawl notices it."""

TLS_HELD_S = 400e-6
"""Time to open, hold and release one connection over TLS, beyond the paced ramp."""


def c10k(
    connections: int, who: Participants, *, tls: bool = False, per_s: float | None = None
) -> Point:
    """Connections held open at a barrier: how much memory one takes, and OpenSSL alone.

    ``per_s`` of them are opened in a second, if it is not the usual number.
    """
    usual_per_s, held_s = (TLS_RAMP_PER_S, TLS_HELD_S) if tls else (RAMP_PER_S, HELD_S)
    per_s = per_s or usual_per_s
    return replace(
        listed("tls-c10k" if tls else "c10k", connections, connections, who),
        conditions=(Filling(per_s=per_s), HELD, *((OVER_TLS,) if tls else ())),
        controls=("bare_tls",) if tls else (),
        deadline_s=300.0 if tls else 180.0,
        waits_s=SETTLE_S + connections / per_s,
        work_s=connections * held_s,
    )


def cancel(exchanges: int, who: Participants) -> Point:
    """Crawls that are interrupted with so many exchanges in flight."""
    return replace(
        c10k(exchanges, who),
        workload="cancel",
        conditions=(Filling(), INTERRUPTED),
        controls=("bare_close",),
        waits_s=QUIET_S + exchanges / RAMP_PER_S,
        work_s=2 * exchanges * HELD_S,
    )


# --- a schedule, work, and processors ----------------------------------------------------


WARMUP: Final = 2 * REFERENCE_SLOTS
"""Requests: two for each slot, as where labels take turns."""


def openloop(rate: int, seconds: float, who: Participants) -> Point:
    """Requests due on a Poisson schedule: how long a user would wait, once all slots are there."""
    urls = max(1, round(rate * seconds)) + WARMUP
    return replace(
        listed("openloop", REFERENCE_SLOTS, urls, who),
        setting=str(rate),
        conditions=(Scheduled(per_s=rate, warmup=WARMUP),),
        waits_s=urls / rate,
        work_s=max(0.0, urls * LISTED_PAGE_S - urls / rate),
    )


def mixed(work_ms: int, rate: int, seconds: float, who: Participants) -> Point:
    """Requests due on a Poisson schedule; one in ten then needs so much work.

    The rate leaves the processor idle for a third of the time or more, so that whoever waits
    does not wait for a queue that grows. Processes get every processor, and share the
    server's.
    """
    return replace(
        openloop(rate, seconds, who),
        workload="mixed",
        setting=str(work_ms),
        conditions=(
            Scheduled(per_s=rate, warmup=WARMUP),
            WithWork(ms=work_ms),
            Spreading(how="shared", who=ABLE),
        ),
    )


def processors(how: SpreadOver, pages: int, who: Participants, over: int | None = None) -> Point:
    """Backends that use every processor, against models on one: whole trials, pages per second.

    ``how`` says whether the server keeps its processor to itself or shares it, and ``over``
    on how many processors the client runs, None for all it can have. The server sleeps
    between requests in all of these trials.
    """
    setting = how if over is None else f"{over}{how}"
    point = closed_loop("processors", REFERENCE_SLOTS, pages, who, setting=setting)
    spread = Spreading(how=how, over=over, who=ABLE)
    return replace(point, conditions=(spread,))


def scaling(pages: int, blocks: int) -> list[Point]:
    """Points with 1, 2, 4 … processors for the client, up to all but the server's.

    None on two processors, where one is left, nor where processes cannot be pinned.
    """
    who = only((BASE, FREE, *SPREADING), blocks)
    most = len(cpu.split_cores().usable) - 1
    steps = (2**power for power in range(max(most, 0).bit_length()) if 2**power < most)
    return [processors("apart", pages, who, over) for over in steps]


# --- servers under test ------------------------------------------------------------------

SERVED: Final = 1000
"""Pages of the site that servers serve: each connection asks for one of them, again and again."""

SLOW_S: Final = 3.0
LARGE: Final = 2**20


def serve(connections: int, rounds: int, who: Participants) -> Point:
    """Servers under load, in turns: kept connections, each with one request in flight."""
    return replace(
        listed("serve", connections, SERVED, who),
        conditions=(under("press"),),
        varied=(TWIN.of(BASE, FREE),),
        controls=("bare",),
        interleaved=True,
        rounds=rounds,
        work_s=0.5,
    )


def accept(connections: int, rounds: int, who: Participants) -> Point:
    """The same with a new connection for each request."""
    point = serve(connections, rounds, who)
    return replace(point, workload="accept", conditions=(under("accept"),))


def mixed_server(work_ms: int, rate: int, seconds: float, who: Participants) -> Point:
    """Servers asked on a schedule; one request in ten needs so much work."""
    return replace(
        openloop(rate, seconds, who),
        workload="mixed-server",
        setting=str(work_ms),
        site=f"list:{10 * WORK_EVERY}:{PAGE_BYTES}",
        conditions=(under("schedule", per_s=rate, seconds=seconds, work_ms=float(work_ms)),),
        work_s=0.0,
    )


def slow_readers(connections: int, rate: int, who: Participants) -> Point:
    """Servers with clients that read an answer of 1 MB very slowly, beside others that do not."""
    return Point(
        workload="slow-readers",
        site=f"list:{WORK_EVERY}:{LARGE}",
        slots=connections,
        conditions=(under("slow", per_s=rate, seconds=SLOW_S), HELD_AWAKE),
        who=who,
        waits_s=SLOW_S,
        work_s=SLOW_S,  # it waits twice, and opens the connections in between
        deadline_s=120.0,
    )


def hold(connections: int, who: Participants, *, tls: bool = False) -> Point:
    """Servers that hold connections on which one request was answered: the memory of each."""
    point = c10k(connections, who, tls=tls)
    return replace(
        point,
        workload="tls-hold" if tls else "hold",
        site=f"list:{SERVED}:{PAGE_BYTES}",
        conditions=(under("hold"), *point.conditions[1:]),
        controls=() if tls else ("bare",),
    )


# --- real HTML ---------------------------------------------------------------------------

DEBIAN_DOCS = (
    Path("/usr/share/doc/python3-doc/html"),
    *sorted(Path("/usr/share/doc").glob("python3.*/html"), reverse=True),
)
"""A tree of real HTML, if Debian's python3-doc is installed."""


def real(who: Participants) -> list[Point]:
    """Real HTML from this machine; empty when there is none."""
    trees = (path.resolve() for path in DEBIAN_DOCS if (path / "index.html").is_file())
    if (path := next(trees, None)) is None:
        return []
    version = re.search(r"python3\.\d+", str(path))
    return [
        Point(
            workload="real",
            site=f"dir:{path}",
            site_name=f"dir:python3-doc ({version.group() if version else 'python3'}, Debian)",
            slots=10,
            who=who,
            varied=(TWIN.of(BASE), ASLEEP.of(*PAIRED)),
            interleaved=True,
        )
    ]
