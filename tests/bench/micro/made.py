"""Made-up records of the studies, whose numbers are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.micro import hops as hops_study
from bench.micro import pool as pool_study
from bench.micro import startup as startup_study
from bench.micro import tasks as tasks_study
from bench.micro.hops import SUBMIT, Call, HopCosts
from bench.micro.pool import WAYS, Pooled
from bench.micro.startup import BARE, Start
from bench.micro.tasks import KINDS, Switched, TaskSample, TasksHeld
from bench.study.record import Run
from bench.text import MIB
from tests.bench.study.made import run, samples

BYTES: Final = {"coroutine": 400, "asyncio": 1000, "trio": 1900, "thread": 18_000}
STACK, TABLES, OTHER, FIXED = 16_384, 4096, 6000, 50_000


def held(name: str, count: int) -> TasksHeld:
    """One process: all parts are lines, and times grow with nothing."""
    threaded = KINDS[name].threaded
    return TasksHeld(
        count=count,
        user_bytes=FIXED + BYTES[name] * count,
        page_table_bytes=TABLES * count if threaded else 0,
        kernel_stack_bytes=STACK * count if threaded else 0,
        kernel_other_bytes=OTHER * count if threaded else None,
        spawn_s=3e-6 if count != KINDS[name].counts[1] else 2e-6,
        cancel_s=1e-6,
    )


def tasks(names: Mapping[str, int] = BYTES) -> Run[TaskSample]:
    """Two repeats of these kinds, one that is missing, and one number that was refused."""
    parts: dict[str, list[TaskSample]] = {}
    for name in names:
        parts[f"{name} switch"] = [Switched(switch_s=us / 1e6) for us in (1, 2, 1.5)]
        for count in KINDS[name].counts:
            parts[f"{name} {count}"] = [held(name, count) for _ in range(2)]
    eager = "eager tasks need Python 3.12; this is 3.11"
    lost = {"asyncio_eager": ("refused", eager), "thread 99999": ("refused", "no room")}
    return run(tasks_study.STUDY, samples(parts, lost))


def start(cpu_s: float, mib: float | None, modules: int) -> Start:
    size = None if mib is None else round(mib * MIB)
    return Start(ready_s=2 * cpu_s, cpu_s=cpu_s, rss_bytes=size, user_bytes=size, modules=modules)


def startup(unread: bool = False) -> Run[Start]:
    """Every repeat is slower than the one before, the bare interpreter too."""
    starts = {BARE: [start(0.02 + 0.01 * n, 5, 70) for n in range(3)]}
    for place, name in enumerate(("threads", "callbacks", "aiohttp")):
        extra = 0.05 * (place + 1)
        mib = None if unread else 10.0 + place
        starts[name] = [start(0.02 + 0.01 * n + extra, mib, 200 + place) for n in range(3)]
    lost = {"uvloop": ("refused", "uvloop has no wheel")}
    return run(startup_study.STUDY, samples(starts, lost))


def call(us: float) -> Call:
    return Call(cpu_s=us / 1e6, wall_s=3 * us / 1e6, threads=2)


def hops(repeats: int = 6, gap: float = 20, pinned: bool = True) -> Run[HopCosts]:
    """Each way costs ``gap`` µs more than the one before, and each repeat 1 µs more."""
    found = {}
    for place, way in enumerate(("submit", "call_soon_threadsafe", "to_thread", "anyio")):
        found[way] = [
            HopCosts(
                alone=call(us),
                one=call(us / 2) if pinned else None,
                many=None if way == SUBMIT else call(us / 4),
            )
            for us in (20 + gap * place + repeat for repeat in range(repeats))
        ]
    return run(hops_study.STUDY, samples(found, {"trio": ("refused", "trio is not installed")}))


def page(way: str, us: float) -> Pooled:
    return Pooled(
        pages=10_000,
        cpu_s=us / 1e6,
        waiting_bytes=None if "threads" in way else 2048.0,
        late=7.0,
        connections=100,
        cancel_s=0.25,
        left={"socket": 2} if "executor" in way else {},
    )


def pool(repeats: int = 6, gap: float = 20, httpx: float = 1) -> Run[Pooled]:
    """The second way of a client costs ``gap`` µs less for a page; each repeat costs 1 µs more.

    The first way of httpx costs ``httpx`` times as much as the others.
    """
    pages = {}
    for way in WAYS:
        if not way.startswith("trio"):
            less, factor = gap * ("workers" in way), httpx if way == "httpx with its limit" else 1
            pages[way] = [page(way, factor * (100 + n - less)) for n in range(repeats)]
    lost = {
        "trio with workers": ("refused", "trio is not installed"),
        "asyncio with workers": ("void", "/p has other bytes than on the site"),
    }
    return run(pool_study.STUDY, samples(pages, lost))
