"""Made-up campaigns that answer the questions: what each measures, and what may be different.

A campaign of :mod:`tests.bench.synthetic` gives the trials; here they become those of a question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

import numpy as np

from bench.analysis.schedules import responses
from bench.conditions.ways import ENCRYPTED, HANDSHAKE, NEW, PLAIN, TICKETS
from bench.histograms import encode_latency
from bench.plan.participants import PINNED, SWITCHING
from bench.questions import (
    QUESTIONS,
    accept,
    cancel,
    crossover,
    equal,
    handovers,
    page,
    serve,
    timeouts,
    tls_pages,
)
from bench.questions.columns import BARE, Columns, Read, ServedColumns
from bench.schema import (
    AnyRecord,
    CampaignRecord,
    Cancelled,
    Cpu,
    Handshakes,
    Interpreter,
    LoadReport,
    Quantiles,
    Switches,
    TrialRecord,
    Windows,
    Work,
)
from bench.sides.protocol import WORK_EVERY, chosen, poisson
from bench.sides.servers import Tls
from bench.text import KIB
from crawlers.heap import KEEPS, ON_PURPOSE
from tests.bench import synthetic
from tests.bench.sure import sure
from tests.bench.synthetic import (
    MODELS,
    Maker,
    altered,
    campaign,
    control,
    extended,
    in_turns,
    replaced,
    rungs,
    where,
)

BACKENDS = (*MODELS, "uvloop", "aiohttp")
LADDER = tuple(rungs(BACKENDS))
Lines = list[AnyRecord]
Cases = Mapping[str, Callable[[], Lines]]
"""What is different -> the records of a campaign. A golden file has what its question says then."""


def usual(make: Callable[..., Lines], **options: Any) -> Lines:
    """The campaign of a golden file, with something else."""
    return make(**{"backends": BACKENDS, "blocks": 5} | options)


def indifferent(*workloads: str, **options: Any) -> Lines:
    """A campaign in which no backend differs from another."""
    return usual(campaign, effects=False, noise=0.03, workloads=workloads, **options)


def kept(lines: Lines, wanted: Callable[[TrialRecord], object]) -> Lines:
    """Without the other trials."""
    return replaced(lines, lambda trial: trial if wanted(trial) else [])


def little(**options: Any) -> Lines:
    """A campaign of one workload."""
    usual: dict[str, Any] = {"blocks": 3, "samples": 20, "workloads": ("throughput",)}
    return campaign(**usual | options)


def grown(
    more: Callable[[TrialRecord], TrialRecord | Iterator[TrialRecord]], **options: Any
) -> Lines:
    """A little campaign, each trial replaced by what is made of it."""
    return replaced(little(**options), more)


def lacking(lines: Lines) -> Lines:
    """With generators in fewer blocks than the others."""
    return kept(lines, lambda trial: (trial.label, trial.block) != ("generators", 1))


def at(trial: TrialRecord, workload: str, point: str, /, **values: Any) -> TrialRecord:
    """The trial at another point."""
    return altered(trial, workload=workload, point=f"{workload}-{point}", **values)


# --- what follows from a question's columns ----------------------------------------------

US = {"threads": 30.0, "callbacks": 9.0, "generators": 10.0, "async_await": 15.0, BARE: 6.0}
VARIANT_US = 12.0

Costs = Callable[[str, str], float]
"""Label and column -> microseconds of a page."""


def in_order(columns: Columns) -> Costs:
    """Each column costs more than the one before."""
    keys = list(columns.columns)
    return lambda label, key: US.get(label, VARIANT_US) * (1 + keys.index(key))


def trials(
    columns: Columns, us: Costs, backends: Sequence[str] = MODELS, blocks: int = 3
) -> list[TrialRecord]:
    """Each block is slower by a tenth; of servers there is the floor, too."""
    make, workload = Maker(9, 0.01, effects=True, samples=20), columns.workloads[0]
    found = []
    for block in range(blocks):
        for key, read in columns.columns.items():
            if not isinstance(read, Read):
                continue
            for place, name in enumerate(backends):
                trial = make.closed((block, place, name), read.at or f"{workload}-100")
                params = {**trial.params, "urls": 500, "mode": read.mode}
                trial = trial.model_copy(update={"params": params, "limiter": "server"})
                found.append(in_turns(trial, (1 + 0.1 * block) * us(name, key)))
            if isinstance(columns, ServedColumns):
                found.append(control(trial, BARE, (1 + 0.1 * block) * us(BARE, key)))
    return found


def costed(
    columns: Columns,
    us: Costs | None = None,
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 3,
    **options: Any,
) -> Lines:
    """The records of a campaign that also measured this."""
    found = trials(columns, us or in_order(columns), backends, blocks)
    points = dict.fromkeys(trial.point for trial in found)
    return extended(little(backends=backends, blocks=blocks, **options), points, found)


# --- memory and TLS ----------------------------------------------------------------------


OPENSSL_KIB = 19.0
PLAIN_US, CHURN_US = 20.0, 80.0
ADDED = {
    "threads": (1.0, 12.0, 1000.0),
    "callbacks": (0.5, 12.0, 1000.0),
    "generators": (0.5, 13.0, 1020.0),
    "async_await": (275.0, 30.0, 1600.0),
    "uvloop": (26.0, 16.0, 1200.0),
    "trio": (0.2, 40.0, 2300.0),
    "aiohttp": (276.0, 35.0, 1700.0),
}
"""What TLS adds: KiB of its library, and microseconds of encryption and of a handshake."""
RESUMES = "aiohttp"


def encrypted(*, backends: Sequence[str] = MODELS, blocks: int = 3, **options: Any) -> Lines:
    """A campaign that also held connections over TLS, and fetched pages."""

    def also(trial: TrialRecord) -> Iterator[TrialRecord]:
        yield trial
        if trial.workload == "c10k" and trial.label in ADDED:
            memory, size = sure(trial.memory), trial.point.rpartition("-")[2]
            before, held = (sure(x.user_bytes) for x in (memory.before, memory.held))
            openssl, library = (
                int(kib * KIB * memory.connections) for kib in (OPENSSL_KIB, ADDED[trial.label][0])
            )
            own = {"memory__held__user_bytes": held + openssl + library}
            yield at(trial, "tls-c10k", size, params__tls=Tls().words, **own)
            if trial.label == "callbacks":
                alone = {"memory__held__user_bytes": before + openssl}
                yield at(trial, "tls-c10k", size, **named_control("bare_tls"), **alone)

    fetched = map(_shaken, trials(tls_pages.COLUMNS, _tls_us, backends, blocks))
    made = {"workloads": ("throughput", "c10k")} | options
    lines = grown(also, backends=backends, blocks=blocks, **made)
    return extended(lines, ["tls-fetch-100"], fetched)


def named_control(name: str) -> dict[str, str]:
    return {"kind": "control", "backend": name, "label": name, "family": "control"}


def _tls_us(name: str, key: str) -> float:
    _, encryption, handshake = ADDED[name]
    return {
        "plain": PLAIN_US,
        "tls": PLAIN_US + encryption,
        "churn": CHURN_US,
        "shake": CHURN_US + handshake,
        "tickets": CHURN_US + handshake * (0.4 if name == RESUMES else 1.0),
    }[key]


def _shaken(trial: TrialRecord) -> TrialRecord:
    """With its handshakes as the server counted them; some backends resume sessions."""
    mode = str(trial.params["mode"])
    resumed = 490 if (mode, trial.label) == ("tickets", RESUMES) else 0
    ways = (PLAIN, ENCRYPTED, NEW, HANDSHAKE, TICKETS)
    over = next(way.tls for way in ways if way.name == mode)
    seen = Handshakes(full=500 - resumed, resumed=resumed, failed=0) if over else None
    return altered(trial, params__tls=over and over.words, ledger__handshakes=seen)


@cache
def held() -> Lines:
    """What the question of memory reads."""
    return kept(usual(encrypted), lambda trial: trial.memory)


def for_users(lines: Sequence[AnyRecord]) -> Lines:
    """The records as a user has them, who cannot read slabinfo."""
    unread = ("kernel_socket_bytes", "kernel_other_bytes")
    lacks: dict[str, Any] = dict.fromkeys(f"memory__held__{part}" for part in unread)
    why = dict.fromkeys(unread, "needs root")
    return where(lines, lambda trial: trial.memory, **lacks, memory__reasons=why)


def of_nothing(lines: Lines) -> Lines:
    """As a user has it, where the connections of callbacks took nothing."""
    callbacks = kept(lines, lambda trial: trial.label == "callbacks")
    first = next(line for line in callbacks if isinstance(line, TrialRecord))
    own = {"memory__held__user_bytes": sure(first.memory).before.user_bytes}
    return where(for_users(lines), lambda trial: trial.label == "callbacks", **own)


# --- the cost of a page ------------------------------------------------------------------

MAPPED = "async_await_mapped"
AS_MUCH = 1.6
"""A page of it, in pages of ``async_await``."""


def mapped(*, backends: Sequence[str] = MODELS, blocks: int = 3, **options: Any) -> Lines:
    """A campaign with a variant in which malloc maps every receive."""
    made = {"workloads": ("throughput", "c10k")} | options
    lines = little(backends=(*backends, MAPPED), blocks=blocks, **made)
    theirs = {(t.block, t.point): t for t in trials_of(lines) if t.label == "async_await"}

    def faulted(trial: TrialRecord) -> TrialRecord:
        if trial.label != MAPPED:
            return faulting(trial, 0.1, KEEPS)
        return slower(faulting(trial, 2.2, ON_PURPOSE), theirs[trial.block, trial.point], AS_MUCH)

    return replaced(lines, faulted)


def trials_of(lines: Sequence[AnyRecord]) -> list[TrialRecord]:
    return [line for line in lines if isinstance(line, TrialRecord)]


def faulting(trial: TrialRecord, per_page: float, state: str) -> TrialRecord:
    faults = round(per_page * (trial.pages or 0))
    return altered(trial, page_faults=faults, mechanism__malloc=state) if trial.pages else trial


def slower(trial: TrialRecord, plain: TrialRecord, factor: float) -> TrialRecord:
    """With so many times the processor time of the other's page."""
    if plain.cpu is None or not plain.pages or not trial.pages:
        return trial
    each = factor * trial.pages / plain.pages
    user_s, system_s = plain.cpu.client_user_s * each, plain.cpu.client_system_s * each
    return altered(trial, cpu=altered(plain.cpu, client_user_s=user_s, client_system_s=system_s))


