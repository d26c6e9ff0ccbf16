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
from dataclasses import dataclass, replace
from typing import Literal

from bench.plan.cast import BASE, PAIRED, PINNED, TWINS, Cast
from bench.plan.labels import Label
from bench.plan.opening import Opening
from bench.plan.tls import WAYS, Mode, Tls, Way
from bench.schema import Spread

Kind = Literal["crawl", "hold", "cancel", "openloop"]
Params = dict[str, int | float | str | None]

PAGE_BYTES = 2048
FANOUT = 10
SITE_SEED = 1
WARMUP_SITE = f"tree:200:{FANOUT}:{PAGE_BYTES}"
WAITING_DELAY = "lognormal:50"
RAMP_PER_S = 4000
"""Connections opened per second while a c10k trial fills up.

The same for every backend: ten thousand at once overflow the accept queue and
cost the fastest backend seconds of SYN retransmission.
"""

TLS_RAMP_PER_S = 1000
"""The same over TLS, where a client needs one to two milliseconds of work for each connection.

A faster ramp would only let handshakes wait for each other.
"""

HOLD_SWITCH_S = 10.0
"""How long a thread waits for the interpreter's lock before it requests it, in a c10k trial.

With the usual 5 ms (:func:`sys.setswitchinterval`) a thousand waiting threads
keep a whole processor busy with requests. They delay the thread that could
make progress, more threads fall behind, and the queue grows: ten thousand
threads took from 13 to more than 180 s to reach the barrier, at any pace. A
thread that waits for its socket gives the lock up by itself, so memory does not
change. The times do, with threads, and the summit says so, because it shows them.
All backends get this value.
"""

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

SWITCHING = ("threads", "threads_long_switch")
"""The backends that show what the interpreter's switch interval does to many threads."""

