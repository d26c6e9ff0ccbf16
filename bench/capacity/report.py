"""An advice as tables and sentences, for the terminal and the page; its numbers as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from bench.capacity.advice import Advice, Row
from bench.capacity.validation import KINDS, WORST, Validation
from bench.report import files
from bench.report.tables import terminal
from bench.show.table import MISSING, Cell, Column, Table, name, words
from bench.text import count, duration, listing, plural, significant, size_words

CAPTION: Final = "Which backends carry it, and what each needs"
REST: Final = "Which do not, or are left out"
REASON: Final = words("why")
BEYOND_WORDS: Final = "Beyond the measurements"
MOST_NAMES: Final = 3


def columns(user: str = "memory, user [95 %]") -> list[Column]:
    """The columns of an advice; a terminal has no room for the interval of the user memory."""
    return [
        name("backend"),
        name("group"),
        Column("processors [95 %]"),
        Column("processes"),
        Column(user),
        Column("kernel", drop=1),
        Column("p50", drop=2),
        Column("p99", drop=2),
        Column("queue", drop=3),
        words("checked at", drop=4),
    ]


def cells(row: Row) -> list[str]:
    """The texts of a row, without the reason; :file:`capacity.js` writes the same."""
    return [
        row.name,
        row.can if row.group is None else str(row.group),
        MISSING if row.processors is None else _processors(row),
        MISSING if row.processes is None else count(row.processes),
        MISSING if row.user_bytes is None else _user(row),
        MISSING if row.kernel_bytes is None else size_words(row.kernel_bytes),
        *(MISSING if t is None else duration(t, 3) for t in (row.p50_ms, row.p99_ms, row.wait_ms)),
        MISSING if row.error is None else f"{row.checked}: {_signed(row.error)}",
    ]


def why(row: Row) -> str:
    """The reason, and what was not measured."""
    return f"{row.reason} {BEYOND_WORDS}: {'; '.join(row.notes)}." if row.notes else row.reason


def _processors(row: Row) -> str:
    middle = significant(row.processors or 0.0, 3)
    if row.low is None or row.high is None:
        return middle
    return f"{middle} [{significant(row.low, 3)}–{significant(row.high, 3)}]"


def _user(row: Row) -> str:
    """User memory, and its interval where that can be seen."""
    middle, low, high = (
        size_words(value or 0.0) for value in (row.user_bytes, row.user_low, row.user_high)
    )
    return middle if low == high else f"{middle} [{low}–{high}]"


def _signed(share: float) -> str:
    """An error: ``+8 %``, ``−5 %``."""
    percent = round(100 * share)
    return f"{'−' if percent < 0 else '+'}{abs(percent)} %"


# --- the terminal ------------------------------------------------------------------------


def show(advice: Advice, console: Console, validation: Validation, *, details: bool) -> None:
    """Print the advice: a headline, the table, who cannot, and what to know about it.

    ``details`` adds the reason of each backend.
    """
    if not console.is_terminal:
        console.width = max(files.PLAIN_WIDTH, console.width)
    console.print(Text(headline(advice), style="bold"))
    able = [row for row in advice.rows if row.can == "yes"]
    rest = [row for row in advice.rows if row.can != "yes"]
    terminal.show(able_table(able), console)
    terminal.show(
        Table(REST, [name("backend"), words("reason")], [[r.name, r.reason] for r in rest]), console
    )
    if details:
        for row in able:
            console.print(Text.assemble((f"{row.name}: ", "bold"), why(row)))
    for line in (*advice.notes, *([] if details else beyond(able)), doubt(validation)):
        console.print(Text.assemble(("• ", "dim"), line))
    console.print(
        Text(
            f"From campaign {advice.campaign}: {advice.machine}. docs/advice.md explains it.", "dim"
        )
    )


def headline(advice: Advice) -> str:
    """What the advice comes to, in a sentence or two."""
    able = [row for row in advice.rows if row.can == "yes"]
    if not able:
        return "No measured backend carries this."
    first = [row for row in able if row.group == 1]
    best = first[0]
    processes = sorted({row.processes for row in first if row.processes})
    needed = "–".join(dict.fromkeys(map(count, (processes[0], processes[-1]))))
    same = (
        f"{listing([row.name for row in first])} take the least processor time: {needed} "
        f"{'process' if needed == '1' else 'processes'}, and nothing tells them apart"
        if 1 < len(first) <= MOST_NAMES
        else f"{plural(len(first), 'backend')} take the least processor time: {needed} "
        f"{'process' if needed == '1' else 'processes'}, and nothing tells them apart"
        if len(first) > 1
        else f"{best.name} takes the least processor time: {needed} "
        f"{'process' if needed == '1' else 'processes'}"
    )
    if best.user_bytes is None or best.kernel_bytes is None:
        return f"{same}."
    memory = size_words(best.user_bytes + best.kernel_bytes)
    if len(first) == 1:
        return f"{same}, with {memory} of memory."
    return f"{same}. Of these, {best.name} needs the least memory: {memory}."


def able_table(rows: Sequence[Row]) -> Table:
    """The backends that carry the load, in their groups."""
    texts = [cells(row) for row in rows]
    made: list[list[str | Cell]] = [
        [
            text[0],
            f"Group {row.group}",
            Cell(text[2], text[2].partition(" ")[0]),
            text[3],
            text[4].partition(" [")[0],
            *text[5:],
        ]
        for row, text in zip(rows, texts, strict=True)
    ]
    notes = (
        "nothing tells the backends of a group apart in processor time; within it, the least "
        "memory comes first",
    )
    return Table(CAPTION, columns("memory, user"), made, notes=notes, grouped=True)


def beyond(rows: Sequence[Row]) -> list[str]:
    """What was not measured, each thing once with the backends that it is said of."""
    said: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for note in row.notes:
            said[note].append(row.name)
    found = []
    for note, names in said.items():
        most = len(names) - MOST_NAMES
        shown = names if most <= 1 else [*names[:MOST_NAMES], f"{most} more"]
        found.append(f"{BEYOND_WORDS}, {listing(shown)}: {note}.")
    return found


def doubt(validation: Validation) -> str:
    """How good the predictions of the campaign are, in a sentence."""
    said = []
    for kind, what in KINDS.items():
        kept, error = validation.kept(kind), validation.median_error(kind)
        if error is None:
            continue
        worst = max(abs(check.error) for check in kept)
        said.append(
            f"{what} {100 * error:.1f} % in the median, {100 * worst:.0f} % at worst "
            f"({plural(len(kept), 'point')})"
        )
    if not said:
        return "This campaign has no measurements that the predictions could be checked against."
    out = validation.left_out()
    left = (
        f" Left out, because the prediction is more than {100 * WORST:.0f} % off: "
        f"{listing([f'{c.label} at {c.point}' for c in out])}."
        if out
        else ""
    )
    return (
        f"Checked against measurements that the model was not made from: {'; '.join(said)}.{left}"
    )


# --- JSON --------------------------------------------------------------------------------


def as_json(advice: Advice, validation: Validation) -> dict[str, Any]:
    """The advice with its numbers, not rounded, and how far predictions were off."""
    return {
        **asdict(advice),
        "validation": {
            kind: {
                "median_error": validation.median_error(kind),
                "kept": len(validation.kept(kind)),
                "left_out": [[c.label, c.point, c.error] for c in validation.left_out(kind)],
            }
            for kind in KINDS
        },
    }
