"""Counted crawls, costs per page from them, and tables, a chart and ``summary.md`` for readers.

A sample is one backend under one instrument with the hash seed of its round: on each workload a
crawl of N and one of 2 N pages. What start, warm-up and end take is in both, so it cancels.

Every table and chart names the interpreter on which it was counted, because cards and documents
show them with measurements on another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from pydantic import Field

from bench.analysis.stats import Spread, spread
from bench.machine import instruments
from bench.machine.instruments import INSTRUCTIONS, SYSCALL, SYSCALLS
from bench.plan.participants import CITED
from bench.plan.profiles import SERVING
from bench.schema import Count, Positive, Record
from bench.show.figures import Bars, Figure, Panel, Unit
from bench.show.table import MISSING, Column, Table, name
from bench.study import Report, Run, Study, drawn
from bench.text import number, plural, times
from crawlers.registry import MODELS

FLOOR = "bare"
"""The control that is counted, on lists only: see :mod:`bench.controls`."""
SERVE: Final = "serve"
"""The models as servers."""


class Crawled(Record):
    """Two crawls, or two loads: the totals of each cost, and the pages that lie between them."""

    pages: Positive
    counts: dict[str, tuple[Count, Count]]

    def per_page(self) -> dict[str, float]:
        return {cost: (more - less) / self.pages for cost, (less, more) in self.counts.items()}


class Counted(Record):
    """What one process counted, by workload; those that failed are missing."""

    crawls: dict[str, Crawled] = Field(default_factory=dict)


STUDY: Final[Study[Counted]] = Study("costs", "counts", Counted)

STOPS: Final = "strace"
"""The tool that stops a thread at each of its calls."""
LOCK: Final = f"{SYSCALL}futex"
MEETS: Final = 0.5
"""Backends whose threads wait for one another this often a page have several that work."""
SHADOW: Final = (
    "strace stops a thread at each of its calls, so several threads meet at the interpreter's lock "
    "far more often than at full speed"
)


@dataclass(frozen=True, slots=True)
class Account:
    """The costs of one backend on one workload, per page, over hash seeds."""

    backend: str
    workload: str
    costs: Mapping[str, Spread]
    untold: bool = False  # system calls were counted under SHADOW, and are in no costs
    python: str = ""  # the interpreter that was counted

    def calls(self) -> dict[str, Spread]:
        """The system calls by name, without those that pages do not make."""
        return {
            name.removeprefix(SYSCALL): cost
            for name, cost in self.costs.items()
            if name.startswith(SYSCALL) and abs(cost.value) >= 0.0005
        }


def crawled(run: Run[Counted]) -> Iterator[tuple[str, str, str, Crawled]]:
    """Backend, instrument, workload and crawls: of a sample that failed, those that did not."""
    for sample in run.samples:
        backend, _, instrument = sample.program.partition("/")
        for workload, crawls in sample.part.crawls.items() if sample.part else ():
            yield backend, instrument.rpartition("/")[2], workload, crawls


def accounts(run: Run[Counted]) -> list[Account]:
    """Each backend on each workload, in the order of the record."""
    pages: dict[tuple[str, str], dict[str, list[Mapping[str, float]]]] = {}
    for backend, instrument, workload, crawls in crawled(run):
        tools = pages.setdefault((workload, backend), {})
        tools.setdefault(instrument, []).append(crawls.per_page())
    tool = str(run.head.settings.get("system calls", ""))
    accounts = []
    for (workload, backend), tools in pages.items():
        costs = {
            name: cost
            for samples in tools.values()
            for name in dict.fromkeys(chain.from_iterable(samples))
            # Some samples may not have made a system call at all.
            if (cost := spread((page.get(name, 0.0) for page in samples), "median"))
        }
        # The one rule: every table, card and slide shows what an account has.
        waits = costs[LOCK].value if LOCK in costs else 0.0
        untold = tool.startswith(STOPS) and waits >= MEETS
        if untold:
            costs = {k: v for k, v in costs.items() if k != SYSCALLS and not k.startswith(SYSCALL)}
        accounts.append(Account(backend, workload, costs, untold, run.head.environment.python))
    return accounts


def seed_words(accounts: Sequence[Account]) -> str:
    """Over how many hash seeds the ranges are: "3 hash seeds", "1 to 3 hash seeds"."""
    seeds = [cost.count for account in accounts for cost in account.costs.values()]
    least, most = min(seeds, default=0), max(seeds, default=0)
    return plural(most, "hash seed") if least == most else f"{least} to {most} hash seeds"


CHOSEN = (FLOOR, *dict.fromkeys((*CITED, *SERVING)))
"""The backends of README's tables, and of a chart that would have too many."""