COSTS = {"threads": 50.0, "callbacks": 20.0, "generators": 26.0, "async_await": 34.0}
SOCKETS, SHARED = 11.0, 7.0
CONTROLS = {page.BARE: SOCKETS, page.STRIPPED: COSTS["callbacks"] - SHARED}


def split(*, backends: Sequence[str] = MODELS, stack: str | None = None, **options: Any) -> Lines:
    """A campaign whose machine is slower in each block: only what is paired stays equal."""
    ladder = [
        rung.model_copy(update={"family": "stack"}) if rung.name == stack else rung
        for rung in rungs(backends)
    ]
    controls: set[int] = set()

    def taken(trial: TrialRecord) -> Iterator[TrialRecord]:
        slow = 1 + trial.block / 10
        here = trial.point == "throughput-100"
        yield in_turns(trial, COSTS.get(trial.backend, 40.0) * slow) if here else trial
        if here and trial.block not in controls:
            controls.add(trial.block)
            yield from (control(trial, name, us * slow) for name, us in CONTROLS.items())

    return grown(taken, **{"blocks": 5} | options, backends=backends, ladder=ladder)


def with_slow_sockets() -> Lines:
    """In one block sockets alone took longer, so that nothing of callbacks is left for a model."""

    lines, slow = usual(split, base="callbacks"), (page.BARE, 2)
    return replaced(
        lines, lambda t: in_turns(t, 1.5 * SOCKETS) if (t.label, t.block) == slow else t
    )


