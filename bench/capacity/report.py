"""An advice as an answer, a short table and what to know about it; its numbers as JSON."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from bench.capacity.advice import BEYOND, Advice, Row
from bench.capacity.costs import Costs
from bench.capacity.need import EXAMPLE, PLAIN, Need
from bench.capacity.validation import KINDS, WORST, Validation
from bench.machine.doctor.limits import SPARE_DESCRIPTORS
from bench.report.tables import terminal
from bench.show.table import MISSING, Column, Table, name
from bench.text import capital, count, duration, listing, plural, significant, size_words, times

PEOPLE: Final = (
    *("threads", "callbacks", "generators", "async_await", "uvloop"),
    *("trio", "gevent", "aiohttp", "httpx", "requests"),
)
"""What people choose between; all others are shown if they are asked for."""

WIDTH: Final = 80
LIGHT: Final = 0.1
"""Of a processor: who needs no more than this may choose by other things."""

MATTERS: Final = 1.2
"""Memory decides, if the most is so many times the least."""

COLUMNS: Final = (
    name("backend"),
    *(Column(title) for title in ("group", "processors", "processes", "memory", "page")),
)


def cells(row: Row) -> list[str]:
    """The texts of a row."""
    return [
        row.name,
        MISSING if row.group is None else str(row.group),
        MISSING if row.processors is None else significant(row.processors, 3),
        MISSING if row.processes is None else count(row.processes),
        MISSING if row.user_bytes is None else size_words(row.memory),
        MISSING if row.total_us is None else duration(row.total_us / 1000, 3),
    ]


def able_table(advice: Advice) -> Table:
    """The backends that carry the load."""
    column, further = (
        ("pages/s", [count(row.rate or 0) for row in advice.able])
        if advice.need.rate is None
        else ("wait", [wait(row) for row in advice.able])
    )
    rows = [[*cells(row), last] for row, last in zip(advice.able, further, strict=True)]
    return Table("", [*COLUMNS, Column(column)], rows)


def wait(row: Row) -> str:
    """The mean wait for the processor, where it can be felt."""
    if row.wait_ms is None:
        return MISSING
    return "< 1 µs" if row.wait_ms < 1e-3 else duration(row.wait_ms)


def show(
    advice: Advice, costs: Costs, validation: Validation, beside: Sequence[str], console: Console
) -> None:
    """Print the advice: the answer, a table, and what to know about it."""
    console.width = min(WIDTH, console.width)
    console.print(Text(answer(advice), style="bold"))
    terminal.show(able_table(advice), console)
    for line in (*beside, *left(advice.rows), *remarks(costs, advice), doubt(validation)):
        console.print(Text.assemble(("• ", "dim"), line))
    console.print(
        Text(
            f"From campaign {advice.campaign}: {advice.machine}. docs/advice.md explains it.", "dim"
        )
    )


# --- the answer --------------------------------------------------------------------------


def answer(advice: Advice) -> str:
    """What the advice comes to, in two or three plain sentences."""
    able = advice.able
    if not able:
        reasons = Counter(row.reason for row in advice.rows)
        most = reasons.most_common(1)[0][0] if reasons else "Nothing was measured."
        return f"None of these is known to carry it. {most}"
    if advice.need.rate is None:
        return f"{reached(advice)} {memory(able)}"
    if len(able) == 1:
        return f"Only {able[0].name} carries it. {memory(able)} {processes(able)}"
    alike = [row for row in able if row.group == 1]
    light = [row for row in able if (row.processors or 0.0) <= LIGHT]
    will_do = max(alike, light, key=len)
    if 2 * len(will_do) <= len(able):
        return f"{least(able, alike)} {memory(able)} {processes(able)}"
    rest = [row.name for row in able if row not in will_do]
    share = min(advice.need.mean_work_us / (row.total_us or 1.0) for row in will_do)
    used = max(row.processors or 0.0 for row in will_do)
    why = "nothing tells their processor time apart"
    if share >= 0.5:
        why = f"your own work is {math.floor(100 * share)} % of the processor time"
    elif used <= LIGHT:
        why = f"none uses more than {math.ceil(100 * used)} % of what a processor can do"
    but = f" but {listing(rest)}" if rest else ""
    return f"Any of these{but} will do: {why}. {memory(will_do, 'decides')} {processes(will_do)}"


def least(able: Sequence[Row], first: Sequence[Row]) -> str:
    """Who needs the least processor time, and how much more the others need."""
    most = max(able, key=lambda row: row.processors or 0.0)
    more = times((most.processors or 0.0) / (first[0].processors or 1.0))
    return (
        f"The least processor time is that of {listing([row.name for row in first])}; "
        f"{most.name} needs {more} times as much."
    )


def reached(advice: Advice) -> str:
    """How many pages per second one process can fetch, and what ends that."""
    need, able = advice.need, advice.able
    waiting = [row for row in able if row.limit == "connections"]
    full = sorted((row for row in able if row not in waiting), key=lambda row: -(row.rate or 0.0))
    said = []
    if waiting:
        whom = "any of these" if not full else listing([row.name for row in waiting])
        said.append(
            f"{plural(need.connections, 'connection')} behind {duration(1e3 * need.delay_s)} fetch "
            f"about {pages(min(row.rate or 0.0 for row in waiting))} pages/s with {whom}: "
            "the delay sets the rate."
        )
    if full:
        ends = [f"{pages(row.rate or 0.0)} with {row.name}" for row in full]
        if len(ends) > 2:
            ends = [ends[0], ends[-1]]
        said.append(
            f"One processor is {100 * need.load:.0f} % busy at {' and at '.join(ends)} (pages/s)."
        )
    return " ".join(said)


def pages(rate: float) -> str:
    """A rate to two digits."""
    return significant(rate, 2).removesuffix(".0")


def memory(rows: Sequence[Row], verb: str = "differs") -> str:
    """From the least to the most memory."""
    known = sorted((row for row in rows if row.user_bytes is not None), key=lambda r: r.memory)
    if not known:
        return "Memory was not measured."
    first, last = known[0], known[-1]
    if last.memory < MATTERS * first.memory:
        return f"Memory: {size_words(last.memory)}."
    ends = " to ".join(f"{size_words(row.memory)} ({row.name})" for row in (first, last))
    return f"Memory {verb}: {ends}."


def processes(rows: Sequence[Row]) -> str:
    """How many processes."""
    needed = sorted({row.processes or 1 for row in rows})
    several = "1 process" if needed[-1] == 1 else f"{count(needed[-1])} processes"
    return f"{several}." if len(needed) == 1 else f"{count(needed[0])} to {several}."


# --- what to know about it ---------------------------------------------------------------


def left(rows: Sequence[Row]) -> Iterator[str]:
    """Who does not carry it or is left out, and what was not measured; each thing once."""
    said: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for note in row.notes if row.can == "yes" else [row.reason]:
            said[capital(note.removesuffix("."))].append(row.name)
    for note, names in said.items():
        yield f"{listing(names)}: {note}."


def remarks(costs: Costs, advice: Advice) -> Iterator[str]:
    """What holds for every row of an advice."""
    need = advice.need
    yield (
        "These are costs of a client that fetches pages of 2 KB and follows their links. "
        f"Processors: planned to be {100 * need.load:.0f} % busy. Group: nothing tells its "
        "backends apart in processor time."
    )
    if need.work_s:
        yield (
            "Your work is added as you give it. Wait: for the processor, calculated for loops; "
            "threads and processes take turns."
        )
    if 1e3 * need.delay_s >= BEYOND * costs.longest_delay_ms:
        delays = duration(1e3 * need.delay_s), duration(costs.longest_delay_ms)
        yield f"The delay is {delays[0]}, measured up to {delays[1]}."
    if any((row.processors or 1.0) <= 0.5 for row in advice.able):
        yield (
            "Processors are shares of what one can do when it is busy. At part load top shows "
            "more, because sleeping and waking cost time as well."
        )
    most = max((row.processes or 1 for row in advice.able), default=1)
    if most > costs.processors:
        yield (
            f"More than {plural(costs.processors, 'processor')} were not measured: so many "
            "processes are calculated as so many times one."
        )
    files = need.connections + SPARE_DESCRIPTORS
    if costs.files is not None and files > costs.files:
        yield (
            f"One process of the measured machine opens {count(costs.files)} files: "
            f"run ulimit -n {files} as root."
        )


def doubt(validation: Validation) -> str:
    """How good the predictions of the campaign are, in a sentence."""
    said = [
        f"{what} {100 * error:.0f} %"
        for kind, what in KINDS.items()
        if (error := validation.median_error(kind)) is not None
    ]
    if not said:
        return "This campaign has no measurements that the predictions could be checked against."
    return f"Predictions were off by, in the median: {'; '.join(said)}."


def checks(validation: Validation) -> Table:
    """How far off each kind of prediction was, for the page of a campaign."""
    rows = []
    for kind, what in KINDS.items():
        kept, out = validation.kept(kind), validation.left_out(kind)
        if not kept and not out:
            continue
        error = validation.median_error(kind)
        worst = max((abs(check.error) for check in kept), default=None)
        rows.append(
            [
                capital(what),
                count(len(kept)),
                MISSING if error is None else f"{100 * error:.1f} %",
                MISSING if worst is None else f"{100 * worst:.0f} %",
                listing([f"{c.label} at {c.point} ({c.far})" for c in out]) or MISSING,
            ]
        )
    titles = [Column(t) for t in ("points", "median error", "worst")]
    return Table(
        "Predictions that the model was not made from",
        [name("what"), *titles, Column(f"left out: more than {100 * WORST:.0f} % off", "left")],
        rows,
    )


# --- JSON --------------------------------------------------------------------------------


def as_json(advice: Advice, validation: Validation, beside: Sequence[str]) -> dict[str, Any]:
    """The advice with its numbers, not rounded, and how far predictions were off."""
    return {
        **asdict(advice),
        "answer": answer(advice),
        "beside": list(beside),
        "validation": {
            kind: {
                "median_error": validation.median_error(kind),
                "kept": len(validation.kept(kind)),
                "left_out": [[c.label, c.point, c.error] for c in validation.left_out(kind)],
            }
            for kind in KINDS
        },
    }


def chosen(costs: Costs, named: Sequence[str] | None = None, *, everything: bool) -> list[str]:
    """The backends to weigh: as named, all, or what people choose between."""
    known = [backend.name for backend in costs.backends]
    people = [each for each in known if each in PEOPLE]
    return list(named or ([] if everything else people) or known)


def example(costs: Costs) -> Need:
    """The load of a first view."""
    return EXAMPLE if any(backend.encrypted for backend in costs.backends) else PLAIN