# --- chart: instructions of a page -----------------------------------------------------------

NAME = "costs"
MOST = 16
"""With more backends in a panel only the main ones are drawn, so that each can be read."""
HEADS = {"fetch": "a fetched page: a list, no links", "crawl": "a crawled page: links too"}


def design(run: Run[Counted]) -> Figure | str:
    """The chart, or why there is none; of the chosen backends alone where there are too many."""
    counted = [a for a in accounts(run) if a.workload in HEADS and INSTRUCTIONS in a.costs]
    rows: dict[str, dict[str, Spread]] = {}
    for workload in HEADS:
        costs = {a.backend: a.costs[INSTRUCTIONS] for a in counted if a.workload == workload}
        chosen = {who: cost for who, cost in costs.items() if who in CHOSEN}
        if costs:
            rows[workload] = chosen if chosen and len(costs) > MOST else costs
    if not rows:
        return "no instructions were counted"
    pages, slots = (int(run.head.settings[what]) for what in ("pages", "slots"))
    tool = run.head.settings.get("instructions", "valgrind")
    every = {a.backend for a in counted}
    drawn_here = [a for a in counted if a.backend in rows[a.workload]]
    fewer = len(every) > len({a.backend for a in drawn_here})
    figure = Figure(
        name=NAME,
        title="Instructions that a page needs",
        headline=finding(*next(iter(rows.items()))),
        subtitle=f"Instructions in user space per page at {slots} slots, "
        f"{run.head.environment.python}, by {tool}: a count, not a speed",
        data=Bars(
            [
                Panel(
                    HEADS[w], {who: [cost] for who, cost in costs.items()}, Unit("", number, number)
                )
                for w, costs in rows.items()
            ]
        ),
        notes=(
            f"Crawls of {pages:,} and {2 * pages:,} pages subtracted; median and range of "
            f"{seed_words(drawn_here)}. Not in it: the kernel’s time, cache and branch misses.",
            *[f"The models and the main variants; the tables have all {len(every)}."] * fewer,
        ),
    )
    return drawn(figure, "python -m bench study costs", run.head)


def finding(workload: str, costs: Mapping[str, Spread]) -> str | None:
    models = sorted((who for who in costs if who in MODELS), key=lambda who: costs[who].value)
    if len(models) < 2 or costs[models[-1]].low <= costs[models[0]].high:
        return None
    least, most = costs[models[0]].value, costs[models[-1]].value
    what = "fetched" if workload == "fetch" else "crawled"
    return (
        f"A {what} page needs {number(least)} instructions with {models[0]}, "
        f"{times(most / least)} times as many with {models[-1]}"
    )


# --- tables ----------------------------------------------------------------------------------

COLUMNS = {INSTRUCTIONS: Column("instructions"), SYSCALLS: Column("system calls")}
"""Every cost but the single system calls. Records of before 1.0 have more."""

MANY_CALLS = 0.005
"""A system call has a column of its own if some backend makes so many for a page."""

ITEMS = {SERVE: "request"}
"""What is counted of a workload, unless it is a page."""

BELOW: Final = (
    "Below 0: a crawl makes such calls now and then, not for each page, and the longer one made "
    "fewer."
)
LACKS: Final = {SERVE: "no parser, no limits and no deadlines"}
LACKS_USUALLY: Final = "no parser, no frontier and no timeouts, and is no backend"
"""What the floor does without: as a server, and as a client."""


