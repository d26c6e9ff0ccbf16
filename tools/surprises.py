"""The figures of docs/findings.md, from the records that are committed.

Each entry of the page has a generated part with its number; the words around it say what
explains the number, and must hold whatever it is. ``python -m tools.rebuild`` fills these parts.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from bench import store
from bench.analysis import cancelling_words, past, stats, timeouts_words
from bench.analysis.analysis import Analysis
from bench.analysis.churn import dearest
from bench.analysis.stats import Metric, Ratio
from bench.analysis.timeouts import priced
from bench.costs import account as costs_account
from bench.costs import opening, timeouts
from bench.costs import record as costs_record
from bench.costs.account import Account
from bench.costs.record import Costs
from bench.launch import RESULTS
from bench.micro import report as micro_report
from bench.micro.report import Found as Micro
from bench.micro.startup import report as startup
from bench.micro.waiting import report as tasks
from bench.report.charts import Design, Skip, churn
from bench.text import KIB, count, listing, times
from crawlers.registry import MODELS

TURNS: Final = "ladder-100"
CPU, RATE = stats.CPU_PER_1000, stats.PAGES_PER_S
WIDTH: Final = 100
PREFIX: Final = "number-"
"""Of the names of the generated parts."""


def said(ratio: Ratio | None) -> str:
    """``1.52 [1.48–1.55] times``, with what the statistics make of it, or why there is none."""
    if ratio is None or ratio.value is None:
        return "(not measured in this campaign)"
    if ratio.low is None or ratio.high is None:
        return f"{times(ratio.value)} times (too few blocks for an interval)"
    text = f"{times(ratio.value)} [{times(ratio.low)}–{times(ratio.high)}] times"
    return text if ratio.shown else f"{text} ({ratio.verdict})"


@dataclass
class Figures:
    """The reference campaign, the one on several interpreters, and the counted costs."""

    analysis: Analysis
    interpreters: Analysis
    counted: list[Account] = field(default_factory=list)
    micro: Micro = field(default_factory=Micro)
    counted_by: Costs | None = None

    @classmethod
    def committed(cls) -> Figures:
        """From the records under ``results/``."""
        reference, interpreters = (
            Analysis.load(store.trials_file(RESULTS / name))
            for name in ("reference", "interpreters")
        )
        folder = RESULTS / "costs"
        costs = costs_record.load(folder) if costs_record.is_costs(folder) else None
        counted = costs_account.accounts(costs) if costs else []
        micro = micro_report.load(RESULTS / "micro")
        return cls(reference, interpreters, counted, micro, costs)

    def ratio(self, name: str, base: str, point: str = TURNS, metric: Metric = CPU) -> Ratio | None:
        """A backend over another one, with the verdict that every page gives this pair."""
        for found in self.analysis.compare(metric, base):
            if (found.point, found.base, found.label) == (point, base, name):
                return found.ratio
        return None

    def cpu(self, name: str, base: str, point: str = TURNS) -> str:
        """The ratio of processor time, in words."""
        return said(self.ratio(name, base, point))

    def rate(self, name: str, base: str, point: str = TURNS) -> str:
        """The ratio of pages per second, in words."""
        return said(self.ratio(name, base, point, RATE))

    def spread(self, name: str, point: str, metric: Metric) -> str:
        """The median of a metric at a point."""
        trials = stats.trials_of(self.analysis.records, twins=False)
        values = [metric.value(t) for t in trials if (t.point, t.label) == (point, name)]
        found = stats.spread(values)
        if found is None:
            return "(not measured)"
        return count(found.median) if found.median >= 100 else f"{found.median:.1f}"

    def halves(self, name: str, point: str) -> tuple[float, float] | None:
        """User and system milliseconds per 1000 pages, medians."""
        for row in self.analysis.rows:
            if (row.point, row.label) == (point, name) and row.cpu_user_ms is not None:
                return row.cpu_user_ms, row.cpu_system_ms or 0.0
        return None

    def system(self, name: str, point: str) -> str:
        """System milliseconds per 1000 pages, in words."""
        found = self.halves(name, point)
        return f"{found[1]:.1f}" if found else "(not measured)"

    def users(self, point: str) -> str:
        """The range over the models of user microseconds per page, in words."""
        found = [parts[0] for name in MODELS if (parts := self.halves(name, point))]
        return f"{min(found):.0f} to {max(found):.0f} µs" if found else "(not measured)"

    def switches(self, name: str, point: str) -> str:
        """Voluntary context switches per page, the median over trials."""
        found = [
            float(switches) / trial.pages
            for trial in stats.trials_of(self.analysis.records, twins=False)
            if (trial.point, trial.label) == (point, name)
            and trial.pages
            and isinstance(switches := trial.extra.get("switches_voluntary"), int | float)
        ]
        return f"{median(found):.1f}" if found else "(not recorded)"

    def memory(self, name: str) -> str:
        """KiB of an idle connection, user space and page tables apart, in words."""
        fit = self.analysis.memory.get(name)
        if fit is None:
            return f"`{name}` was not measured"
        bytes_of = {part: fit.parts[part].slope for part in stats.MEMORY_PARTS}
        where = ""
        if None in bytes_of.values():  # held at too few numbers of connections for a slope
            bytes_of = {part: fit.at_highest[part] for part in stats.MEMORY_PARTS}
            where = f" (at {count(max(fit.connections))} connections, not a slope)"
        known = [
            f"{each / KIB:.1f} {what}"
            for part, what in (("user", "of it in user space"), ("page tables", "in page tables"))
            if (each := bytes_of[part]) is not None
        ]
        total = sum(each for each in bytes_of.values() if each is not None)
        return f"{total / KIB:.1f} KiB with `{name}`{where}, {listing(known)}"

    def page_faults(self, name: str) -> str:
        """Page faults per page of a crawl in turns, the median of the trials."""
        found = past.page_faults(self.analysis).get((TURNS, name))
        return "an unknown number of" if found is None else f"{found:.1f}"

    def memory_ratio(self, name: str) -> str:
        """Memory per connection over that of the rung it changes, in words."""
        ladder = self.analysis.ladder
        steps = ladder.steps if ladder else ()
        return said(next((s.memory_ratio for s in steps if s.rung.name == name), None))

    def without_lock(self) -> list[str]:
        """User memory of an idle thread on each interpreter without a lock."""
        releases = self.interpreters.releases
        found = releases.to_previous(stats.USER_PER_CONNECTION) if releases else {}
        return [
            f"{said(c.ratio)} on `{c.label.partition('@')[2]}`"
            for c in found.values()
            if c.label.startswith("threads@") and c.label.endswith("t")
        ]


def receives(f: Figures) -> str:
    """What a large receive costs asyncio."""
    return (
        f"`async_await` takes {f.cpu('async_await', 'callbacks', 'throughput-100')} the processor "
        f"time of `callbacks` for a crawled page, and "
        f"{f.cpu('async_await', 'callbacks', 'fetch-100')} for a fetched one. `asyncio_buffered` "
        f"takes {f.cpu('asyncio_buffered', 'asyncio_protocol')} that of `asyncio_protocol`, which "
        "differs in the receive alone."
    )


def connections(f: Figures) -> str:
    """What a connection for each page costs."""
    each = [
        f"{times(row.pages.median)} with `{row.label}`"
        for row in dearest(f.analysis.churn)
        if row.pages
    ]
    timed = (
        "In processor time, opening and closing a connection costs as much as this number of pages "
        f"of the same backend on a kept one: {listing(each)}."
        if each
        else "(Processor time was not measured in this campaign.)"
    )
    return f"{timed} {opening.words(f.counted)}"


def waiting(f: Figures) -> str:
    """What a task takes that waits without a connection."""
    return tasks.sentence(f.micro.tasks)


def imported(f: Figures) -> str:
    """What it takes to import a backend."""
    return startup.sentence_of(f.micro.startup)


def limits(f: Figures) -> str:
    """What a timeout for each exchange costs."""
    rows = priced(f.analysis.timeouts)
    timed = (
        "Processor time that a timeout adds to a crawled page: "
        f"{listing([timeouts_words.each(row) for row in rows])}."
        if rows
        else "(Not measured in this campaign.)"
    )
    return f"{timed} {timeouts.words(f.counted)}"


def cancels(f: Figures) -> str:
    """How long it takes to close everything."""
    found = f.analysis.cancellations
    if not found.sizes:
        return "(Not measured in this campaign.)"
    size = found.sizes[-1]
    rows = sorted(found.at(size), key=lambda row: row.closed.median)
    each = listing([cancelling_words.each(row) for row in rows])
    return (
        f"With {cancelling_words.size_words(size)}, until everything is closed, in brackets the "
        f"client's processor time for each: {each}."
    )


def pools(f: Figures) -> str:
    """httpx and its pool."""
    names = ("httpx", "httpx_tuned", "httpx2")
    rates = [f"{f.spread(name, TURNS, RATE)} pages/s with `{name}`" for name in names]
    return f"At 100 slots: {listing(rates)}; {f.spread('aiohttp', TURNS, RATE)} with `aiohttp`."


def lead(f: Figures) -> str:
    """uvloop against asyncio."""
    return (
        f"In pages per second, `uvloop` fetches {f.rate('uvloop', 'async_await', 'fetch-100')} "
        f"those of `async_await`, and crawls {f.rate('uvloop', 'async_await', 'throughput-100')}. "
        f"With protocols, `uvloop_protocol` crawls {f.rate('uvloop_protocol', 'asyncio_protocol')} "
        f"those of `asyncio_protocol`, and {f.rate('uvloop_protocol', 'asyncio_buffered')} those "
        "of `asyncio_buffered`, which has one small buffer."
    )


def socket_calls(f: Figures) -> str:
    """Socket calls against streams and protocols."""
    return (
        f"`asyncio_sockets` takes {f.cpu('asyncio_sockets', 'async_await')} the processor time per "
        f"page of `async_await`, which has streams. `uvloop_sockets` takes "
        f"{f.cpu('uvloop_sockets', 'asyncio_sockets')} that of `asyncio_sockets`, and "
        f"`uvloop_protocol` {f.cpu('uvloop_protocol', 'asyncio_protocol')} that of "
        "`asyncio_protocol`."
    )


def below_aiohttp(f: Figures) -> str:
    """aiohttp on both loops."""
    return (
        f"`aiohttp_uvloop` takes {f.cpu('aiohttp_uvloop', 'aiohttp')} the processor time per page "
        f"of `aiohttp`."
    )


def stacks(f: Figures) -> str:
    """What HTTP stacks take."""
    names = ("aiohttp", "httpx2", "httpx", "urllib3", "requests")
    each = [f"`{name}` {f.spread(name, TURNS, CPU)}" for name in names]
    return f"Processor time per 1000 pages at 100 slots, in milliseconds: {listing(each)}."


def native(f: Figures) -> str:
    """Native coroutines against generators."""
    return (
        f"`native_coroutines` takes {f.cpu('native_coroutines', 'generators')} the processor time "
        f"per page of `generators`, and {f.memory_ratio('native_coroutines')} the memory per "
        "connection."
    )


def pure(f: Figures) -> str:
    """asyncio's Task and Future in Python."""
    return (
        f"`asyncio_pure`, with Task and Future in Python, takes "
        f"{f.cpu('asyncio_pure', 'async_await')} the processor time per page of `async_await`."
    )


