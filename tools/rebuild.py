"""Rebuild everything in this repository that is made from records, and say what has changed.

``python -m tools.rebuild`` draws the charts, reports and summaries under ``results/`` and fills
the generated parts of README.md and docs/. It measures nothing. Run it after a change to the
analysis, a table, a chart or the wording of a finding, and commit what it lists. Name parts to
rebuild only these: a folder under ``results/``, ``documents``, ``headlines`` (the numbers of all
published campaigns, which the package carries).

  python -m tools.rebuild                  everything: two minutes
  python -m tools.rebuild documents        only README.md and docs/
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from bench import filesystem, schema, store, text
from bench.__main__ import main as bench
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, USER_PER_CONNECTION
from bench.claims import ledger, verdict
from bench.claims.verdict import Evidence
from bench.costs import report as costs_report
from bench.fleet import study as fleet_study
from bench.launch import RESULTS, ROOT
from bench.plan.participants import PINNED, Label
from bench.questions import SERVE, analysis_in, answers, equal
from bench.questions.interpreters import SHRUNK
from bench.report import campaigns, charts, cite, files, findings, markup, page
from bench.report.charts.look import Look, style
from bench.report.tables import grid
from bench.show.table import MISSING
from bench.show.words import machine_words
from bench.study import Report
from bench.tasks import study as tasks
from crawlers.catalogue import OURS
from crawlers.chapter import CRAWLS
from server.models.catalogue import MODELS, SERVERS
from tools import parser, quotes, sidebyside, start, table, with_block

COMMANDS: Final = (
    "study claims --out docs/notebook/claims.md",
    "talk results/reference --fleet results/fleet --page docs/notebook/talk.md",
)
"""Of ``python -m bench``: these write documents, and generated parts of others."""


@cache
def analysed(name: str) -> Analysis:
    """A campaign under ``results/``; one whose code is in no commit is refused."""
    analysis = analysis_in(store.trials_file(RESULTS / name))
    if fault := files.unpublishable(analysis.campaign):
        raise store.StoreError(f"{name}: {fault}")
    return analysis


def headline_campaigns() -> list[Analysis]:
    """The campaigns of the headlines on the machine that has most of them, oldest first."""
    most, *_ = campaigns.published().groups
    return [analysed(f"{campaigns.FOLDER.name}/{member.campaign}") for member in most.campaigns]


STUDIES: Final[Mapping[str, Callable[[Path], Report]]] = {
    "fleet": lambda folder: fleet_study.report(fleet_study.STUDY.last(folder)),
    "fleet-tls": lambda folder: fleet_study.report(fleet_study.STUDY.last(folder)),
    "tasks": lambda folder: tasks.report(tasks.STUDY.last(folder)),
    "costs": lambda folder: costs_report.report(costs_report.STUDY.last(folder)),
}


FOLDERS: Final = ("reference", "interpreters", *STUDIES)
"""Of ``results/``."""


def write(name: str, out: Path) -> None:
    """Write the report, summary and charts of a folder under ``results/``, to any folder."""
    if name in STUDIES:
        STUDIES[name](RESULTS / name).write(out, Console(quiet=True))
    else:
        page.build(analysed(name), out, store.trials_file(RESULTS / name), ledger.sections)


def costs_table() -> str:
    """The chart of docs/costs.md, and the first of its tables; the summary has all."""
    run = costs_report.STUDY.last(RESULTS / "costs")
    return costs_report.excerpt(run, "../results/costs/charts/costs.svg", tables=1)


def fleet_tables(name: str, first: int = 0) -> str:
    """The tables of a fleet from the ``first`` on; its summary has all."""
    report = STUDIES[name](RESULTS / name)
    lost = "\n".join(f"- {note}" for note in report.notes)
    tables = replace(report, tables=report.tables[first:]).excerpt()
    return "\n\n".join(filter(None, [report.about, tables, lost]))


@cache
def evidence() -> list[Evidence]:
    return [Evidence.load(folder) for folder in ledger.usual()]


def chapter() -> str:
    """The table of docs/chapter.md: what it says, and what was measured."""
    python = analysed("reference").campaign.environment.python
    steps = ledger.by_step(evidence())
    return ledger.rendered("chapter.md", steps=steps, python=python, elsewhere=ledger.elsewhere)


def without_the_lock() -> str:
    """The table of docs/reference/interpreters.md: the models with the lock, and without it."""
    analysis = analysed("without-the-lock")
    # Threads on one processor, and all others.
    pinned, crawls = map(analysis.at_point, ("handovers-crawled", "processors-shared"))
    rows = []
    for label in analysis.campaign.backends:
        parsed = Label.parse(label)
        trials = (pinned if parsed.name == PINNED else crawls)[label]
        used = [trial.switches for trial in trials if trial.switches]
        pages = sum(trial.pages or 0 for trial in trials)
        total = analysis.memory[label].total
        cells = [
            text.count(middle(trial.pages_per_s for trial in trials)),
            text.significant(middle(map(CPU_PER_1000.value, trials)), 3),
            f"{sum(seen.voluntary for seen in used) / pages:.2f}",
            f"{sum(seen.involuntary for seen in used) / pages:.2f}",
            MISSING if total is None else text.significant(total / text.KIB, 3),
        ]
        rows.append([f"`{parsed.name}`", parsed.interpreter, *cells])
    heads = [
        "model",
        "CPython",
        "pages/s",
        "µs a page",
        "waits a page",
        "yields a page",
        "KiB idle",
    ]
    machine = analysis.campaign.environment
    about = (
        f"Campaign `{analysis.campaign.campaign}`, {machine.cpu_model}, {machine.cpu_count} "
        f"processors; waits and yields are over all pages. A dash: {SHRUNK}. "
        f"{held_without_the_lock()}"
    )
    return "\n".join([*table(heads, rows, right=5), "", about])


def held_without_the_lock() -> str:
    """User memory of so many connections that what a process gives back hardly counts."""
    analysis = analysed("without-the-lock/held")
    most = max(fit.connections[-1] for fit in analysis.memory.values())
    sizes_of: dict[str, list[str]] = {}
    for label, trials in analysis.at_point(f"c10k-{most}").items():
        parsed = Label.parse(label)
        size = text.significant(middle(map(USER_PER_CONNECTION.value, trials)) / text.KIB, 3)
        sizes_of.setdefault(f"`{parsed.name}`", []).append(f"{size} KiB on {parsed.interpreter}")
    in_words = text.listing([f"{name} {text.listing(sizes)}" for name, sizes in sizes_of.items()])
    return (
        f"With {text.count(most)} connections a connection uses this much user memory: {in_words} "
        f"(campaign `{analysis.campaign.campaign}`)."
    )


def middle(values: Iterable[float | None], how: stats.Average = "geometric mean") -> float:
    """The average of numbers that were all measured."""
    measured = list(values)
    value = stats.middle(measured, how)
    assert value is not None
    assert None not in measured
    return value


def steps() -> str:
    """The table of docs/story.md: what each step of the chapter needs, over the last repeats."""
    run = verdict.latest(evidence()[0].measured, "steps")
    assert run is not None, "results/reference has it"
    samples = [sample.values for sample in run.by_program()["steps"].values()]
    columns = {
        "pages/s": ("pages_per_s", 0),
        "ms of a processor, a page": ("ms", 2),
        "KiB for one more connection": ("kib", 1),
        "connections at once": ("at_once", 0),
    }
    rows = [[f"{number} {step}"] for number, step in enumerate(CRAWLS, 1)]
    for row, step in zip(rows, CRAWLS, strict=True):
        for name, digits in columns.values():
            value = stats.middle((values.get(f"{step}_{name}") for values in samples), "median")
            row.append(MISSING if value is None else f"{value:,.{digits}f}")
    runs = text.plural(len(samples), "run")
    about = f"Medians of {runs}, {run.head.stamp}; 212 pages, user memory."
    return "\n".join([*table(["step", *columns], rows, right=4), "", about])


def libraries() -> str:
    """The list of docs/notebook/libraries.md, whose links are relative to docs/ in its source."""
    known = tomllib.loads(filesystem.read_text(ROOT / "tools" / "libraries.toml"))
    made = markup.templates("tools").get_template("libraries.md").render(known)
    return re.sub(r"\]\((?!https:)", "](../", made)


def held_equal() -> str:
    """The table of the notebook: what the harness holds equal, each of it flipped once."""
    analysis = analysed("equal")
    answer = equal.answer(analysis)
    assert answer is not None, "this is what results/equal is for"
    (shown,) = answer.tables
    python = analysis.campaign.environment.python
    made = f"Campaign `{analysis.campaign.campaign}`, {python}, {answer.finding}"
    return "\n".join([*grid(shown), "", textwrap.fill(f"{shown.about} {made}", 100)])


def listed(analysis: Analysis) -> str:
    """The findings of a campaign, which it says below."""
    return findings.listed(findings.named(analysis).values(), findings.source(analysis))


def gallery(name: str) -> str:
    """The pictures of a campaign, for a document of docs/."""
    drawn = Path(name, files.CHARTS)
    return quotes.gallery(analysed(name), f"../results/{drawn.as_posix()}", RESULTS / drawn)


def served_tables() -> str:
    """The findings and tables of docs/reference/servers.md."""
    analysis = analysed("reference")
    parts = []
    for question, answer in answers(analysis):
        if question.NAME in SERVE:
            parts += [f"### {question.ASKS}\n"]
            quotation = cite.quoted(answer.finding) if answer.finding else ""
            parts += [f"{textwrap.fill(quotation, 100)}\n"] if quotation else []
            for shown in answer.tables:
                parts += [*grid(shown), "", f"{textwrap.fill(shown.about, 100)}\n"]
    where = machine_words(analysis.campaign.environment, analysis.campaign.created)
    parts.append(f"Campaign `{analysis.campaign.campaign}`: {where}.\n")
    run = costs_report.STUDY.last(RESULTS / "costs-serve")
    return "\n".join([*parts, costs_report.excerpt(run)])


def variants_of_servers() -> str:
    """The variants of docs/reference/servers.md; its stacks have a table of their own."""
    rows = [
        (f"`{each.name}`", each.summary, f"`{each.changes.partition(': ')[0][8:]}`")
        for each in SERVERS.values()
        if each.name not in MODELS and each.family != "stack"
    ]
    return "\n".join(table(["variant", "what it is", "changed against"], rows))


def blind() -> str:
    """What cannot be seen or done over TLS, and by which backends."""
    found: dict[str, list[str]] = {}
    for backend in OURS.values():
        for kind in backend.cannot_see:
            found.setdefault(f"does not show `{kind}`", []).append(f"`{backend.name}`")
        if backend.no_https is not None:
            found.setdefault(f"no https: {backend.no_https}", []).append(f"`{backend.name}`")
    rows = [(what, ", ".join(names)) for what, names in sorted(found.items())]
    return "\n".join(table(["what", "backends"], rows))


# --- the schema of the records ---


class Field(NamedTuple):
    """One field of a record."""

    name: str
    type: str
    optional: bool  # records may lack it
    meaning: str


def records() -> Iterator[tuple[str, str, list[Field]]]:
    """Name, docstring and fields of each record, in the order of the source."""
    source = inspect.getsource(schema)
    comments = ["", *(line.partition("  # ")[2] for line in source.splitlines())]
    for node in ast.parse(source).body:
        fields = []
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                kind, optional = ast.unparse(inner.annotation), inner.value is not None
                fields.append(Field(inner.target.id, kind, optional, comments[inner.lineno]))
        if fields and isinstance(node, ast.ClassDef):
            yield node.name, (ast.get_docstring(node) or "").replace("``", "`"), fields


def schema_tables() -> str:
    """A section for each record."""
    parts = []
    for record, about, fields in records():
        named = ((f.name, f.type.replace("|", "\\|"), f.meaning) for f in fields)
        rows = [(f"`{name}`", f"`{kind}`", text.markdown_text(what)) for name, kind, what in named]
        lines = table(["field", "type", "meaning"], rows)
        parts += [f"## {record}\n", f"{about}\n", *lines, ""]
    return "\n".join(parts)


# --- what is rebuilt ---

BLOCKS: Final[dict[tuple[str, str], Callable[[], str]]] = {
    ("chapter", "chapter"): chapter,
    ("costs", "costs"): costs_table,
    ("fleet", "fleet"): partial(fleet_tables, "fleet", 1),
    ("notebook/fleet", "fleet-tls"): partial(fleet_tables, "fleet-tls"),
    ("story", "steps"): steps,
    ("notebook/libraries", "libraries"): libraries,
    ("notebook/method-studies", equal.NAME): held_equal,
    ("reference/servers", "variants"): variants_of_servers,
    ("reference/servers", "servers-tables"): served_tables,
    ("https", "https-blind"): blind,
    ("reading-the-charts", "gallery"): partial(gallery, "reference"),
    ("interpreters", "gallery"): partial(gallery, "interpreters"),
    ("reference/interpreters", "without-the-lock"): without_the_lock,
    ("reference/interpreters", "findings"): lambda: listed(analysed("interpreters")),
    ("notebook/method-studies", "pairs"): lambda: quotes.doubts(analysed("reference")),
    ("../README", "choice"): lambda: quotes.table(quotes.Numbers(headline_campaigns()[-1])),
    ("../README", "cited"): lambda: quotes.cited(headline_campaigns()),
    ("findings", "headlines"): lambda: quotes.headlines(
        headline_campaigns(), analysed("reference")
    ),
    ("which-one", "which-one"): lambda: quotes.which_one(
        analysed("reference"), analysed("without-the-lock")
    ),
}
"""(document of docs/, name of a generated part) -> what makes it of records."""

FROM_SOURCE: Final[dict[tuple[str, str], Callable[[], str]]] = {
    ("reference/records", "fields"): schema_tables,
    ("side-by-side", "sections"): sidebyside.sections_table,
    ("side-by-side", "metrics"): sidebyside.metrics_table,
}
"""The same of programs, whose numbers change with every line that is added."""


def carry() -> None:
    """Write what the published campaigns give together, a line for each value."""

    def rounded(digits: str) -> float:
        return float(f"{float(digits):.6g}")  # more than any table shows

    values = json.loads(campaigns.combine([]).model_dump_json(), parse_float=rounded)
    lines = json.dumps(values, ensure_ascii=False, separators=(",\n", ":"))
    filesystem.write_text(campaigns.PUBLISHED, f"{lines}\n")
    campaigns.published.cache_clear()


def draw_for_a_phone(file: Path) -> None:
    """README's chart where its words would be too small to read: of all backends, in one panel."""
    analysis = analysed("reference")
    figure = charts.story(analysis)[file.stem]
    first = replace(figure, data=charts.in_parts(figure.data)[0], subtitle="", notes=())
    look = Look("narrow", analysis.backends)
    with style(look):
        charts.laid_out(first, look).save(file, "svg")


