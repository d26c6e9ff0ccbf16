"""The results for readers: lines while counting, tables, ``summary.md``, the chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from bench import filesystem
from bench.costs import chart, opening
from bench.costs.account import Account, Cost, per_page
from bench.costs.gate import Gate
from bench.costs.measure import Progress
from bench.costs.record import Costs, seed_words
from bench.costs.sites import OPENED
from bench.costs.tasks import FLOOR
from bench.machine.instruments import ALLOCATED, ALLOCATIONS, INSTRUCTIONS, SYSCALLS, WORKING
from bench.plan.cast import MAIN_VARIANTS
from bench.report import charts, files
from bench.report.tables import markdown, terminal
from bench.show.table import MISSING, Cell, Column, Row, Table, Tone, name, words
from bench.text import minutes
from crawlers.registry import MODELS

COLUMNS = {
    INSTRUCTIONS: Column("instructions"),
    SYSCALLS: Column("system calls"),
    ALLOCATIONS: Column("allocations"),
    ALLOCATED: Column("bytes allocated", drop=3),
    "switches": Column("switches", drop=1),
    "page_faults": Column("page faults", drop=2),
    "bytes_sent": Column("bytes sent", drop=4),
    "segments_sent": Column("segments sent", drop=5),
    "segments_received": Column("segments received", drop=6),
}
"""Every cost but the single system calls, in the order of tables."""

MANY_CALLS = 0.005
"""A system call has a column of its own if some backend makes so many for a page."""


CONTENDED = (
    "futex: strace pauses a thread at each call, so threads meet at the interpreter's lock more "
    "often than at full speed. Take these for an upper bound."
)


def progress(console: Console, progress: Progress) -> None:
    """Print a line for a sample as it comes, and how long the rest takes."""
    sample = progress.sample
    if sample.status == "ok":
        found = {key: figure(value) for key, value in per_page(sample, 1).items()}
        named = (f"{found[key]} {COLUMNS[key].title}" for key in COLUMNS if key in found)
        told = f"{', '.join(named)} a page"
    else:
        told = f"{sample.status}: {sample.reason}"
    left = "" if progress.left_s is None else f", {minutes(progress.left_s)} left"
    number = f"{progress.done}/{progress.planned}"
    where = f"{sample.workload} {sample.backend} seed {sample.seed}"
    console.print(f"{number}{left}  {where}: {told}", highlight=False, markup=False)


def figure(value: float) -> str:
    """A count per page: four digits are enough to read."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    places = max(0, 3 - len(str(int(abs(value)))) + (abs(value) < 1))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cell(found: Cost | None) -> Cell:
    """A cost with its range, where there is one to see."""
    if found is None:
        return Cell(MISSING, MISSING)
    low, high, middle = figure(found.low), figure(found.high), figure(found.middle)
    return Cell(middle if low == high else f"{middle} [{low}–{high}]", middle)


FLOOR_NOTE = (
    f"× {FLOOR}: instructions, compared with the control {FLOOR}, which has no parser, no frontier "
    "and no timeouts, and is no backend."
)


def costs_table(
    made: Sequence[Account], workload: str, keys: Sequence[str] = tuple(COLUMNS)
) -> Table:
    """A page of one workload: one row for each backend, with its multiple of the floor."""
    rows = [each for each in made if each.workload == workload and each.costs]
    used = [key for key in keys if any(key in each.costs for each in rows)]
    least = floor(made, workload)
    columns = [name("backend"), *(COLUMNS[key] for key in used)]
    if least is None or INSTRUCTIONS not in used:
        body: list[Row] = [[each.backend, *cells(each, used)] for each in rows]
        return Table(f"A page of {workload} takes", columns, body)
    columns.insert(1, Column(f"× {FLOOR}"))
    body = [[each.backend, multiple(each, least), *cells(each, used)] for each in rows]
    return Table(f"A page of {workload} takes", columns, body, notes=(FLOOR_NOTE,))


def cells(account: Account, keys: Sequence[str]) -> list[Cell]:
    """The costs of one backend."""
    return [cell(account.costs.get(key)) for key in keys]


def multiple(account: Account, least: float) -> str:
    """Its instructions, in multiples of the floor's."""
    found = account.costs.get(INSTRUCTIONS)
    return MISSING if found is None else f"{found.middle / least:.2f}"


def floor(made: Sequence[Account], workload: str) -> float | None:
    """The instructions of the control; None where it was not counted."""
    for each in made:
        if (each.backend, each.workload) == (FLOOR, workload) and INSTRUCTIONS in each.costs:
            return each.costs[INSTRUCTIONS].middle
    return None


def calls_table(made: Sequence[Account], workload: str) -> Table:
    """The system calls by name: medians, one row for each backend."""
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
    columns = [Column(key, drop=place) for place, key in enumerate(used)]
    contended = any("futex" in each.calls() for each in rows)
    return Table(
        f"System calls for a page of {workload}",
        [name("backend"), *columns],
        body,
        notes=(CONTENDED,) if contended else (),
    )


def tables(made: Sequence[Account]) -> list[Table]:
    """Every table of a record."""
    found = [
        table
        for workload in workloads(made)
        for table in (costs_table(made, workload), calls_table(made, workload))
    ]
    return [*found, opening.table(made)] if opening.openings(made) else found