def lock(f: Figures) -> str:
    """What passing the lock costs."""
    return (
        f"The system time of `threads` goes from {f.system('threads', 'throughput-100')} ms per "
        f"1000 pages at 100 slots to {f.system('threads', 'throughput-1000')} at 1,000; that of "
        f"`callbacks` from {f.system('callbacks', 'throughput-100')} to "
        f"{f.system('callbacks', 'throughput-1000')}. The voluntary context switches of `threads` "
        f"go from {f.switches('threads', 'throughput-100')} to "
        f"{f.switches('threads', 'throughput-1000')} per page, stops at the ends of turns included."
    )


def pause(f: Figures) -> str:
    """A page behind a delay, and without one."""
    return (
        f"Over the four models, a page takes {f.users('waiting-1')} of user time with one slot "
        f"behind the delay, and {f.users('throughput-1')} without it; with ten slots "
        f"{f.users('waiting-10')} and {f.users('throughput-10')}."
    )


def small_stacks(f: Figures) -> str:
    """Threads with small stacks."""
    return (
        f"`threads_small_stack` takes {f.memory_ratio('threads_small_stack')} the memory per "
        f"connection of `threads`: {f.memory('threads_small_stack')}; {f.memory('threads')}."
    )


def unfreed(f: Figures) -> str:
    """What threads with small stacks take, and their page faults."""
    small, usual = (f.page_faults(name) for name in ("threads_small_stack", "threads"))
    return (
        f"`threads_small_stack` takes {f.cpu('threads_small_stack', 'threads')} the processor time "
        f"per page of `threads`, and {small} page faults for a page instead of {usual}."
    )