DEFAULT_SIGMA = 0.5
"""Sigma of ``lognormal:MEDIAN`` without one, as the server documents it."""


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of one workload.

    ``site`` is the server's site specification; ``site_name`` replaces it in
    records. ``urls`` is the number of URLs of a list, None to crawl from the
    root. ``cast`` says in how many blocks each backend takes part; ``twins`` run
    twice, as A/A pairs. ``null_recorder`` adds a second trial of each backend whose
    recorder keeps nothing, ``asleep`` one of each whose server sleeps between requests
    although the others' poll, ``controls`` (:mod:`bench.controls`) are measured in the same
    blocks, and ``ceiling`` measures the server's ceiling. In an ``interleaved`` point the
    labels of a block are alive together and take turns (:mod:`bench.run.turns`); otherwise
    each trial runs whole and alone.
    ``work_ms`` is the work that some pages need, None without any (:mod:`bench.plan.mixed`).
    ``spread`` gives the backends that can use them every processor
    (:data:`bench.plan.cast.SPREADING`), or ``over`` of them, and the others one as always. A
    ``sole`` point alone answers a question: it loses its interval last. ``tls`` is
    what the server offers, None for plain HTTP. With ``modes`` (:mod:`bench.plan.tls`) each
    backend takes part once in each of them, and they decide on TLS instead. With an ``opening``
    the crawl starts at a pace, and what follows is measured (:mod:`bench.plan.opening`).
    A point
    ``beside`` another is measured in the same blocks, as far as it has as many. ``paired`` names
    the backends that those with several threads are compared with here. Those in ``wide`` have a
    second trial, on all processors that a client can have; the server sleeps in all of that point.

    A trial should take ``waits_s``, which does not depend on the machine, and
    ``work_s`` of processor time on the reference machine with ``callbacks``.
    ``prepare_s`` is how long the first server of a campaign needs beforehand.
    See :mod:`bench.plan.budget`.
    """

    id: str
    workload: str
    kind: Kind
    site: str
    slots: int
    cast: Cast
    site_name: str = ""
    urls: int | None = None
    delay: str = "none"
    rate: int | None = None
    work_ms: float | None = None
    twins: tuple[str, ...] = (BASE,)
    recorder: Literal["times", "slots"] = "times"
    null_recorder: bool = False
    asleep: bool = False
    controls: tuple[str, ...] = ()
    ceiling: bool = False
    interleaved: bool = False
    spread: Spread | None = None
    over: int | None = None
    sole: bool = False
    tls: Tls | None = None
    modes: tuple[Mode, ...] = ()
    opening: Opening | None = None
    beside: str = ""
    wide: tuple[str, ...] = ()
    paired: tuple[str, ...] = PAIRED
    deadline_s: float = 60.0
    waits_s: float = 0.0
    work_s: float = 0.5
    prepare_s: float = 0.0

    @property
    def blocks(self) -> int:
        """How many blocks the point has."""
        return self.cast.blocks

    @property
    def held(self) -> bool:
        """Whether the server holds its answers until a request of every slot is there."""
        return self.kind in ("hold", "cancel")

    @property
    def switch_interval_s(self) -> float | None:
        """How long a thread waits for the interpreter's lock; None for Python's usual 5 ms."""
        return HOLD_SWITCH_S if self.held else None

    @property
    def ramp_per_s(self) -> int | None:
        """Connections opened per second while a barrier fills or a crawl opens; else None."""
        if self.opening is not None:
            return round(self.opening.per_s)
        if not self.held:
            return None
        return RAMP_PER_S if self.tls is None else TLS_RAMP_PER_S

    def way(self, label: Label) -> Way:
        """How this label fetches the pages: over TLS or not, on kept connections or not."""
        return WAYS[label.mode] if label.mode else Way(self.tls)

    @property
    def over_tls(self) -> bool:
        """Whether any of its trials is over TLS, so that a backend without it takes no part."""
        return self.tls is not None or any(WAYS[mode].tls for mode in self.modes)

    @property
    def polls(self) -> bool:
        """Whether the server should never sleep: where nothing but the client's work counts.

        Not where it shares its processor with the client, nor in what is compared with that.
        """
        works = self.kind in ("crawl", "cancel")
        return works and self.delay == "none" and self.spread is None and not self.wide

    @property
    def compares(self) -> bool:
        """Whether labels are compared with each other, and not each only with itself."""
        return self.kind == "crawl" and self.recorder == "times" and not self.modes

    @property
    def params(self) -> Params:
        """What is recorded: everything that makes this point what it is."""
        return {
            "slots": self.slots,
            "site": self.site_name or self.site,
            "delay": self.delay,
            "connections": self.slots if self.held else None,
            "urls": self.urls,
            "rate": self.rate,
            "ramp_per_s": self.ramp_per_s,
            "switch_interval_s": self.switch_interval_s,
            **({"processors": self.spread} if self.spread else {}),
            **({"over": self.over} if self.over else {}),
            # Only where there is TLS: points without it are as they were before there was any.
            **({"tls": self.tls.words} if self.tls else {}),
            **({"modes": " ".join(self.modes)} if self.modes else {}),
            **({"work_ms": self.work_ms} if self.work_ms else {}),
        }


def tree(pages: int) -> str:
    """A tree site of so many 2 KB pages."""
    return f"tree:{pages}:{FANOUT}:{PAGE_BYTES}"


def mean_delay_s(spec: str) -> float:
    """The mean of a delay specification, in seconds."""
    kind, *numbers = spec.split(":")
    if kind == "none":
        return 0.0
    first = float(numbers[0]) / 1000
    if kind == "lognormal":
        sigma = float(numbers[1]) if len(numbers) > 1 else DEFAULT_SIGMA
        return first * math.exp(sigma**2 / 2)
    return first


def closed_loop(
    workload: str, slots: int, pages: int, cast: Cast, *, delay: str = "none", setting: str = ""
) -> Point:
    """A crawl of a tree in which each slot asks again as soon as it is answered."""
    mean_s = mean_delay_s(delay)
    page_s = FIRST_SLOT_PAGE_S if slots == 1 else PAGE_S
    return Point(
        id=f"{workload}-{setting or slots}",
        workload=workload,
        kind="crawl",
        site=tree(pages),
        delay=delay,
        slots=slots,
        cast=cast,
        # At first few pages are known, and at last few are left: about two delays a level.
        waits_s=mean_s * (pages / slots + 2 * math.log10(pages)),
        work_s=pages * page_s if slots > 1 or not mean_s else 0.0,
    )


def throughput(slots: int, pages: int, cast: Cast) -> Point:
    """A crawl without delay: what a crawled page costs, links and all."""
    here = slots == REFERENCE_SLOTS
    return replace(
        closed_loop("throughput", slots, pages, cast),
        twins=TWINS if here else (BASE,),
        controls=("shared",) if here else (),
        ceiling=True,
        interleaved=True,
        paired=(*PAIRED, "async_await"),
    )


def fetch(slots: int, urls: int, cast: Cast) -> Point:
    """A list of pages, counted and checksummed, without links: what a model costs, undiluted."""
    return replace(
        throughput(slots, urls, cast),
        id=f"fetch-{slots}",
        workload="fetch",
        site=f"list:{urls}:{PAGE_BYTES}",
        urls=urls,
        twins=TWINS,
        controls=("bare", "shared") if slots == REFERENCE_SLOTS else (),
        paired=PAIRED,
        work_s=urls * LISTED_PAGE_S,
    )


def whole(slots: int, pages: int, cast: Cast) -> Point:
    """The crawl of throughput in whole trials, one after the other: do they agree with turns?"""
    twins = TWINS if cast.variants else (BASE,)
    return replace(
        closed_loop("whole", slots, pages, cast),
        twins=twins,
        ceiling=True,
        beside=f"throughput-{slots}",
    )


def waiting(slots: int, pages: int, cast: Cast) -> Point:
    """A delay of 50 ms: what waiting costs."""
    return closed_loop("waiting", slots, pages, cast, delay=WAITING_DELAY)


def ladder(slots: int, pages: int, cast: Cast) -> Point:
    """Every backend, on few enough pages for the slowest stacks."""
    return replace(
        closed_loop("ladder", slots, pages, cast),
        twins=TWINS,
        ceiling=True,
        interleaved=True,
        paired=(*PAIRED, "async_await"),
    )


def switch(slots: int, pages: int, cast: Cast) -> Point:
    """Threads that wait: what the interpreter's switch interval costs them."""
    point = closed_loop("ladder", slots, pages, cast, delay=WAITING_DELAY)
    return replace(point, cast=replace(cast, only=SWITCHING), twins=(), sole=True)