def shared_with_the_server() -> Lines:
    """Threads share the server's processor, so the server sleeps, and they have no bar."""

    def both(trial: TrialRecord) -> Iterator[TrialRecord]:
        threads = trial.label == "threads"
        pinning = {"client": [0, 1] if threads else [1], "server": [0], "reason": None}
        yield altered(trial, server_polls=not threads, pinning=pinning)
        if trial.label == "callbacks" and trial.point == "throughput-100":
            yield altered(trial, server_polls=False, kind="companion", params__server="asleep")

    return replaced(usual(split, base="callbacks"), both)


def limited(
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 6,
    more: Mapping[str, float] | None = None,
    **options: Any,
) -> Lines:
    """A campaign in which each of these has a variant with timeouts that takes so much more."""
    more = more or {"async_await": 1.2, "threads": 1.1}
    against = {name + timeouts.SUFFIX: name for name in more}
    names = [*backends, *against]
    ladder = [rung.model_copy(update={"against": against.get(rung.name)}) for rung in rungs(names)]
    made: dict[str, Any] = {"workloads": ("ladder",), "noise": 0.002, "twin": None} | options
    lines = campaign(backends=names, blocks=blocks, ladder=ladder, **made)
    plain = {(t.point, t.block, t.label): t for t in trials_of(lines)}

    def timed(trial: TrialRecord) -> TrialRecord:
        """With the processor time of the plain one, and so much more."""
        if (name := against.get(trial.label)) is None:
            return trial
        same = plain[trial.point, trial.block, name]
        like = altered(trial, pages=same.pages, statuses=same.statuses, turns=None)
        return slower(like, same, more[name] * (1 + 0.001 * (-1) ** trial.block))

    return replaced(lines, timed)


FLIPPED_US = {**COSTS, "threads": 30.0, "generators": 22.0, "async_await": 25.0, "uvloop": 24.0}


def flipped(*, over: float = 1.5, **options: Any) -> Lines:
    """A campaign in which another state of malloc makes async_await dearer, and nothing else."""
    numbers = iter(range(10_000, 20_000))

    def both(trial: TrialRecord) -> Iterator[TrialRecord]:
        if trial.point != "throughput-100" or trial.label not in FLIPPED_US:
            return
        for flip in ("heap", "collector"):
            us = FLIPPED_US[trial.label] * (1 + trial.block / 200)
            yield in_turns(at(trial, equal.NAME, flip), us)
            if (flip, trial.label) == ("heap", "async_await"):
                us *= over * (1 + trial.block / 500)
            other = at(trial, equal.NAME, flip, params__flipped=1, trial=next(numbers))
            yield in_turns(other, us)

    return replaced(campaign(workloads=["throughput"], **options), both)


FIXED_US, SWITCH_US = 20.0, 9.0
SWITCHES = {"threads": 6.0, PINNED: 1.5, "callbacks": 0.0}
"""Voluntary switches of a page, in the middle."""


def switching(*, slope: float = SWITCH_US, **options: Any) -> Lines:
    """A campaign in which a page of threads costs ``slope`` for each switch."""
    rng = np.random.default_rng(7)
    numbers = iter(range(10_000, 20_000))

    def both(trial: TrialRecord) -> Iterator[TrialRecord]:
        here = trial.point == "throughput-100" and trial.label in ("threads", "callbacks")
        for name in {"threads": ("threads", PINNED)}.get(trial.label, ("callbacks",)) * here:
            per_page = np.clip(SWITCHES[name] * rng.uniform(0.7, 1.3, 40), 0, None)
            us = FIXED_US + slope * per_page + rng.normal(0, 1.0, 40)
            windows = Windows(
                exchanges=[500] * 40,
                cpu_us=np.rint(500 * us).astype(int).tolist(),
                voluntary=np.rint(500 * per_page).astype(int).tolist(),
                involuntary=[5] * 40,
            )
            voluntary = round(SWITCHES[name] * (trial.pages or 0))
            client = [0, 1] if name == "threads" else [0]
            yield altered(
                trial,
                workload="handovers",
                point=handovers.CRAWLED,
                trial=next(numbers),
                backend=name,
                label=name,
                switches=Switches(voluntary=voluntary, involuntary=9, windows=windows),
                pinning={"client": client, "server": [1], "reason": None},
            )

    return replaced(campaign(workloads=["throughput"], **options), both)