def greenlet(f: Figures) -> str:
    """What a greenlet takes."""
    return f"An idle connection takes {f.memory('gevent')}; {f.memory('async_await')}."


def poll(f: Figures) -> str:
    """poll against the default selector."""
    return (
        f"`callbacks_poll` takes {f.cpu('callbacks_poll', 'callbacks')} the processor time per "
        "page of `callbacks`, which uses epoll."
    )


def process(f: Figures) -> str:
    """What a process takes."""
    fits = {name: f.analysis.memory.get(name) for name in ("processes", "callbacks")}
    slopes = [
        f"{user / KIB:.1f} KiB with `{name}`"
        for name, fit in fits.items()
        if fit and (user := fit.parts["user"].slope) is not None
    ]
    return (
        f"Over all numbers of connections `processes` takes {f.memory_ratio('processes')} the "
        f"memory of `callbacks`. The slope of user memory alone, without what is paid once, is "
        f"{listing(slopes) or '(not measured)'}."
    )


def without_lock(f: Figures) -> str:
    """Threads on free-threaded builds."""
    found = f.without_lock()
    text = (
        f"An idle thread takes the user memory of the same release with the lock {listing(found)}"
    )
    return f"{text}, both built alike." if found else "(not measured: no such interpreter)"


NUMBERS: Final[dict[str, Callable[[Figures], str]]] = {
    "receives": receives,
    "churn": connections,
    "tasks": waiting,
    "startup": imported,
    "timeouts": limits,
    "cancel": cancels,
    "pools": pools,
    "lead": lead,
    "socket-calls": socket_calls,
    "below-aiohttp": below_aiohttp,
    "stacks": stacks,
    "native": native,
    "pure": pure,
    "lock": lock,
    "pause": pause,
    "small-stacks": small_stacks,
    "unfreed": unfreed,
    "greenlet": greenlet,
    "poll": poll,
    "process": process,
    "without-lock": without_lock,
}
"""The generated parts of docs/findings.md."""


