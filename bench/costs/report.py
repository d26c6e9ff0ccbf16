"""Counted costs for readers: tables, a chart and ``summary.md``.

Every table and chart names the interpreter on which it was counted, because cards and documents
show them with measurements on another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.analysis.stats import Spread
from bench.costs.measure import FLOOR
from bench.costs.record import Account, Cost, Costs, Sample, per_page, seed_words, shadow
from bench.costs.serving import SERVE
from bench.machine.instruments import INSTRUCTIONS, SYSCALLS
from bench.plan.participants import MAIN_VARIANTS
from bench.plan.profiles import SERVING
from bench.report import study
from bench.report.charts import Design, Skip
from bench.report.study import origin
from bench.report.tables import section
from bench.report.tables import show as show_table
from bench.show.figures import Bars, Figure, Panel, Unit
from bench.show.table import MISSING, Cell, Column, Row, Table, name
from bench.text import number, times
from crawlers.registry import MODELS

CHOSEN = (FLOOR, *dict.fromkeys((*MODELS, *MAIN_VARIANTS, *SERVING)))
"""The backends of README's tables, and of a chart that would have too many."""

# --- chart: instructions of a page -----------------------------------------------------------

NAME = "costs"
MOST = 16
"""With more backends in a panel only the main ones are drawn, so that each can be read."""
HEADS = {"fetch": "a fetched page: a list, no links", "crawl": "a crawled page: links too"}

INSTRUCTIONS_UNIT: Final = Unit("", number, number)


def design(costs: Costs, made: Sequence[Account]) -> Design | Skip:
    title = "Instructions that a page needs"
    rows: dict[str, dict[str, Cost]] = {workload: {} for workload in HEADS}
    for each in made:
        if each.workload in HEADS and INSTRUCTIONS in each.costs:
            rows[each.workload][each.backend] = each.costs[INSTRUCTIONS]
    rows = {workload: found for workload, found in rows.items() if found}
    if not rows:
        return Skip(NAME, title, "no instructions were counted")
    most = max(map(len, rows.values()))
    left_out: tuple[str, ...] = ()
    main = {w: {who: found[who] for who in found if who in CHOSEN} for w, found in rows.items()}
    if most > MOST and all(main.values()):
        rows = main
        left_out = (f"The models and the main variants; the tables have all {most}.",)
    header = costs.header
    figure = Figure(
        name=NAME,
        title=title,
        headline=finding(*next(iter(rows.items()))),
        subtitle=f"Instructions in user space per page at {header.slots} slots, {counter(costs)}",
        data=Bars([_panel(HEADS[w], found) for w, found in rows.items()]),
        notes=(
            f"Crawls of {header.pages:,} and {2 * header.pages:,} pages subtracted; median and "
            f"range of {seed_words(costs)}. Not in it: the kernel’s time, "
            "cache and branch misses.",
            *left_out,
        ),
    )
    return study.drawn(figure, footer(costs))


def counter(costs: Costs) -> str:
    tool = costs.header.tools.get("instructions", "valgrind")
    return f"{costs.header.environment.python}, by {tool}: a count, not a speed"


def footer(costs: Costs) -> tuple[str, str]:
    return origin("python -m bench study costs", costs.header.environment, costs.header.created)


def _panel(axis: str, found: Mapping[str, Cost]) -> Panel:
    rows = {
        who: [Spread(cost.middle, cost.low, cost.high, 1 if cost.low == cost.high else 2)]
        for who, cost in found.items()
    }
    return Panel(axis, rows, INSTRUCTIONS_UNIT)


def finding(workload: str, found: Mapping[str, Cost]) -> str | None:
    models = sorted((who for who in found if who in MODELS), key=lambda who: found[who].middle)
    if len(models) < 2 or found[models[-1]].low <= found[models[0]].high:
        return None
    least, most = found[models[0]].middle, found[models[-1]].middle
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

FLOOR_NOTE = (
    f"× {FLOOR}: instructions, compared with the control {FLOOR}, which has no parser, no frontier "
    "and no timeouts, and is no backend."
)