# --- many slots, many processors ---------------------------------------------------------


def slow_threads(slow: float = 0.4, blocks: int = 6) -> Lines:
    """A campaign in which only threads at 1,000 slots fetch fewer pages from a slow server."""
    made: dict[str, Any] = {"base": "callbacks", "effects": False, "noise": 0.01, "samples": 20}
    lines = campaign(blocks=blocks, workloads=("waiting",), **made)
    here = ("waiting-1000", "threads")
    slowed = {"pages_per_s": lambda t: t.pages_per_s * slow}
    return where(lines, lambda t: (t.point, t.label) == here, **slowed)


CROSSING = ("threads", "threads_long_switch", "callbacks", "async_await")
DEFAULT, LONG = crossover.DEFAULT, SWITCHING[1]
Rates = Mapping[tuple[int, int], Mapping[str, float]]
"""(Slots, delay in ms) -> pages per second; ``async_await`` and ``callbacks`` fetch 10,000."""

FALLING: Rates = {
    (100, 0): {DEFAULT: 15_000.0},
    (1000, 0): {DEFAULT: 5_000.0, LONG: 9_000.0},
    (1000, 100): {DEFAULT: 10_000.0},
    (10_000, 100): {DEFAULT: 9_990.0},
}


def crossed(rates: Rates = FALLING, *, blocks: int = 5, **_: object) -> Lines:
    """A campaign with one point of crossover for each pair of slots and delay."""
    rng = np.random.default_rng(3)

    def moved(trial: TrialRecord) -> Iterator[TrialRecord]:
        others = dict.fromkeys(("callbacks", "async_await"), 10_000.0)
        for (slots, delay), found in rates.items() if trial.point == "throughput-100" else ():
            if rate := {**others, **found}.get(trial.label):
                yield at(
                    trial,
                    "crossover",
                    f"{slots}x{delay}ms",
                    params__slots=slots,
                    params__delay=f"fixed:{delay}" if delay else "none",
                    pages_per_s=rate * math.exp(rng.normal(0, 0.01)),
                )

    return grown(moved, backends=CROSSING, blocks=blocks, base="callbacks", samples=1200)


def ended(crawls: int) -> Lines:
    """So many crawls of ten thousand threads ended; of three."""

    lines = crossed({**FALLING, (10_000, 1000): {DEFAULT: 300.0}}, blocks=3)
    failed = {"status": "failed", "reason": "no result in 60 s", "pages_per_s": None}
    there = (crossover.TEN_THOUSAND, DEFAULT)
    return where(lines, lambda t: (t.point, t.label) == there and t.block >= crawls, **failed)


SPREADING = (*MODELS, "processes")
Places = Mapping[str, tuple[list[int], list[int]]]
TWO: Places = {"apart": ([1], [0]), "shared": ([0, 1], [0, 1])}
EIGHT: Places = {"apart": ([*range(1, 8)], [0]), "shared": ([*range(8)], [*range(8)])}


def widened(
    *,
    apart: float = 12_000.0,
    shared: float = 40_000.0,
    places: Places = TWO,
    backends: Sequence[str] = SPREADING,
    **options: Any,
) -> Lines:
    """A campaign in which processes crawl at these rates, and the models on one processor."""
    names = (*backends, *(name for name in SPREADING if name not in backends))
    rates = {"apart": apart, "shared": shared}
    rng = np.random.default_rng(3)

    def moved(trial: TrialRecord) -> Iterator[TrialRecord]:
        wide = trial.label == "processes"
        for how, place in places.items() if trial.point == "throughput-100" else ():
            client, server = place if wide else ([1], [0])
            yield at(
                trial,
                "processors",
                how,
                params__processors=how,
                pages_per_s=(rates[how] if wide else 20_000.0) * math.exp(rng.normal(0, 0.01)),
                pinning={"client": client, "server": server, "reason": None},
            )

    made: dict[str, Any] = {"base": "callbacks", "ladder": rungs(names), "blocks": 5} | options
    head, *lines = grown(moved, **made, backends=names)
    cores = {core for place in places.values() for side in place for core in side}
    return [altered(head, environment__cpu_count=len(cores)), *lines]


def without_a_lock() -> Lines:
    """Threads use both processors, on an interpreter of their own."""
    head, *lines = usual(widened, backends=SPREADING)
    assert isinstance(head, CampaignRecord)
    free = "@3.14.0t"
    renamed: dict[str, Any] = {
        "label": lambda t: t.backend + free + t.label.removeprefix(t.backend),
        "backend": lambda t: t.backend + free,
    }
    wide = {"pages_per_s": 30_000.0, "pinning": {"client": [0, 1], "server": [0, 1]}}
    moved = where(lines, lambda t: (t.backend, t.point[-6:]) == ("threads", "shared"), **wide)
    own = Interpreter(name=free[1:], build={"gil": False})
    first = {"interpreters": [own], "backends": [name + free for name in SPREADING]}
    return [
        head.model_copy(update={**first, "base": f"callbacks{free}"}),
        *where(moved, bool, **renamed),
    ]