def churn_charts(f: Figures) -> list[tuple[Design | Skip, str]]:
    """Processor time per page, and instructions of a connection."""
    counted = opening.design(f.counted_by, f.counted) if f.counted_by else None
    return [
        (churn.design(f.analysis), "reference/charts/churn.svg"),
        *([(counted, "costs/charts/costs-churn.svg")] if counted else []),
    ]


def task_charts(f: Figures) -> list[tuple[Design | Skip, str]]:
    """Memory of a waiting task."""
    drawn = micro_report.designs(f.micro, f.analysis)
    return [(found[0], "micro/charts/tasks.svg") for found in drawn if found[0].name == "tasks"]


def startup_charts(f: Figures) -> list[tuple[Design | Skip, str]]:
    """What an import takes."""
    drawn = micro_report.designs(f.micro, f.analysis)
    return [(found[0], "micro/charts/startup.svg") for found in drawn if found[0].name == "startup"]


CHARTS: Final[dict[str, Callable[[Figures], list[tuple[Design | Skip, str]]]]] = {
    "churn": churn_charts,
    "tasks": task_charts,
    "startup": startup_charts,
}
"""The charts of some parts, each with its place under ``results/``; those without data are not."""


def images(figures: Figures, name: str) -> str:
    """The charts below a part's number, a paragraph for each."""
    drawn = CHARTS[name](figures) if name in CHARTS else []
    return "".join(
        f"\n\n![{design.headline}](../results/{file})"
        for design, file in drawn
        if isinstance(design, Design)
    )


def parts(figures: Figures, names: Iterable[str] = tuple(NUMBERS)) -> dict[str, str]:
    """The text of each generated part, wrapped."""
    return {
        PREFIX + name: textwrap.fill(
            f"**Number.** {NUMBERS[name](figures)}",
            WIDTH,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + images(figures, name)
        for name in names
    }