def figure(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    places = max(0, 3 - len(str(int(abs(value)))) + (abs(value) < 1))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cell(found: Cost | None) -> Cell:
    if found is None:
        return Cell(MISSING, MISSING)
    low, high, middle = figure(found.low), figure(found.high), figure(found.middle)
    return Cell(middle if low == high else f"{middle} [{low}–{high}]", middle)


def captioned(caption: str, made: Sequence[Account]) -> str:
    return f"{caption} ({made[0].python})" if made else caption


def untold(made: Iterable[Account]) -> list[str]:
    """Whose system calls are not shown, and why: one note for each reason."""
    reasons: dict[str, list[str]] = {}
    for each in made:
        if each.untold and each.backend not in reasons.setdefault(each.untold, []):
            reasons[each.untold].append(each.backend)
    return [f"No system calls of {', '.join(who)}: {why}." for why, who in reasons.items()]


def costs_table(made: Sequence[Account], workload: str) -> Table:
    """A page of one workload: one row for each backend, with its multiple of the floor."""
    rows = [each for each in made if each.workload == workload and each.costs]
    used = [key for key in COLUMNS if any(key in each.costs for each in rows)]
    columns = [name("backend"), *(COLUMNS[key] for key in used)]
    body: list[Row] = [[each.backend, *(cell(each.costs.get(k)) for k in used)] for each in rows]
    notes = []
    least = next((each.costs.get(INSTRUCTIONS) for each in rows if each.backend == FLOOR), None)
    if least and INSTRUCTIONS in used:
        columns.insert(1, Column(f"× {FLOOR}"))
        body = [
            [row[0], multiple(each.costs.get(INSTRUCTIONS), least), *row[1:]]
            for each, row in zip(rows, body, strict=True)
        ]
        notes = [FLOOR_NOTE]
    what = "request" if workload == SERVE else "page"
    return Table(captioned(f"A {what} of {workload} needs", rows), columns, body, notes=notes)


def multiple(found: Cost | None, least: Cost) -> str:
    return MISSING if found is None else f"{found.middle / least.middle:.2f}"


def calls_table(made: Sequence[Account], workload: str) -> Table:
    """The system calls by name: medians, one row for each backend whose own they are."""
    rows = [each for each in made if each.workload == workload and SYSCALLS in each.costs]
    most: dict[str, float] = {}
    for each in rows:
        for key, cost in each.calls().items():
            most[key] = max(most.get(key, 0.0), cost.middle)
    used = sorted((key for key in most if most[key] >= MANY_CALLS), key=lambda key: -most[key])
    body: list[Row] = []
    for each in rows:
        found = each.calls()
        figures = [figure(found[key].middle) if key in found else "0" for key in used]
        body.append([each.backend, *figures])
    columns = [name("backend"), *(Column(key, drop=place) for place, key in enumerate(used))]
    what = "request" if workload == SERVE else "page"
    caption = captioned(f"System calls for a {what} of {workload}", rows)
    return Table(caption, columns, body)


def tables(made: Sequence[Account]) -> list[Table]:
    return [
        table
        for workload in workloads(made)
        for table in (costs_table(made, workload), calls_table(made, workload))
    ]


def workloads(made: Iterable[Account]) -> list[str]:
    return list(dict.fromkeys(each.workload for each in made))


def lost(costs: Costs, made: Sequence[Account]) -> list[str]:
    return [
        *(f"{instrument}: {reason}" for instrument, reason in costs.header.missing.items()),
        *(f"{backend}: {reason}" for backend, reason in costs.header.absent.items()),
        *(f"{each.workload}, {each.backend}: {reason}" for each in made for reason in each.bad),
    ]


# --- where they are shown --------------------------------------------------------------------


def progress(console: Console, sample: Sample, done: int, planned: int) -> None:
    """Print a line for a sample as it comes."""
    told = f"{sample.status}: {sample.reason}"
    if sample.status == "ok":
        costs = per_page(sample, 1)
        if shadow(costs):
            costs.pop(SYSCALLS)
        named = [f"{figure(costs[key])} {COLUMNS[key].title}" for key in COLUMNS if key in costs]
        told = f"{', '.join(named)} a page" if named else "counted"
    where = f"{sample.workload} {sample.backend} seed {sample.seed}"
    console.print(f"{done}/{planned}  {where}: {told}", highlight=False, markup=False)


def show(costs: Costs, made: Sequence[Account], console: Console) -> None:
    for table in tables(made):
        show_table(table, console)
    for note in untold(made):
        console.print(note, markup=False)
    for reason in lost(costs, made):
        console.print(f"not counted: {reason}", markup=False)


def as_json(made: Sequence[Account]) -> dict[str, dict[str, dict[str, list[float] | None]]]:
    """Workload -> backend -> cost -> median, lowest, highest; null for calls that are not shown."""
    found: dict[str, dict[str, dict[str, list[float] | None]]] = {}
    for each in made:
        costs: dict[str, list[float] | None] = {SYSCALLS: None} if each.untold else {}
        costs |= {key: [one.middle, one.low, one.high] for key, one in each.costs.items()}
        found.setdefault(each.workload, {})[each.backend] = costs
    return found


def summary(costs: Costs, made: Sequence[Account]) -> str:
    header = costs.header
    environment = header.environment
    tools = "; ".join(f"{instrument}: {tool}" for instrument, tool in header.tools.items())
    lines = [
        "# What a page costs",
        "",
        f"{header.stamp}, {environment.os}, {environment.machine}; "
        f"{header.slots} slots; crawls of {header.pages:,} and {2 * header.pages:,} pages. "
        f"Counted with {tools}. Brackets: the range over {seed_words(costs)}; none where there "
        "is one seed, or no difference. These are counts, not speed: docs/costs.md says what they "
        "leave out. Rebuild with `python -m bench study costs --redraw`.",
        *untold(made),
        "",
    ]
    for table in tables(made):
        lines += section(table)
    if missing := lost(costs, made):
        lines += ["## Not counted", "", *(f"- {reason}" for reason in missing), ""]
    return "\n".join(lines)


def excerpt(costs: Costs, made: Sequence[Account], chart_file: str | None = None) -> str:
    """The generated part of a document: a chart, the models and the main variants."""
    rows = [each for each in made if each.backend in CHOSEN]
    lines = []
    if chart_file and isinstance(drawing := design(costs, made), Design):
        lines += [f"![{drawing.headline}]({chart_file})", ""]
    lines += [
        f"{costs.header.stamp}: the median over {seed_words(costs)}, and the range where there "
        "is one.",
        *untold(rows),
        "",
    ]
    for workload in workloads(rows):
        lines += section(costs_table(rows, workload), 3)
    return "\n".join(lines).rstrip()


def write(costs: Costs, made: Sequence[Account], folder: Path) -> None:
    backends = list(dict.fromkeys(each.backend for each in made))
    study.write(folder, summary(costs, made), [design(costs, made)], backends)
