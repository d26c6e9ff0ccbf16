"""Profiles: which points a campaign measures, and how often.

A *profile* is a set of points, each with the number of blocks that a group of
backends takes part in: ``Cast(models, main variants, all others)``. Profiles
are sized for two processors; a slower machine gets fewer blocks, see
:mod:`bench.plan.budget`. Pages are chosen so that
``callbacks`` works for about 0.6 s in each block of a point in turns, which is sixty
turns, and twice as long with a thousand slots, where a single turn says least; every
other label gets fewer pages (:mod:`bench.plan.sizes`). Whole trials of a model backend
take half a second to two seconds. Blocks and pages come from the scatter of the A/A pairs
in a reference campaign (docs/method.md, "How many blocks, and how long").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.errors import BenchError
from bench.plan.cancelling import cancel
from bench.plan.cast import BASE, FREE, MAPPED, PAIRED, TWINS, Cast
from bench.plan.churn import churn
from bench.plan.crossover import crossover, with_long_switch
from bench.plan.mixed import FEWER, LOOPS, OTHERS, mixed
from bench.plan.over_tls import SMALL_BUFFER, tls_c10k, tls_fetch, tls_handshake
from bench.plan.processors import processors, scaling
from bench.plan.real import real
from bench.plan.workloads import (
    Point,
    awake,
    c10k,
    fairness,
    fetch,
    ladder,
    openloop,
    pinning,
    recorder_cost,
    regime,
    switch,
    throughput,
    waiting,
    whole,
)
from bench.schema import Spread
from crawlers.registry import MODELS

REGIME = (
    *((1, 1, 300), (10, 1, 1500), (100, 1, 4000), (1000, 1, 4000)),
    *((1, 10, 40), (10, 10, 250), (100, 10, 2000)),
)
"""Slots, delay in ms, pages: the cells between throughput (no delay) and waiting (50 ms)."""

CROSSOVER = ((1000, 100, 2500), (3000, 1000, 2000))
"""The same beyond the regime map, where slots ÷ delay is what threads can just fetch, or cannot."""

BARRED = ("uvloop_protocol",)
"""Further backends whose distance to the floor, ``bare``, is a goal: beside it in fetch."""

SPREADS: tuple[Spread, ...] = ("apart", "shared")

ON_ALL = ("processes", "loop_per_thread")
"""What may use every processor on every interpreter; without its lock, the loops do."""


class ProfileError(BenchError):
    """No such profile or workload; the message lists what there is."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named amount of measuring.

    ``backends`` are measured unless the user names others, None for all that
    are installed. ``budget_s`` is how long the measuring may take, None for
    as long as it needs; the time that the summary promises includes the charts.
    """

    name: str
    summary: str
    points: tuple[Point, ...]
    backends: tuple[str, ...] | None
    budget_s: float | None = None


def smoke() -> Profile:
    """A little of everything but real HTML.

    The server crawls a directory of HTML itself before it serves it for the
    first time, which takes a quarter of the time that this profile has.
    """
    return Profile(
        "smoke",
        "under 90 s: small sizes, two blocks; shows that it works, and no more",
        points=(
            throughput(1, 1500, Cast(1)),
            throughput(100, 6000, Cast(2, 2)),
            fetch(100, 12000, Cast(2, 2)),
            waiting(10, 50, Cast(1)),
            waiting(100, 500, Cast(2)),
            *(c10k(connections, Cast(1, 1)) for connections in (50, 100, 250, 500)),
            tls_c10k(50, Cast(1, 1)),
            openloop(1000, 0.5, Cast(1)),
            openloop(4000, 0.5, Cast(1)),
            recorder_cost(6000, 1),
        ),
        backends=MODELS,
        budget_s=75.0,
    )


def quick() -> Profile:
    """First answers in a few minutes.

    Its minutes go where a reader looks first: the models, uvloop, trio and
    aiohttp at 100 slots, in turns. Where the delay sets the rate there is
    hardly any spread, and one block is enough.
    """
    return Profile(
        "quick",
        "under 5 minutes: the default; first answers, sharp where a reader looks first",
        points=(
            replace(fetch(100, 36500, Cast(5, 5)), twins=(BASE, "async_await")),
            replace(
                throughput(100, 18300, Cast(5, 5, also=MAPPED[:1])),
                twins=(BASE,),
                controls=(),
                paired=PAIRED,
            ),
            replace(throughput(10, 18300, Cast(5)), twins=(), paired=PAIRED),
            replace(throughput(1000, 25000, Cast(5)), twins=(), paired=PAIRED),
            whole(100, 4000, Cast(5)),
            waiting(1, 4, Cast(1)),
            waiting(10, 60, Cast(1)),
            waiting(100, 1000, Cast(1)),
            waiting(1000, 3000, Cast(1)),
            *(c10k(connections, Cast(1, 1)) for connections in (100, 1000, 2500)),
            c10k(10000, Cast(1)),
            tls_c10k(1000, Cast(1, 1)),
            churn(100, 28000, Cast(1)),
            crossover(1000, 100, 1500, Cast(1)),
            cancel(1000, Cast(1)),
            *(openloop(rate, 0.6, Cast(1)) for rate in (4000, 16000)),
            mixed(10, 500, 0.8, Cast(1, 1, 1, only=(*LOOPS, *OTHERS))),
        ),
        backends=(*MODELS, "uvloop", "trio", "aiohttp", *OTHERS[:2], *MAPPED[:1]),
        budget_s=276.0,
    )


def full() -> Profile:
    """Enough blocks to see small differences, and every backend there is.

    The A/A twin takes part wherever a chart may draw a ratio: more than forty
    comparisons of one backend with itself.
    """
    return Profile(
        "full",
        "under 45 minutes: every backend, five blocks or more in turns; what a talk should cite",
        points=(
            fetch(10, 50000, Cast(5, 5)),
            fetch(100, 50000, Cast(6, 6, also=BARRED)),
            fetch(1000, 70000, Cast(5, 5)),
            replace(throughput(1, 20000, Cast(7)), twins=TWINS),
            replace(throughput(10, 28000, Cast(7, 7)), twins=TWINS),
            throughput(100, 36000, Cast(6, 6, also=MAPPED[:1])),
            throughput(1000, 42000, Cast(5, 5)),
            whole(100, 4000, Cast(5, 5)),
            whole(1000, 8000, Cast(5)),
            waiting(1, 8, Cast(5)),
            waiting(10, 80, Cast(5)),
            waiting(100, 800, Cast(5, 5)),
            waiting(1000, 3000, Cast(5, 5)),
            *(regime(*cell, Cast(5)) for cell in REGIME),
            with_long_switch(regime(1000, 10, 4000, Cast(5))),
            *(crossover(*cell, Cast(5, rest=3)) for cell in CROSSOVER),
            ladder(100, 27500, Cast(5, 5, 5)),
            switch(1000, 6000, Cast(5, 5, 5)),
            fairness(1000, 20000, Cast(5)),
            c10k(100, Cast(2, 2, 1)),
            c10k(1000, Cast(3, 3, 3)),
            c10k(2500, Cast(2, 2, 1)),
            c10k(10000, Cast(2, 2)),
            tls_fetch(10, 28000, Cast(5, 5, 1)),
            tls_handshake(10, 28000, Cast(5, 5, 1)),
            churn(100, 27500, Cast(5, 5)),
            *(tls_c10k(connections, Cast(1, 1, also=SMALL_BUFFER)) for connections in (100, 300)),
            tls_c10k(1000, Cast(1, 1, 1)),
            cancel(1, Cast(1, 1)),
            cancel(1000, Cast(5, 5)),
            *(openloop(rate, 0.8, Cast(5)) for rate in (1000, 4000, 16000, 32000)),
            mixed(1, 3000, 0.5, Cast(2, 2, 2, only=FEWER)),
            mixed(10, 500, 0.5, Cast(5, 5, 5)),
            *(processors(how, 10000, Cast(5, 0, 5)) for how in SPREADS),
            *scaling(10000, 5),
            *real(Cast(5, 5)),
            recorder_cost(44000, 10),
            pinning(26000, 5),
            *(awake(slots, pages, 5) for slots, pages in ((1, 14000), (100, 28000))),
        ),
        backends=None,
        budget_s=2660.0,
    )


def reference() -> Profile:
    """All of the full profile, and what takes minutes to answer one question.

    Ten thousand handshakes need 10 s of a processor for each backend. Of ten thousand threads
    that crawl behind a delay, one crawl took 6 s and another 40.
    """
    return Profile(
        "reference",
        "about an hour: full, with 10,000 connections over TLS and ten thousand threads",
        points=(
            *full().points,
            tls_c10k(10000, Cast(1, 1)),
            crossover(10_000, 1000, 5000, Cast(3, only=MODELS)),
            cancel(10000, Cast(1, 1)),
            mixed(100, 50, 2.5, Cast(1, 1, 1, only=FEWER)),
        ),
        backends=None,
        budget_s=3600.0,
    )


def interpreters() -> Profile:
    """One point for processor time and one for memory, for many interpreters side by side."""
    return Profile(
        "interpreters",
        "for python -m bench interpreters: 27 s for each model on each interpreter",
        points=(
            replace(throughput(100, 5000, Cast(5)), controls=()),
            c10k(2000, Cast(5)),
            processors("shared", 8000, Cast(5, 0, 5, only=(BASE, FREE, *ON_ALL))),
        ),
        backends=(*MODELS, *ON_ALL),
    )


PROFILES: dict[str, Callable[[], Profile]] = {
    "smoke": smoke,
    "quick": quick,
    "full": full,
    "reference": reference,
    "interpreters": interpreters,
}


def profile(name: str) -> Profile:
    """The profile of that name.

    Raises :class:`ProfileError` for an unknown one.
    """
    if name not in PROFILES:
        raise ProfileError(f"unknown profile {name!r}: choose one of {', '.join(PROFILES)}")
    return PROFILES[name]()