def figure(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    places = max(0, 3 - len(str(int(abs(value)))) + (abs(value) < 1))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cell(cost: Spread | None) -> str:
    if cost is None:
        return MISSING
    low, high, middle = figure(cost.low), figure(cost.high), figure(cost.value)
    return middle if low == high else f"{middle} [{low}–{high}]"


def captioned(caption: str, accounts: Sequence[Account]) -> str:
    return f"{caption} ({accounts[0].python})" if accounts else caption


def untold(accounts: Iterable[Account]) -> list[str]:
    """Whose system calls are not shown, and why."""
    who = dict.fromkeys(account.backend for account in accounts if account.untold)
    return [f"No system calls of {', '.join(who)}: {SHADOW}."] if who else []


def costs_table(accounts: Sequence[Account], workload: str) -> Table:
    """A page of one workload: one row for each backend, with its multiple of the floor."""
    rows = [account for account in accounts if account.workload == workload and account.costs]
    used = [key for key in COLUMNS if any(key in account.costs for account in rows)]
    columns = [name("backend"), *(COLUMNS[key] for key in used)]
    body = [[account.backend, *(cell(account.costs.get(key)) for key in used)] for account in rows]
    least = next(
        (account.costs.get(INSTRUCTIONS) for account in rows if account.backend == FLOOR), None
    )
    if least:
        columns.insert(1, Column(f"× {FLOOR}"))
        for account, row in zip(rows, body, strict=True):
            cost = account.costs.get(INSTRUCTIONS)
            row.insert(1, f"{cost.value / least.value:.2f}" if cost else MISSING)
    caption = captioned(f"A {ITEMS.get(workload, 'page')} of {workload} needs", rows)
    lacks = LACKS.get(workload, LACKS_USUALLY)
    note = f"× {FLOOR}: instructions, compared with the control {FLOOR}, which has {lacks}."
    return Table(caption, columns, body, notes=[note] if least else [])


def calls_table(accounts: Sequence[Account], workload: str) -> Table:
    """The system calls by name: medians, one row for each backend whose own they are."""
    rows = [
        account
        for account in accounts
        if account.workload == workload and SYSCALLS in account.costs
    ]
    made = {account.backend: account.calls() for account in rows}
    most: dict[str, float] = {}
    for calls in made.values():
        for key, cost in calls.items():
            most[key] = max(most.get(key, 0.0), cost.value)
    used = sorted((key for key in most if most[key] >= MANY_CALLS), key=lambda key: -most[key])
    body = [
        [who, *(figure(calls[key].value) if key in calls else "0" for key in used)]
        for who, calls in made.items()
    ]
    below = any(calls[key].value < 0 for calls in made.values() for key in used if key in calls)
    columns = [name("backend"), *(Column(key, drop=place) for place, key in enumerate(used))]
    caption = captioned(f"System calls for a {ITEMS.get(workload, 'page')} of {workload}", rows)
    return Table(caption, columns, body, notes=[BELOW] if below else [])


def tables(accounts: Sequence[Account]) -> list[Table]:
    return [
        table
        for workload in workloads(accounts)
        for table in (costs_table(accounts, workload), calls_table(accounts, workload))
    ]


def workloads(accounts: Iterable[Account]) -> list[str]:
    return list(dict.fromkeys(account.workload for account in accounts))


# --- where they are shown --------------------------------------------------------------------


def stamp(run: Run[Counted]) -> str:
    """When and on which interpreter: every table, chart and block says it."""
    return f"Counted on {run.head.created[:10]} with {run.head.environment.python}"


def report(run: Run[Counted]) -> Report:
    counted, settings, environment = accounts(run), run.head.settings, run.head.environment
    pages = int(settings["pages"])
    tools = "; ".join(f"{name}: {settings[name]}" for name in instruments.NAMES if name in settings)
    about = (
        f"{stamp(run)}, {environment.os}, {environment.machine}; {settings['slots']} slots; "
        f"crawls of {pages:,} and {2 * pages:,} pages. Counted with {tools}. Brackets: the range "
        f"over {seed_words(counted)}; none where there is one seed, or no difference. These are "
        "counts, not speed: docs/costs.md says what they leave out. Rebuild with `python -m bench "
        "study costs --redraw`."
    )
    return Report(
        title="What a page costs",
        about="\n".join([about, *untold(counted)]),
        tables=tables(counted),
        designs=[design(run)],
        backends=list(dict.fromkeys(account.backend for account in counted)),
        notes=run.faults(),
    )


def excerpt(run: Run[Counted], chart_file: str = "", tables: int | None = None) -> str:
    """The generated part of a document: a chart, and so many tables of the chosen backends."""
    rows = [account for account in accounts(run) if account.backend in CHOSEN]
    drawing = design(run)
    picture = (
        chart_file and isinstance(drawing, Figure) and f"![{drawing.heading}]({chart_file})\n\n"
    )
    names = workloads(rows)[:tables]
    seeds = seed_words([row for row in rows if row.workload in names])
    over = f"the median over {seeds}, and the range where there is one."
    shown = [costs_table(rows, name) for name in names]
    lines = [
        f"{stamp(run)}: {over}",
        *untold(rows),
        "",
        replace(report(run), tables=shown).excerpt(),
    ]
    return (picture or "") + "\n".join(lines)
