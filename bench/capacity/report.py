"""An advice on the terminal: the answer, a table, and what to know about it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from bench.capacity.advice import BEYOND, Advice, AdviceRow
from bench.capacity.costs import Costs
from bench.report import tables
from bench.show.table import MISSING, CellMakers, Column, name, tabled
from bench.text import capital, count, duration, listing, plural, significant, size_words

WIDTH: Final = 80
LIGHT: Final = 0.1
"""Of a processor: who needs no more than this may choose by other things."""

COLUMNS: Final[CellMakers[AdviceRow]] = [
    (name("backend"), lambda row: row.name),
    (Column("group", drop=1), lambda row: str(row.group)),
    (Column("processors"), lambda row: significant(row.processors or 0.0, 3)),
    (Column("processes", drop=1), lambda row: count(row.processes or 0)),
    (Column("memory"), lambda row: size_words(row.memory_bytes) if row.memory_bytes else MISSING),
    (Column("page", drop=2), lambda row: duration((row.total_us or 0.0) / 1000, 3)),
    (Column("pages/s"), lambda row: count(row.rate or 0)),  # only where no rate was asked for
]


def show(advice: Advice, costs: Costs, console: Console) -> None:
    console.width = min(WIDTH, console.width)
    console.print(Text(answer(advice), style="bold"))
    columns = COLUMNS if advice.need.rate is None else COLUMNS[:-1]
    tables.show(tabled("", columns, advice.able), console)
    for line in (*_left(advice.rows), *remarks(costs, advice)):
        console.print(Text.assemble(("• ", "dim"), line))
    console.print(
        Text(
            f"From campaign {advice.campaign}: {advice.machine}. These are costs of a client that "
            "fetches pages of 2 KB and follows their links: see docs/advice.md.",
            "dim",
        )
    )


def answer(advice: Advice) -> str:
    able = advice.able
    if not able:
        return "None of these is known to carry it."
    if advice.need.rate is None:
        rates = sorted(row.rate or 0.0 for row in able)
        ends = dict.fromkeys(
            significant(rate, 2).removesuffix(".0") for rate in (rates[0], rates[-1])
        )
        delay = all(row.limit == "connections" for row in able)
        why = "the delay sets the rate" if delay else "the processor, or the delay, sets the rate"
        return f"One process of these fetches about {' to '.join(ends)} pages/s: {why}."
    if len(able) == 1:
        return f"Only {able[0].name} carries it."
    alike = [row for row in able if row.group == 1]
    light = [row for row in able if (row.processors or 0.0) <= LIGHT]
    will_do = max(alike, light, key=len)
    if 2 * len(will_do) <= len(able):
        return f"The least processor time is that of {listing([row.name for row in alike])}."
    rest = [row.name for row in able if row not in will_do]
    share = min(advice.need.mean_work_us / (row.total_us or 1.0) for row in will_do)
    used = max(row.processors or 0.0 for row in will_do)
    why = "nothing tells their processor time apart"
    if share >= 0.5:
        why = f"your own work is {math.floor(100 * share)} % of the processor time"
    elif used <= LIGHT:
        why = f"none uses more than {math.ceil(100 * used)} % of what a processor can do"
    but = f" but {listing(rest)}" if rest else ""
    return f"Any of these{but} will do: {why}. Memory decides."


# --- what to know about it ---------------------------------------------------------------


def _left(rows: Sequence[AdviceRow]) -> Iterator[str]:
    # Who does not carry it or is left out, and what was not measured; each thing once.
    names_by_note: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for note in row.notes if row.can == "yes" else [row.reason]:
            names_by_note[capital(note.removesuffix("."))].append(row.name)
    for note, names in names_by_note.items():
        yield f"{listing(names)}: {note}."


def remarks(costs: Costs, advice: Advice) -> Iterator[str]:
    """What of the need is beyond what was measured, for every row."""
    need = advice.need
    if need.delay_s and 1e3 * need.delay_s >= BEYOND * costs.longest_delay_ms:
        longest = costs.longest_delay_ms
        measured = f"measured up to {duration(longest)}" if longest else "measured without one"
        yield f"The delay is {duration(1e3 * need.delay_s)}, {measured}."
    if max((row.processes or 1 for row in advice.able), default=1) > costs.processors:
        yield (
            f"More than {plural(costs.processors, 'processor')} were not measured: more "
            "processes are calculated as multiples of one."
        )