def workloads(made: Iterable[Account]) -> list[str]:
    """The workloads that were counted, in the order of the record."""
    return list(dict.fromkeys(each.workload for each in made))


def lost(costs: Costs, made: Sequence[Account]) -> list[str]:
    """What was not counted, and why."""
    return [
        *(f"{instrument}: {reason}" for instrument, reason in costs.header.missing.items()),
        *(f"{backend}: {reason}" for backend, reason in costs.header.absent.items()),
        *(f"{each.workload}, {each.backend}: {reason}" for each in made for reason in each.bad),
    ]


def show(costs: Costs, made: Sequence[Account], console: Console) -> None:
    """Print the tables."""
    for table in tables(made):
        terminal.show(table, console)
    for reason in lost(costs, made):
        console.print(f"not counted: {reason}", markup=False)


TONES: dict[str, Tone] = {"more": "bad", "fewer": "good"}


def gate_table(gate: Gate) -> Table:
    """Two records compared."""
    return Table(
        "A page in B takes, compared with A",
        [
            name("backend"),
            name("workload"),
            words("cost"),
            Column("A", drop=1),
            Column("B", drop=2),
            Column("B / A"),
            words("verdict"),
        ],
        [
            [
                row.backend,
                row.workload,
                "system calls, without waiting" if row.cost == WORKING else COLUMNS[row.cost].title,
                cell(row.a),
                cell(row.b),
                MISSING if row.ratio is None else f"{row.ratio:.3f}",
                Cell(row.verdict, row.verdict, TONES.get(row.verdict, "plain")),
            ]
            for row in gate.rows
        ],
        grouped=True,
    )


def show_gate(gate: Gate, console: Console) -> None:
    """Print a comparison."""
    terminal.show(gate_table(gate), console)
    for note in gate.notes:
        console.print(f"not compared: {note}", markup=False)
    for reason in gate.lost:
        console.print(f"not counted in B: {reason}", markup=False)
    more = len(gate.more)
    console.print(
        f"A page takes more in {more} of {len(gate.rows)} comparisons."
        if more
        else "No page takes more."
    )


def as_json(made: Sequence[Account]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Workload -> backend -> cost -> median, lowest, highest."""
    return {
        workload: {
            each.backend: {
                key: [found.middle, found.low, found.high] for key, found in each.costs.items()
            }
            for each in made
            if each.workload == workload
        }
        for workload in workloads(made)
    }


def summary(costs: Costs, made: Sequence[Account]) -> str:
    """The text of ``summary.md``."""
    header = costs.header
    environment = header.environment
    tools = "; ".join(f"{instrument}: {tool}" for instrument, tool in header.tools.items())
    lines = [
        "# What a page takes",
        "",
        f"{header.created[:10]}, {environment.python}, {environment.os}, {environment.machine}; "
        f"{header.slots} slots; crawls of {header.pages:,} and {2 * header.pages:,} pages. "
        f"Counted with {tools}. Brackets: the range over {seed_words(costs)}; none where there "
        "is one seed, or no difference. These are counts, not speed: docs/costs.md says what they "
        "leave out. Rebuild with `python -m bench costs --redraw`.",
        "",
    ]
    for table in tables(made):
        lines += markdown.section(table)
    if missing := lost(costs, made):
        lines += ["## Not counted", "", *(f"- {reason}" for reason in missing), ""]
    return "\n".join(lines)


def excerpt(costs: Costs, made: Sequence[Account], chart_file: str) -> str:
    """The generated part of docs/costs.md: the chart and the tables."""
    drawing = chart.design(costs, made)
    environment = costs.header.environment
    lines = []
    if isinstance(drawing, charts.Design):
        lines += [f"![{drawing.headline}]({chart_file})", ""]
    lines += [
        f"Counted on {costs.header.created[:10]} with {environment.python}: the median over "
        f"{seed_words(costs)}, and the range where there is one.",
        "",
    ]
    for table in tables(made):
        lines += markdown.section(table, 3)
    return "\n".join(lines).rstrip()


SHORT = (INSTRUCTIONS, SYSCALLS, ALLOCATIONS)


def short(costs: Costs, made: Sequence[Account]) -> str:
    """The generated part of README.md: the models and the main variants."""
    chosen = (FLOOR, *MODELS, *MAIN_VARIANTS)
    rows = [each for each in made if each.backend in chosen]
    lines = []
    for workload in workloads(rows):
        if workload != OPENED:
            lines += markdown.section(costs_table(rows, workload, SHORT), 3)
    lines += [
        f"Counted on {costs.header.created[:10]} with {costs.header.environment.python}; in "
        "brackets the range over hash seeds. Every backend, and what these numbers leave out: "
        "[docs/costs.md](docs/costs.md).",
    ]
    return "\n".join(lines)


def write(costs: Costs, made: Sequence[Account], folder: Path) -> None:
    """Draw the charts and write the summary."""
    filesystem.make_folder(folder / files.CHARTS)
    for drawing in (chart.design(costs, made), opening.design(costs, made)):
        if isinstance(drawing, charts.Design):
            backends = list(dict.fromkeys(each.backend for each in made))
            charts.Sheet(folder / files.CHARTS, backends, chart.footer(costs)).draw(drawing)
    filesystem.write_text(folder / files.SUMMARY, summary(costs, made))