# --- variants ----------------------------------------------------------------------------


def varied(**options: Any) -> Lines:
    made = {"samples": 30, "workloads": ("throughput", "c10k", "ladder"), "ladder": LADDER}
    return usual(campaign, **made | options)


def also_over_tls() -> Lines:
    """Each connection held over TLS, too, with forty times the memory."""

    def both(trial: TrialRecord) -> Iterator[TrialRecord]:
        yield trial
        if trial.workload == "c10k":
            many = 40 * sure(sure(trial.memory).held.user_bytes)
            size = trial.point.rpartition("-")[2]
            yield at(trial, "tls-c10k", size, memory__held__user_bytes=many)

    return replaced(varied(), both)


def across(backends: Sequence[str], **options: Any) -> Lines:
    """The models on several interpreters."""
    return synthetic.across(samples=30, **options)


# --- schedules, work and cancellation ----------------------------------------------------

scheduled = partial(campaign, workloads=("openloop",))
"""A campaign of open loops, the highest of which no model keeps up with."""


PAGE_S: Final = 0.0001
SLOTS: Final = 100
REMEDIES: Final = ("async_await_pool",)
SHARES: Final = {"threads": 0.1, "async_await_pool": 0.05}
"""How much of a loop's wait is left with another backend."""

WORKS: Final[Mapping[int, tuple[int, int]]] = {1: (2000, 2000), 10: (500, 500), 100: (50, 150)}
"""Milliseconds of work -> requests per second, and requests in a trial."""


def worked(*, works: Sequence[int] = (10,), **options: Any) -> Lines:
    """A campaign that also measured mixed load.

    Loops are a queue with one server, exactly that is late by its timers; others let pages
    wait for a tenth of the queue, or less.
    """

    def also(trial: TrialRecord) -> Iterator[TrialRecord]:
        yield trial
        if trial.point == "throughput-100" and trial.label == trial.backend:
            yield from (_worked(trial, work_ms) for work_ms in works)

    return grown(also, **{"backends": (*MODELS, *REMEDIES)} | options)


def _worked(trial: TrialRecord, work_ms: int) -> TrialRecord:
    rate, count = WORKS[work_ms]
    heavy = chosen(count, WORK_EVERY, trial.block)
    due = poisson(rate, trial.block, count)
    share = SHARES.get(trial.label, 1.0)
    alone = {} if share == 1 else {"step_s": 0.0, "slack_s": 0.0}
    waits = responses(due, heavy, PAGE_S, work_ms / 1000, **alone)
    took = [share * time for time in waits]
    others = np.array([t for number, t in enumerate(took) if number not in heavy])
    mine = np.array([took[number] + work_ms / 1000 for number in sorted(heavy)])
    used = count * PAGE_S + len(heavy) * work_ms / 1000
    return at(
        trial,
        "mixed",
        str(work_ms),
        params=trial.params | {"slots": SLOTS, "rate": rate, "urls": count, "work_ms": work_ms},
        pages=count,
        cpu=Cpu(client_user_s=used, client_system_s=0, server_user_s=0.1, server_system_s=0.1),
        service_time=encode_latency(np.full(count, PAGE_S)),
        response_time=encode_latency(np.array(took)),
        work=Work(
            every=WORK_EVERY,
            seed=trial.block,
            work_ms=work_ms,
            round_us=50.0,
            round_after_us=50.0,
            rounds=20 * work_ms,
            pages=len(heavy),
            expected=len(heavy),
            check=1,
            check_expected=1,
            cpu_ms=float(work_ms),
            wall_ms=float(work_ms),
            threads=1,
            others=encode_latency(others),
            worked=encode_latency(mine),
        ),
    )


def mixed_with(label: str = "", **work: Any) -> Lines:
    """With other work of one backend, or of all."""
    changes = {f"work__{name}": value for name, value in work.items()}
    return where(worked(blocks=5), lambda t: t.work and label in ("", t.label), **changes)


SIZES = (1, 1000, 10_000)
EACH_US = {
    **{"threads": 90.0, "callbacks": 12.0, "generators": 16.0, "async_await": 30.0},
    cancel.CONTROL: 8.0,
}
OTHERS_US, SERVER_US = 60.0, 20.0


def interrupted(**options: Any) -> Lines:
    """A campaign that also interrupted crawls."""

    def also(trial: TrialRecord) -> Iterator[TrialRecord]:
        yield trial
        if trial.point == "throughput-100" and trial.label == trial.backend:
            for size in SIZES:
                yield _interrupted(trial, size)
                if trial.label == "callbacks":
                    yield _interrupted(altered(trial, **named_control(cancel.CONTROL)), size)

    return grown(also, **options)


