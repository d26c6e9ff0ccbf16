"""The findings of a campaign in a few sentences, and the end of a run, which shows the first.

A finding is a sentence that the records support. All numbers come from the same
analysis as the charts, and only differences that the statistics show are called
differences. The four models come first; variants follow, and whole HTTP stacks,
which do more than a model, stand apart.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL, CPU_PER_1000, floor_words
from bench.launch import shown
from bench.plan.participants import FREE
from bench.questions import answers, asked
from bench.questions.question import paragraph
from bench.report import campaigns, cite, files, summary
from bench.report.tables import fit
from bench.show.table import Table
from bench.show.words import environment_of
from bench.text import minutes, plural
from crawlers.registry import LOOP

LINES: Final = 24
"""Of a screen of 25: where trials failed, a line after these says how many."""

COLUMNS: Final = 100
MOST_ROWS: Final = 8
"""Of the table: a campaign of every backend has fifty, which the summary has."""

MOST_REMARKS: Final = 4

WORDS: Final = {
    "Throughput": ("rate", "page"),
    "Memory": ("memory", "tls-memory"),
    "Latency": ("latency", "open_loop", "mixed"),
}
"""The finding that answers each of the three words, or what comes nearest."""

AGAINST: Final = "against-"
"""Begins the names of findings about uvloop and about loops that ``--loop`` named."""


def named(analysis: Analysis) -> dict[str, str]:
    """The findings that the records support: name -> paragraph of Markdown, in story order.

    Behind a headline stands where the published campaigns have its numbers.
    """
    paragraphs = {}
    for question, answer in answers(analysis):
        for name, (head, prose) in answer.findings(question.NAME).items():
            if head:
                head = campaigns.beside(head, question.NAME, analysis.campaign.environment)
            paragraphs[name] = paragraph(head, prose)
    return paragraphs


def listed(sentences: Iterable[str], source: str) -> str:
    """Sentences as a list of Markdown, and where they come from."""
    return "\n".join([*(f"- {sentence}" for sentence in sentences), "", source])


def source(analysis: Analysis) -> str:
    """The campaign of the findings, its machine and interpreter, and what is compared."""
    campaign, machine = analysis.campaign, analysis.campaign.environment
    trials = stats.trials_of(analysis.records)
    python, counted = f", {machine.python}", {trial.label for trial in trials}
    further = f"; {AT_LEVEL} intervals are in parentheses"
    # A trial that is not pinned has as many as there are.
    one_each = all(len(stats.processors(trial, "client")) == 1 for trial in trials)
    compared = f"Every difference is to `{campaign.base}`"
    if campaign.base not in counted:
        compared = f"No trial of `{campaign.base}`, which ratios are to, counts"
    if campaign.interpreters:
        python, compared = "", "Every difference is to the interpreter before the arrow"
    elif FREE in counted and one_each:
        further += "; threads had one processor, as every client here, and cost more on several"
    return (
        f"Campaign `{campaign.campaign}`, profile {campaign.profile}, on "
        f"{machine.cpu_model or 'an unknown processor'} ({plural(machine.cpu_count, 'processor')})"
        f"{python}. {compared}{further}."
    )


# --- the end of a run on a terminal: what matters of it, on one screen ---


def three(named: Mapping[str, str]) -> list[tuple[str, str]]:
    """Word and quotation of what answers the three words; else of the first three findings."""
    answering = [(word, [name for name in names if name in named]) for word, names in WORDS.items()]
    chosen = [(word, names[0]) for word, names in answering if names]
    chosen = chosen or [(f"{n}", name) for n, name in enumerate([*named][:3], 1)]
    return [(word, cite.quoted(named[name])) for word, name in chosen]


def versus(named: Mapping[str, str]) -> list[str]:
    """uvloop against asyncio in a sentence, and at most one loop of the user's."""
    loops = [name for name in named if name.startswith(AGAINST) and LOOP in name][:1]
    return [
        f"{named[name].partition('. ')[0]}."
        for name in (f"{AGAINST}uvloop", *loops)
        if name in named
    ]


def show(analysis: Analysis, folder: Path, console: Console) -> None:
    """Print it, in at most 100 columns."""
    width = min(COLUMNS, console.width)
    found = named(analysis)
    lines = [Text(line, "bold") for line in wrapped(head(analysis), width)]
    if glance := asked(analysis, "glance"):
        lines += [Text(line) for line in grid(glance.tables[0], width)]
    for text in (*(f"{word}: {text}" for word, text in three(found)), *versus(found)):
        lines += [Text(line) for line in wrapped(text, width)]
    last = [
        f"page:   {shown(folder / files.PAGE)}",
        f"tables: {shown(folder / files.SUMMARY)}",
        f"charts: {shown(folder / files.CHARTS)}",
    ]
    lines += [Text(line, "yellow") for line in remarks(analysis, width, len(lines) + len(last))]
    for line in (*lines, *map(Text, last)):
        console.print(line, soft_wrap=True)


def wrapped(text: str, width: int) -> list[str]:
    """At most two lines of a sentence, without its Markdown."""
    plain = text.replace("**", "").replace("`", "")
    return textwrap.wrap(
        plain,
        width,
        max_lines=2,
        placeholder=" …",
        subsequent_indent="  ",
        break_long_words=False,
    )


def head(analysis: Analysis) -> str:
    """The campaign, and how far its numbers are to be trusted."""
    campaign, end, aa = analysis.campaign, analysis.records.end, analysis.aa
    floors = (analysis.floor(), "pages/s"), (analysis.floor(CPU_PER_1000), "processor time")
    noise = [f"{floor_words(floor.log)} by {what}" for floor, what in floors if floor.log]
    return " · ".join(
        [
            f"campaign {campaign.campaign}",
            environment_of(campaign).python,
            plural(len({trial.block for trial in analysis.records.trials}), "block"),
            *([minutes(end.wall_s)] if end else []),
            *([f"noise floor {', '.join(noise)}"] if noise else ["noise floor unknown"]),
            *([f"{plural(aa.alarms, 'false alarm')} in {aa.tested}"] if aa.tested else []),
        ]
    )


def grid(table: Table, width: int) -> list[str]:
    """Its columns side by side, without a frame; the least wanted are left out if they must be."""
    rows, more = table.rows[:MOST_ROWS], len(table.rows) - MOST_ROWS
    places, _ = fit(table.columns, table.rows, width)
    texts = [[row[place] for place in places] for row in (table.header, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for row in texts:
        spaces = [" " * (room - cell_len(x)) for x, room in zip(row, widths, strict=True)]
        rest = (space + text for text, space in zip(row[1:], spaces[1:], strict=True))
        lines.append("  ".join([row[0] + spaces[0], *rest]))
    return [*lines, *([f"… and {plural(more, 'backend')} more"] if more > 0 else []), *table.notes]


def remarks(analysis: Analysis, width: int, used: int) -> list[str]:
    """What to know before you quote a number: a line each, as many as there is room for."""
    lines = [f"! {text}" for text in summary.warnings(analysis)]
    room = min(max(LINES - used, 1), MOST_REMARKS)
    if len(lines) > room:
        more = len(lines) - room + 1
        lines = [*lines[: room - 1], f"! {plural(more, 'further remark')} in the tables"]
    return [textwrap.shorten(text, width, placeholder=" …") for text in lines]