def regime(slots: int, delay_ms: int, pages: int, cast: Cast) -> Point:
    """A cell of the regime map that no throughput or waiting point covers."""
    setting = f"{slots}x{delay_ms}ms"
    return closed_loop("regime", slots, pages, cast, delay=f"lognormal:{delay_ms}", setting=setting)


def fairness(slots: int, urls: int, cast: Cast) -> Point:
    """Which slot finished when: whether a model starves any.

    The site is a list, so that every slot has work from the first moment until it runs out.
    """
    return Point(
        id=f"fairness-{slots}",
        workload="fairness",
        kind="crawl",
        site=f"list:{urls}:{PAGE_BYTES}",
        urls=urls,
        slots=slots,
        cast=cast,
        twins=(),
        recorder="slots",
        work_s=urls * LISTED_PAGE_S,
    )


def c10k(connections: int, cast: Cast) -> Point:
    """Connections held open at a barrier: how much memory one takes."""
    return Point(
        id=f"c10k-{connections}",
        workload="c10k",
        kind="hold",
        site=f"list:{connections}:{PAGE_BYTES}",
        urls=connections,
        slots=connections,
        cast=cast,
        twins=(),
        deadline_s=180.0,
        waits_s=SETTLE_S + connections / RAMP_PER_S,
        work_s=connections * HELD_S,
    )


def openloop(rate: int, seconds: float, cast: Cast) -> Point:
    """Requests due on a Poisson schedule: how long a user would wait."""
    urls = max(1, round(rate * seconds))
    return Point(
        id=f"openloop-{rate}",
        workload="openloop",
        kind="openloop",
        site=f"list:{urls}:{PAGE_BYTES}",
        urls=urls,
        slots=100,
        rate=rate,
        cast=cast,
        twins=(),
        waits_s=seconds,
        work_s=max(0.0, urls * LISTED_PAGE_S - seconds),
    )


def recorder_cost(pages: int, blocks: int) -> Point:
    """The same crawl in turns, with a recorder that keeps times and with one that keeps nothing."""
    cast = Cast(blocks, only=(BASE,))
    return replace(
        closed_loop("cost", 100, pages, cast), twins=(), null_recorder=True, interleaved=True
    )


def pinning(pages: int, blocks: int) -> Point:
    """The same crawl in turns, on one processor and on all: for threads, and for loops."""
    loops = (BASE, "async_await")
    cast = Cast(blocks, blocks, blocks, only=("threads", PINNED, *loops))
    point = closed_loop("pinning", REFERENCE_SLOTS, pages, cast)
    return replace(point, wide=loops, twins=(), interleaved=True, sole=True)


def awake(slots: int, pages: int, blocks: int) -> Point:
    """The same crawl in turns, from a server that polls and from one that sleeps."""
    cast = Cast(blocks, only=(BASE,))
    return replace(closed_loop("awake", slots, pages, cast), asleep=True, interleaved=True)
