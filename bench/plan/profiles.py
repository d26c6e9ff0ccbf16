"""Profiles: which points a campaign measures, and how often.

A *profile* is a set of points, each with those who take part, and in how many blocks
(:class:`bench.plan.participants.Participants`). Profiles are sized for two processors. Pages are
chosen so that ``callbacks`` works for about 0.3 s in each block of a point in turns of the full
profile, which is thirty turns; every other label gets a site on which it works for as long
(:mod:`bench.plan.durations`). Whole trials of a model backend take half a second to two seconds.
Blocks and pages come from the scatter of the A/A pairs in a reference campaign
(docs/notebook/method-studies.md, "How many blocks, and how long").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench import BenchError
from bench.conditions import ASLEEP, TWIN
from bench.conditions.flips import FLIPS
from bench.machine import cpu
from bench.plan import workloads as points
from bench.plan.participants import (
    BASE,
    CITED,
    FEWER_MIXED,
    FREE,
    MAIN_VARIANTS,
    MAPPED,
    MIXED,
    OTHER_LIBRARIES,
    PAIRED,
    PINNED,
    REMEDIES,
    SMALL_BUFFER,
    SPREADING,
    SWITCHING,
    TLS_PAGES,
    TWINS,
    Participants,
    only,
    usually,
)
from bench.plan.workloads import COMPANIONS, FEW, REFERENCE_SLOTS, Point
from bench.schema import SpreadOver
from crawlers.registry import MODELS
from server.models.catalogue import SERVERS

REGIME = ((10, 10, 250), (100, 10, 2000))
"""Slots, delay in ms, pages: the cells between throughput (no delay) and waiting (50 ms)."""

CROSSOVER = ((1000, 100, 2500), (3000, 1000, 2000))
"""The same beyond the regime map, where slots ÷ delay is what threads can just fetch, or cannot."""

CROSSING: Final = Participants((((BASE, "threads", "async_await"), 5), (SWITCHING, 3)), None)
"""Threads with both switch intervals, and the models that they are compared with."""

PAIR: Final = ASLEEP.of(*PAIRED)
TWO_TWINS: Final = TWIN.of(BASE, "async_await")

BARRED = ("uvloop_protocol",)
"""Further backends whose distance to the floor, ``bare``, is a goal: beside it in fetch."""

SPREADS: tuple[SpreadOver, ...] = ("apart", "shared")

SERVING: Final = (*MODELS, "uvloop", "trio", "gevent", "aiohttp_web")
"""The main servers: each changes one thing, but for the last."""
SERVED_BY_MAIN: Final = usually(SERVING, 5)
SERVED_ONCE: Final = usually(SERVING, 1)


def served_by(blocks: int) -> Participants:
    """Every server that can serve a thousand clients at once.

    On two processors ``threads`` has one as a server: then it is what ``threads_one_processor`` is.
    """
    same = (PINNED,) if len(cpu.split_cores().usable) <= 2 else ()
    others = ("bare", "threads_pool", *REMEDIES[:2], *same)
    return only(tuple(name for name in SERVERS if name not in others), blocks)


WITH_ROBBED: Final = 6
"""Blocks for a p99, of which the host may rob one (:func:`bench.analysis.schedules.robbed`)."""

ON_ASYNCIO: Final = ("async_await", *OTHER_LIBRARIES)
"""asyncio, and what is compared with it."""

ON_ALL = ("processes", "loop_per_thread")
"""What may use every processor on every interpreter; without its lock, the loops do."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named amount of measuring.

    ``backends`` are measured unless the user names others, None for all that
    are installed. The time that the summary promises includes the charts.
    """

    name: str
    summary: str
    points: tuple[Point, ...]
    backends: tuple[str, ...] | None


def smoke() -> Profile:
    """A little of everything but real HTML.

    The server crawls a directory of HTML itself before it serves it for the
    first time, which takes a quarter of the time that this profile has.
    """
    return Profile(
        "smoke",
        "under 90 s: small sizes, two blocks; shows that it works, and no more",
        points=(
            points.throughput(1, 1500, usually(MODELS, 1)),
            points.throughput(100, 6000, usually(CITED, 2)),
            points.fetch(100, 12000, usually(CITED, 2)),
            points.waiting(10, 50, usually(MODELS, 1)),
            points.waiting(100, 500, usually(MODELS, 2)),
            *(points.c10k(connections, usually(CITED, 1)) for connections in (50, 100, 250, 500)),
            points.c10k(50, usually(CITED, 1), tls=True),
            points.openloop(1000, 0.5, usually(MODELS, 1)),
            points.openloop(4000, 0.5, usually(MODELS, 1)),
            points.recorder_cost(6000, 1),
        ),
        backends=MODELS,
    )


def quick() -> Profile:
    """The ten charts of a talk, in less than four minutes.

    Seven backends, and at least five trials behind each headline: five blocks, or for the line of
    memory over connections five readings, which cover what a 95 % interval promises. Most of a
    trial is the start of its process, so trials are short, and open loops have just the requests
    that a p99 needs. The first rate is one that all carry; at the last, nobody does.
    """
    all_seven, twice, once = (usually(CITED, blocks) for blocks in (5, 2, 1))
    tail = usually(CITED, WITH_ROBBED)
    return Profile(
        "quick",
        "under 4 minutes: the default; ten charts, with an interval for each headline",
        points=(
            replace(
                points.throughput(100, 16_000, all_seven),
                varied=(TWIN.of(BASE), PAIR),
                controls=(),
            ),
            replace(points.throughput(10, 12_000, twice), varied=()),
            replace(points.throughput(1000, 16_000, twice), varied=()),
            points.c10k(300, twice),
            *(points.c10k(connections, once) for connections in (600, 1000, 3000)),
            points.c10k(50, twice, tls=True),
            *(points.c10k(connections, once, tls=True) for connections in (100, 200, 300)),
            points.openloop(2000, 0.5, tail),
            points.openloop(4000, 0.3, twice),
            points.openloop(16_000, 0.1, twice),
            points.openloop(100_000, 0.03, once),
            points.mixed(10, 500, 0.3, only(("async_await", *REMEDIES[:2]), 5)),
            points.in_modes("connect", 100, 20_000, only(ON_ASYNCIO, 5)),
        ),
        backends=(*MODELS, *OTHER_LIBRARIES, *REMEDIES[:2]),
    )


def full() -> Profile:
    """Enough blocks to see small differences, and every backend there is.

    The A/A twin takes part wherever a chart may draw a ratio: more than forty
    comparisons of one backend with itself.
    """
    models, cited = usually(MODELS, 5), usually(CITED, 5)
    over_tls = Participants(((CITED, 5), (TLS_PAGES, 1)), None)
    return Profile(
        "full",
        "under 40 minutes: every backend, five blocks in turns; what a talk should cite",
        points=(
            points.fetch(10, 26000, cited),
            points.fetch(100, 27000, usually((*CITED, *BARRED), 5)),
            points.fetch(1000, 32000, cited),
            replace(
                points.throughput(10, 20_000, cited),
                varied=(TWIN.of(*TWINS), COMPANIONS),
            ),
            points.throughput(100, 22_000, usually((*CITED, *MAPPED[:1]), 5)),
            points.throughput(1000, 26000, cited),
            points.whole(100, 4000, cited),
            points.waiting(10, 260, models),
            points.waiting(100, 2300, cited),
            points.waiting(1000, 12_000, cited),
            *(points.regime(*cell, models) for cell in REGIME),
            points.regime(1000, 10, 4000, only((*MODELS, *SWITCHING), 5)),
            *(points.crossover(*cell, CROSSING) for cell in CROSSOVER),
            points.ladder(13_000, usually(CITED, 5, rest=5)),
            points.fairness(1000, 20000, models),
            points.c10k(300, usually(CITED, 2)),
            points.c10k(600, usually(CITED, 2)),
            points.c10k(1000, usually(CITED, 2, rest=1)),
            points.c10k(10000, Participants(((MODELS, 2), (MAIN_VARIANTS, 1)))),
            points.in_modes("tls-fetch", 10, 16000, over_tls),
            points.in_modes("tls-handshake", 10, 16000, over_tls),
            points.in_modes("churn", 100, 16000, cited),
            points.in_modes("headers", 100, 16000, models),
            *(
                points.c10k(connections, usually((*CITED, *SMALL_BUFFER), 2), tls=True)
                for connections in (100, 1000)
            ),
            points.c10k(300, usually(CITED, 2, rest=1), tls=True),
            points.c10k(2000, usually(CITED, 1), tls=True),
            points.cancel(1, usually(CITED, 1)),
            points.cancel(1000, cited),
            points.openloop(4000, 0.8, usually(MODELS, WITH_ROBBED)),
            points.openloop(1000, 0.8, models),
            *(points.openloop(rate, 0.5, models) for rate in (16000, 32000)),
            points.mixed(1, 3000, 0.5, only(FEWER_MIXED, 2)),
            points.mixed(10, 500, 0.5, only(MIXED, 5)),
            *(points.processors(how, 10000, only((*MODELS, *SPREADING), 5)) for how in SPREADS),
            *points.scaling(10000, 5),
            *points.real(cited),
            points.recorder_cost(20000, 6),
            points.handovers("crawled", 35_000, 5),
            points.serve(100, 20, served_by(5)),
            points.accept(100, 15, SERVED_BY_MAIN),
            points.mixed_server(10, 400, 3.0, only((*SERVING, *REMEDIES[:2]), 1)),
            points.slow_readers(1000, 50, usually(SERVING, 2)),
            points.hold(1000, served_by(1)),
            points.hold(1000, SERVED_ONCE, tls=True),
        ),
        backends=None,
    )


def headlines() -> Profile:
    """What README, the chart on its cover and the bold sentences of docs/findings.md rest on.

    It is measured again and again, hours and boots apart, because the blocks of one campaign say
    nothing of the next one (:mod:`bench.analysis.stats.campaigns`). Threads on all processors are
    measured in whole crawls. On one they take turns for crawled pages only: turns distort their
    fetched pages and new connections (docs/notebook/method-studies.md).
    """
    loops = tuple(name for name in CITED if name != FREE)
    looping, held = only(loops, 5), only(CITED, 2)
    crawling = only((PINNED, *loops, *MAPPED[:1]), 5)
    return Profile(
        "headlines",
        "ten minutes: what README quotes; run it again on another day, and combine",
        points=(
            replace(points.fetch(100, 20_000, looping), varied=(TWO_TWINS,)),
            replace(points.throughput(100, 22_000, crawling), varied=(TWIN.of(BASE), COMPANIONS)),
            points.handovers("crawled", 35_000, 5),
            points.handovers("fetched", 35_000, 5),
            *(points.c10k(connections, held) for connections in (100, 300, 1000, 3000)),
            *(points.c10k(connections, held, tls=True) for connections in (100, 300, 1000)),
            points.c10k(2000, only(CITED, 1), tls=True),
            points.in_modes("churn", 100, 20_000, looping),
            points.openloop(4000, 1.0, only(CITED, 5)),
            points.serve(100, 20, SERVED_BY_MAIN),
            points.hold(1000, only(SERVING, 2)),
        ),
        backends=(*CITED, PINNED, *MAPPED[:1], "aiohttp_web"),
    )


def reference() -> Profile:
    """All of the full profile, and what takes minutes to answer one question."""
    return Profile(
        "reference",
        "about 50 minutes: full, with few connections, and ten thousand threads",
        points=(
            *full().points,
            *(points.few(slots, only(MODELS, 5)) for slots in FEW),
            *(points.serve(slots, 20, only(MODELS, 5)) for slots in FEW[:-1]),
            points.crossover(10_000, 1000, 5000, only(MODELS, 2)),
            points.cancel(10000, usually(MODELS, 1)),
            points.serve(10, 20, SERVED_BY_MAIN),
            points.serve(1000, 20, SERVED_BY_MAIN),
            points.hold(10000, SERVED_ONCE),
        ),
        backends=None,
    )


STARRING: Final = (*MODELS, "uvloop", "trio")
MEMORY: Final = "memory"


def equal() -> Profile:
    """What the harness holds equal, each of it flipped once; goes with every reference.

    Every backend takes part twice in a block, as always and flipped, in turns with each other. The
    server sleeps, because threads on all of two processors share its own, except where that is
    flipped. One more point compares memory on all processors.
    """
    who = only(STARRING, 5)
    crawl = replace(points.closed_loop("equal", REFERENCE_SLOTS, 14000, who), interleaved=True)
    held = replace(
        points.c10k(1000, who),
        workload="equal",
        setting=MEMORY,
        varied=(FLIPS["processors"],),
    )
    return Profile(
        "equal",
        "ten minutes: does what the harness holds equal decide the order?",
        points=(
            *(replace(crawl, setting=name, varied=(flip,)) for name, flip in FLIPS.items()),
            held,
        ),
        backends=STARRING,
    )


def interpreters() -> Profile:
    """One point for processor time and one for memory, for many interpreters side by side."""
    return Profile(
        "interpreters",
        "for python -m bench study interpreters: 27 s for each model on each interpreter",
        points=(
            replace(points.throughput(100, 10_000, usually(MODELS, 5)), controls=()),
            points.c10k(2000, usually(MODELS, 5)),
            points.processors("shared", 8000, only((BASE, FREE, *ON_ALL), 5)),
        ),
        backends=(*MODELS, *ON_ALL),
    )


def servers() -> Profile:
    """The models as servers, with those that most people run; for results/servers."""
    who = SERVED_BY_MAIN
    return Profile(
        "servers",
        "twenty minutes: the models as servers under load, and what an idle connection costs them",
        points=(
            points.serve(10, 60, who),
            points.serve(100, 60, who),
            points.serve(1000, 40, who),
            points.accept(100, 40, who),
            points.mixed_server(10, 400, 4.0, only((*SERVING, *REMEDIES[:2]), 5)),
            points.slow_readers(1000, 50, who),
            points.hold(10000, who),
            points.hold(1000, who, tls=True),
        ),
        backends=(*SERVING, *REMEDIES[:2]),
    )


PROFILES: dict[str, Callable[[], Profile]] = {
    "smoke": smoke,
    "quick": quick,
    "headlines": headlines,
    "full": full,
    "reference": reference,
    "equal": equal,
    "interpreters": interpreters,
    "servers": servers,
}


LAST: Final = ("headlines", "smoke")
"""Where a point is of threads on one processor alone, or small."""

JOINED: Final = "+"
"""Between the names of profiles whose points are in one campaign."""


def profile(name: str, only: Sequence[str] | None = None) -> Profile:
    """The profile of that name, or of several such as ``quick+full``: of a point the first has.

    ``only`` names workloads or points. What the profile does not have comes from another one, from
    those in :data:`LAST` at the end, and the result is named after all of them.
    Raises :class:`BenchError` for an unknown name.
    """
    wanted = name.split(JOINED)
    for part in wanted:
        if part not in PROFILES:
            raise BenchError(f"unknown profile {part!r}: choose one of {', '.join(PROFILES)}")
    order = (*wanted, *sorted(PROFILES, key=LAST.count)) if only else wanted
    parts = {part: PROFILES[part]() for part in order}
    taken: dict[str, list[str]] = {}
    for word in only or ():
        here = (part for part in parts if any(word in known_as(p) for p in parts[part].points))
        if (first := next(here, None)) is None:
            there = dict.fromkeys(p.workload for part in parts.values() for p in part.points)
            raise BenchError(
                f"unknown workload or point {word!r}: see python -m bench list; "
                f"workloads: {', '.join(there)}"
            )
        taken.setdefault(first, []).append(word)
    used = [source for part, source in parts.items() if part in taken or not only]
    by_id = {
        point.id: point
        for source in reversed(used)
        for point in source.points
        if not only or known_as(point) & {*taken[source.name]}
    }
    usual = [source.backends for source in used]
    return replace(
        used[0],
        name=JOINED.join(source.name for source in used),
        points=tuple(by_id.values()),
        backends=None if None in usual else tuple(dict.fromkeys(n for u in usual for n in u or ())),
    )


def known_as(point: Point) -> set[str]:
    return {point.id, point.workload}