def _interrupted(trial: TrialRecord, size: int) -> TrialRecord:
    cpu_s = EACH_US.get(trial.label, OTHERS_US) * size / 1e6 * (1 + 0.1 * trial.block)
    work_s = SERVER_US * size / 1e6
    return at(
        trial,
        "cancel",
        str(size),
        **dict.fromkeys(("pages_per_s", "limiter", "service_time")),
        pages=0,
        statuses={},
        errors={"cancelled": size},
        cancelled=Cancelled(
            in_flight=size,
            noticed_s=0.1,
            returned_s=1.1 * cpu_s,
            first_closed_s=0.0001,
            closed_s=max(1.2 * cpu_s, 1.1 * work_s),
            client_cpu_s=cpu_s,
            server_work_s=work_s,
            switch_interval_s=0.005,
            left={},
            open_at_server=0,
        ),
    )


# --- servers -----------------------------------------------------------------------------


def loaded(label: str = "", point: str = "", **update: Any) -> Lines:
    """A campaign of servers under load, in which something is different for one of them."""
    lines = costed(serve.COLUMNS, backends=BACKENDS, blocks=5)
    return where(lines, lambda t: t.label == label and point in ("", t.point), **update)


def accepted() -> Lines:
    """Connections were kept in other blocks; the load was slower than callbacks."""
    return where(
        costed(
            accept.COLUMNS,
            lambda label, key: US.get(label, 12.0) + 30.0 * (key == "all"),
            backends=BACKENDS,
            blocks=5,
        ),
        bool,
        block=lambda t: t.block + 5 * (t.point == "serve-100"),
        limiter=lambda t: "client" if t.label == "callbacks" else "server",
    )


def holding(**options: Any) -> Lines:
    """A campaign whose crawlers at the barrier are servers, on plain HTTP and over TLS."""

    def both(trial: TrialRecord) -> Iterator[TrialRecord]:
        size = trial.point.rpartition("-")[2]
        for workload in ("hold", "tls-hold"):
            yield at(trial, workload, size, params__role="server")

    return replaced(campaign(workloads=("c10k",), **options), both)


def of_hold(lines: Lines, workload: str, label: str = "") -> Lines:
    """The same, in which the trials of a workload have failed."""
    failed = {"status": "failed", "reason": "it ended"}
    return where(lines, lambda t: t.workload == workload and label in t.label, **failed)


def called(*names: str) -> Lines:
    """Servers of these names, for the models."""
    known = dict(zip(MODELS, names, strict=True))
    renamed = dict.fromkeys(("label", "backend"), lambda t: known[t.label])
    return where(usual(holding), lambda t: t.label in known, **renamed)


TAIL_MS = {
    **{"threads": 15.0, "callbacks": 40.0, "generators": 41.0, "async_await": 45.0},
    "async_await_pool": 2.0,
}


def beside_work(late: int = 0, **options: Any) -> Lines:
    """A campaign whose crawls are servers on a schedule: a request in fifty waits so long."""

    def server(trial: TrialRecord) -> Iterator[TrialRecord]:
        if trial.params["slots"] == 100:
            tail = TAIL_MS.get(trial.backend, 42.0) * (1 + 0.001 * trial.block) / 1000
            yield at(
                trial,
                "mixed-server",
                "10",
                params={**trial.params, "role": "server", "rate": 400, "work_ms": 10.0},
                response_time=encode_latency(np.array([0.001] * 980 + [tail] * 20)),
                late_starts=late,
                loaded=LoadReport(connections_opened=1, working=Quantiles(p50_ms=11, p90_ms=12)),
            )

    return replaced(campaign(workloads=("throughput",), **options), server)


def read_slowly(**options: Any) -> Lines:
    """A campaign whose held connections are slow readers; fast ones wait twice as long beside."""

    def slow(trial: TrialRecord) -> Iterator[TrialRecord]:
        if trial.point == "hold-1000":
            yield at(
                trial,
                "slow-readers",
                "1000",
                response_time=encode_latency(np.full(150, 0.004)),
                loaded=LoadReport(connections_opened=1, alone=Quantiles(p50_ms=2.0, p90_ms=3.0)),
            )

    return replaced(holding(**options), slow)


# --- every question ----------------------------------------------------------------------

COSTED: Final = {
    question.NAME: columns
    for question in QUESTIONS
    if isinstance(columns := getattr(question, "COLUMNS", None), Columns)
    and type(columns) in (Columns, ServedColumns)
}
"""Whose campaign follows from their columns."""
MEASURED: dict[str, Callable[..., Lines]] = {
    "glance": campaign,
    "page": split,
    "receive": mapped,
    "memory": encrypted,
    "waiting": partial(campaign, workloads=["waiting"]),
    "crossover": crossed,
    "handovers": switching,
    "against": partial(campaign, workloads=("throughput", "c10k")),
    "tls_pages": encrypted,
    "open_loop": scheduled,
    "mixed": worked,
    "timeouts": limited,
    "cancel": interrupted,
    "fairness": partial(campaign, workloads=("fairness",)),
    "processors": widened,
    "variants": varied,
    "interpreters": across,
    "trust": partial(campaign, workloads=("throughput",)),
    "equal": flipped,
    **{name: partial(costed, columns) for name, columns in COSTED.items()},
    "hold": holding,
    "mixed_server": beside_work,
    "slow_readers": read_slowly,
}
"""Question -> records of a campaign that answers it."""

