"""Ten thousand pages over a hundred connections: semaphore, workers, or the client's own limit.

Each way in fresh processes (:mod:`bench.micro.pool_child`). The fixture server holds its answers
until all tasks wait, and their memory is read from outside.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import combinations
from statistics import quantiles
from typing import Any, Final

from bench.machine import cpu, memory
from bench.schema import Record
from bench.show.figures import Unit
from bench.show.measured import MS, US, Measure, Measured
from bench.show.table import Table
from bench.sides.process import interruptible
from bench.sides.servers import Server
from bench.study.record import Run, Study
from bench.study.report import by_repeat, contrast, of_run
from bench.study.runner import PATIENCE_S, Lost, Process, Program, missing
from bench.text import KIB, listing, number

PROCESSES: Final = 2  # for each repeat on the command line
CHILD: Final = "bench.micro.pool_child"
WAYS: Final = {
    "asyncio with a semaphore": ("async_await", "semaphore"),
    "asyncio with workers": ("async_await", "workers"),
    "aiohttp with its limit": ("variants.aiohttp", "own limit"),
    "aiohttp with workers": ("variants.aiohttp", "workers"),
    "httpx with its limit": ("variants.httpx", "own limit"),
    "httpx with workers": ("variants.httpx", "workers"),
    "trio with a limiter": ("variants.trio", "limiter"),
    "trio with workers": ("variants.trio", "workers"),
    "threads in an executor": ("threads", "executor"),
}
"""The backend whose exchange it is, and what limits its connections."""
PAGES, LIMIT, BYTES, SHARE = 10_000, 100, 2048, 10
"""httpx gets one page in ten: for each it goes through all tasks that wait for a connection."""
POLL_S: Final = 0.1

TITLE: Final = "Many pages over few connections"
MEASURES: Final = {
    "cpu": Measure("a page", "a page of many over few connections, processor time", US),
    "memory": Measure("waiting", "… its memory while it waits", Unit("KiB", number, number)),
    "late": Measure("late by", "… how late it comes", Unit("places", number, number)),
    "opened": Measure("opened", "… connections opened for it", Unit("count", number, number)),
    "cancel": Measure("cancelled in", "… to cancel half of them", MS),
}
ABOUT: Final = (
    f"{PAGES:,} pages of 2 KB over {LIMIT} connections; {PAGES // SHARE:,} with httpx, which waits "
    "for a connection without its timeout. Processor time of the process for one page. Private "
    "memory for each page while all tasks wait. By how many places a page comes later than it was "
    "asked for, 99 in 100 at most (displacement, RFC 5236). Connections opened, as the server saw "
    "them, warm-up included: httpx has a new client in each round, and closes a connection that is "
    "idle for 5 s. Time from half of the pages until all tasks are cancelled and all connections "
    "closed; threads finish the pages in flight. Exchanges are those of the backends; workers take "
    "pages from a queue or a channel. Medians over fresh processes and their range. To measure it: "
    "python -m bench study micro --only pool."
)


class Pooled(Record):
    """One process."""

    pages: int
    cpu_s: float  # for one page
    waiting_bytes: float | None  # for one page
    late: float  # places
    connections: int  # opened; never more than allowed at once
    cancel_s: float
    left: dict[str, int]

    def values(self) -> dict[str, float | None]:
        return {
            "cpu": 1e6 * self.cpu_s,
            "memory": None if self.waiting_bytes is None else self.waiting_bytes / KIB,
            "late": self.late,
            "opened": self.connections,
            "cancel": 1e3 * self.cancel_s,
        }


STUDY: Final[Study[Pooled]] = Study("pool", "pool", Pooled, "micro")


def programs(stack: ExitStack) -> list[Program[Pooled]]:
    """All ways, and the server from which they take their pages."""
    site = f"tree:{PAGES}:10:{BYTES}"
    server = stack.enter_context(Server(site, seed=1, cores=cpu.split_cores().server))
    pages = known(server)
    return [
        Program(
            way,
            partial(sample, way, server, pages[: PAGES // SHARE] if "httpx" in way else pages),
            missing(backend.partition(".")[2]),
        )
        for way, (backend, _) in WAYS.items()
    ]


def known(server: Server) -> list[tuple[str, int]]:
    """The pages of its site, and the CRC-32 of each."""
    site = server.ask("GET", "/site")["expected"].items()
    return [(target, int(crc, 16)) for target, (status, crc) in site if status == 200]


def measured(run: Run[Pooled]) -> Measured:
    return Measured(MEASURES, by_repeat(run.by_program(), Pooled.values))


def tables(run: Run[Pooled]) -> list[Table]:
    costs = measured(run)
    about = ". ".join(filter(None, [headline(costs), ABOUT]))
    notes = [
        f"{way} leaves behind: {listing(left)}"
        for way, parts in run.by_program().items()
        if (left := sorted({kind for part in parts.values() for kind in part.left}))
    ]
    return [of_run(run, costs, TITLE, about, "way", notes)]


def sample(way: str, server: Server, pages: Sequence[tuple[str, int]], _: int = 0) -> Pooled:
    """One process. Raises :class:`Lost` if it does not count."""
    count, pinning = len(pages), cpu.split_cores()
    cores = (pinning.unpinned() if "threads" in way else pinning).client
    server.reset()
    with Process(way, ["-m", CHILD, *WAYS[way], str(LIMIT)], cores) as child:
        child.send(json.dumps([server.prefix + target for target, _ in pages]))
        play(child, server)
        grown, whole = play(child, server)
        ledger = server.ledger()
        half = play(child, server)[1]
        opened, ended = server.ended()
    check(whole["came"], pages, count)
    check(half["came"], pages, count // 2)
    seen = ledger.peak_connections, ledger.requests
    if seen != (LIMIT, LIMIT + count):
        what = f"{seen[0]} connections at once and {seen[1]} requests"
        raise Lost(f"the server saw {what}", void=True)
    return Pooled(
        pages=count,
        cpu_s=whole["cpu_s"] / count,
        waiting_bytes=None if grown is None else grown / count,
        late=late(whole["came"]),
        connections=ledger.connections_opened,
        cancel_s=max(half["ended_s"], *(ended or ())) - half["half_s"],
        left=Counter(half["left"]) + Counter({"connection at the server": opened}),
    )


def play(child: Process, server: Server) -> tuple[int | None, dict[str, Any]]:
    """A round: the memory that it adds until all of its tasks wait, and what the child tells."""
    before, deadline = memory.user_memory(child.pid), time.monotonic() + PATIENCE_S
    server.hold()
    child.send("")
    held, used, earlier = 0, 0.0, -1.0
    while child.process.poll() is None and (held < LIMIT or used > earlier):
        if time.monotonic() > deadline:
            raise Lost(f"{child.what} did not ask for all pages in {PATIENCE_S:.0f} s")
        with interruptible():
            time.sleep(POLL_S)
        held, used, earlier = server.held(), cpu.used_s(child.pid), used
    grown = memory.gain(before, memory.user_memory(child.pid))
    server.release()
    return grown, child.answer()


def check(came: Sequence[tuple[int, int]], pages: Sequence[tuple[str, int]], least: int) -> None:
    """Raises :class:`Lost` unless enough pages came, each once, with the site's bytes."""
    if len({number for number, _ in came}) < max(least, len(came)):
        few = f"{len(came)} pages came, some of them twice, or fewer than {least}"
        raise Lost(few, void=True)
    if wrong := [number for number, checksum in came if checksum != pages[number][1]]:
        raise Lost(f"{pages[wrong[0]][0]} has other bytes than on the site", void=True)


def late(came: Sequence[tuple[int, int]]) -> float:
    """By how many places a page comes later than it was asked for, for 99 in 100 at most."""
    places = [place - page for place, (page, _) in enumerate(came)]
    return quantiles(places, n=100, method="inclusive")[-1]


def headline(costs: Measured) -> str | None:
    """The two ways of one client that differ most, if they do."""
    ways = combinations(costs.with_("cpu", costs.values), 2)
    pairs = [two for two in ways if two[0].split()[0] == two[1].split()[0]]
    return contrast(costs, "cpu", pairs, "A page costs", "by")