def documents() -> None:
    """Fill the generated documents and parts of documents, and draw README's chart for a phone."""
    os.chdir(ROOT)
    draw_for_a_phone(ROOT / "docs" / "memory.svg")
    for command in COMMANDS:
        bench(command.split())
    for (doc, name), make in {**BLOCKS, **FROM_SOURCE}.items():
        file = (ROOT / "docs" / f"{doc}.md").resolve()
        filled = with_block(filesystem.read_text(file), name, make().rstrip())
        filesystem.write_text(file, filled)


def main() -> int:
    """Rebuild what is named, or everything, and say what has not been committed."""
    names = ["headlines", *FOLDERS, "documents"]  # the first is what all others quote
    known = parser("rebuild", __doc__)
    words = f"only these: {', '.join(names)} (default: all)"
    known.add_argument("parts", nargs="*", metavar="PART", help=words)
    parts = known.parse_args().parts or names
    if unknown := sorted(set(parts) - set(names)):
        known.error(f"no part {', '.join(unknown)}: choose from {', '.join(names)}")
    makers = {"headlines": carry, "documents": documents}
    for name in parts:
        makers.get(name, partial(write, name, RESULTS / name))()
    places = ("README.md", "docs", "results", campaigns.PUBLISHED)
    subprocess.run(["git", "status", "--short", *places], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    start(main, "rebuild")