CASES: dict[str, Cases] = {
    "page": {
        "nothing differs": lambda: indifferent("throughput"),
        # A rest below 0 was drawn as 0, so a bar of 23.6 µs stood for 21.2 that were measured.
        "the model of callbacks cannot be separated": with_slow_sockets,
        "blocks are missing": lambda: lacking(usual(split, base="callbacks")),
        # Its title named threads, which it does not draw.
        "the server of threads slept": shared_with_the_server,
        "aiohttp is a whole stack": lambda: usual(split, base="callbacks", stack="aiohttp"),
        "no control counts": lambda: where(
            usual(split), lambda t: t.kind == "control", status="void", reason="wrong digest"
        ),
    },
    "memory": {
        # "From at least 1 block" was four readings, and nobody knew.
        "one block": lambda: kept(held(), lambda t: t.block == 0),
        "send buffers of threads are calculated": lambda: where(
            held(),
            lambda t: t.label == "threads",
            memory__held__send_buffer_bytes=lambda t: 32 * KIB * t.memory.connections,
            memory__sources={"send_buffer_bytes": "calculated: threads × 32 KiB"},
        ),
        "a user sees user memory everywhere": lambda: for_users(held()),
        "no ratio to callbacks, which take nothing": lambda: of_nothing(held()),
        "the same at one number of connections": lambda: of_nothing(
            kept(held(), lambda t: t.point.endswith("-10000"))
        ),
        # The quick profile holds 1,000 over TLS, and four numbers of plain connections.
        "one number over TLS": lambda: kept(
            held(), lambda t: t.workload == "c10k" or t.point.endswith("-1000")
        ),
        "without plain connections or control": lambda: kept(
            held(), lambda t: t.workload == "tls-c10k" and t.kind == "trial"
        ),
        "intervals of models overlap": lambda: usual(
            campaign, workloads=("c10k",), effects=False, noise=1.0, samples=20
        ),
    },
    "waiting": {
        # At 100 slots alone "no model differs" hid what 1,000 slots show.
        "threads are slow at 1,000 slots": slow_threads,
        "two blocks": lambda: slow_threads(blocks=2),
        "nothing differs": lambda: indifferent("throughput", "waiting"),
        # It said that no difference between models is shown.
        "one model": lambda: kept(
            usual(campaign, workloads=["waiting"]), lambda t: t.label == "threads"
        ),
        "throughput alone, and blocks are missing": lambda: lacking(
            campaign(blocks=2, samples=20, workloads=("throughput",))
        ),
    },
    "crossover": {
        "undone at more slots": lambda: crossed(
            {(100, 0): {DEFAULT: 5_000.0}, (1000, 0): {DEFAULT: 10_000.0}}
        ),
        "slower from the fewest slots": lambda: crossed({(100, 0): {DEFAULT: 5_000.0}}),
        "nothing crosses": lambda: crossed({(1000, 100): {DEFAULT: 10_000.0}}),
        "no crawl of ten thousand ends": lambda: ended(0),
        "one crawl of ten thousand ends": lambda: ended(1),
        # Half of the chart's panels were empty.
        "a delay with one number of slots": lambda: crossed(
            {**FALLING, (1000, 50): {DEFAULT: 1e4}}
        ),
        "the map alone": lambda: campaign(blocks=2, workloads=("regime",)),
    },
    "handovers": {
        # A line through one cloud: "threads need -329 µs a page and 81.1 µs for each switch".
        "on all processors alone": lambda: kept(usual(switching), lambda t: t.label != PINNED),
    },
    "open_loop": {
        # One trial of half a second is off by a factor of 2 to 20: the sample is the trial.
        "all keep up": lambda: usual(scheduled, rates=(1000, 2000)),
        "all keep up, in four blocks": lambda: usual(scheduled, rates=(1000, 2000), blocks=4),
        "too few samples for a p99": lambda: usual(scheduled, samples=500, rates=(1000, 2000)),
        "nothing differs": lambda: indifferent("openloop", rates=(5000, 30_000)),
        "no response times": lambda: where(usual(scheduled), bool, response_time=None),
        "lists of URLs, and blocks are missing": lambda: lacking(
            where(usual(scheduled), bool, params__urls=4000)
        ),
    },
    "mixed": {
        "a pool, and every amount of work": lambda: worked(blocks=5, works=(1, 10, 100)),
        # Work took 15.3 ms, so the processor was busy for 76 % and not 50, and pages took 25 ms.
        "the machine changed": lambda: mixed_with(
            round_after_us=lambda t: 76.5 if t.block < 2 else 54.5
        ),
        "the machine changed in every block": lambda: mixed_with(round_after_us=76.5),
        # One left no trial of 100 ms: its panel ended in a KeyError, and the whole report with it.
        "the machine changed beside an amount of work": lambda: where(
            worked(blocks=5, works=(10, 100)),
            lambda t: t.work and t.work.work_ms == 100,
            work__round_after_us=76.5,
        ),
        "work took longer, before rounds were measured twice": lambda: mixed_with(
            cpu_ms=lambda t: 15.3 if t.block < 2 else 10.9, round_after_us=None
        ),
        # Their trials were left out for it, on a machine that had not changed: up to all but one.
        "threads make their own work dearer": lambda: mixed_with("threads", cpu_ms=14.0),
    },
    "glance": {
        "over TLS": lambda: usual(encrypted),
        # It is measured for one question, and nobody runs it.
        f"{MAPPED} has no row": lambda: usual(mapped),
        "threads have no p99": lambda: kept(
            usual(campaign), lambda t: (t.label, t.workload) != ("threads", "openloop")
        ),
    },
    "against": {
        "uvloop differs in nothing": lambda: indifferent("throughput", "c10k"),
        # Its title named three.
        "aiohttp alone": lambda: kept(
            usual(campaign, workloads=("throughput", "c10k")), lambda t: t.label != "uvloop"
        ),
        "over TLS": lambda: usual(encrypted),
    },
    "timeouts": {"no difference": lambda: usual(limited, more={"threads": 1.0})},
    "cancel": {
        "five blocks of 1,000 and one of 10,000": lambda: kept(
            usual(interrupted), lambda t: t.point != "cancel-10000" or t.block == 0
        ),
        "threads leave a socket behind": lambda: where(
            usual(interrupted),
            lambda t: t.cancelled and t.label == "threads",
            status="void",
            reason="the crawl left behind: 1 × descriptor socket",
        ),
    },
    "fairness": {
        "one block": lambda: usual(campaign, workloads=("fairness",), blocks=1),
        "nothing differs": lambda: usual(campaign, workloads=("fairness",), effects=False),
        "blocks are missing": lambda: lacking(usual(campaign, workloads=("fairness",))),
    },
    "processors": {
        "processes gain nothing": lambda: usual(widened, shared=14_000.0),
        # Nothing was said to crawl more than callbacks, which had no trial.
        "async_await alone": lambda: kept(usual(widened), lambda t: t.label == "async_await"),
        # Two processors shared with the server count, and blocks of those apart did.
        "processes gain nothing, and never met callbacks apart": lambda: where(
            usual(widened, shared=14_000.0),
            lambda t: t.label == "processes" and t.point.endswith("-apart"),
            block=lambda t: t.block + 5,
        ),
        "in no block with callbacks": lambda: where(
            usual(widened), lambda t: t.label == "callbacks", block=lambda t: t.block + 5
        ),
        "eight processors": lambda: usual(widened, apart=9e4, shared=8e4, places=EIGHT),
        "threads without a lock": without_a_lock,
        "the server was the limit": lambda: where(
            usual(widened, places=EIGHT),
            bool,
            limiter=lambda t: "server" if t.point.endswith("-apart") else "client",
        ),
    },
    "variants": {
        # In a full campaign only some hold ten thousand; bars at two numbers do not compare.
        "most hold at most 5,000 connections": lambda: kept(
            varied(), lambda t: t.point != "c10k-10000" or t.label in MODELS[:2]
        ),
        "over TLS, too, which is not memory of the variant": also_over_tls,
        "generators without callbacks, their baseline": lambda: kept(
            varied(), lambda t: t.label != "callbacks"
        ),
        "no ladder": lambda: varied(ladder=()),
    },
    "equal": {"nothing changes": lambda: usual(flipped, over=1.0)},
    "serve": {
        "no floor": lambda: kept(loaded(), lambda t: t.label != "bare"),
        "the load was slower at 1 connection": lambda: where(
            loaded(),
            lambda t: (t.label, t.point) == ("callbacks", "serve-10"),
            point="serve-1",
            limiter="client",
        ),
        "no threads": lambda: kept(loaded(), lambda t: t.label != "threads"),
        "the load was slower than callbacks": lambda: loaded(
            "callbacks", "serve-10", limiter="client"
        ),
        # One word, ``threads``, was two processors as a client and one as a server.
        "threads on two processors": lambda: loaded(
            "threads", pinning={"client": [0], "server": [1, 2]}
        ),
    },
    "accept": {
        "kept in other blocks, by a slow load": accepted,
        # A note explained hollow bars, and the floor has none.
        "the load was slower than the floor": lambda: where(
            costed(accept.COLUMNS, backends=BACKENDS, blocks=5),
            lambda t: t.label == "bare",
            limiter="client",
        ),
    },
    "hold": {
        # The chart of nothing had ended the report with a traceback.
        "all plain, and threads over TLS, failed": lambda: of_hold(
            of_hold(usual(holding), "hold"), "tls-hold", "threads"
        ),
        "threads held fewer": lambda: kept(
            usual(holding), lambda t: t.label != "threads" or not t.point.endswith("-10000")
        ),
        "a user cannot read the kernel's part": lambda: where(
            usual(holding), lambda t: t.memory, memory__held__kernel_socket_bytes=None
        ),
        "other servers": lambda: called("waitress", "hypercorn", "granian", "uvicorn"),
        "crawlers held connections, too": lambda: [
            *usual(holding),
            *trials_of(usual(campaign, workloads=("c10k",))),
        ],
        "crawlers alone": lambda: usual(campaign, workloads=("c10k",)),
    },
    "mixed_server": {
        "too few requests for a p99": lambda: where(
            usual(beside_work), lambda t: t.response_time is not None, response_time__count=999
        ),
        "four blocks": lambda: usual(beside_work, blocks=4),
        "the load was late": lambda: usual(beside_work, late=10_000),
    },
}
"""Question -> what is different in its campaign, and the records of that."""
