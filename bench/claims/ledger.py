"""The ledger: a Markdown page, lines on the terminal, a section of a campaign's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from markupsafe import Markup
from rich.console import Console

from bench import filesystem
from bench.analysis.analysis import Analysis
from bench.claims.verdict import (
    STUDY,
    TOPICS,
    ClaimNumber,
    Evidence,
    Judged,
    Missing,
    Verdict,
    bounds_words,
    counted,
    judge,
    latest,
    load_all,
    of_campaign,
)
from bench.launch import RESULTS, shown
from bench.report import markup
from bench.report.page import Section
from bench.show.cells import figure
from bench.show.table import MISSING
from bench.show.words import commit_words, machine_words
from bench.study import RunRecord
from bench.text import apart
from crawlers.chapter import STEPS

PAGE: Final = "claims.md"
USUAL: Final = ("reference", "without-the-lock")
"""The default campaigns; the second has the trials of a claim about free threading."""


# --- numbers in words ----------------------------------------------------------------------


def given(judged: Judged) -> str:
    """The number that was given for a reading, or both ends of a range, without its unit."""
    return "–".join(map(figure, dict.fromkeys(judged.reading.then or ())))


def stated(judged: Judged) -> str:
    if judged.reading.then is None:
        return MISSING
    return counted(given(judged), judged.reading.unit)


def all_stated(verdict: Verdict) -> str:
    """The numbers that were given for all readings, each once."""
    numbers = dict.fromkeys(map(stated, verdict.judged))
    return ", ".join(number for number in numbers if number != MISSING) or MISSING


def now(judged: Judged) -> str:
    number = judged.now
    if isinstance(number, Missing):
        return MISSING
    if number.low == number.high:
        return counted(figure(number.value), judged.reading.unit)
    ends = number.low, number.high
    value, low, high = apart(figure, number.value, *ends)
    text = counted(value, judged.reading.unit)
    return text if low == high else f"{text} [{low}, {high}]"


def basis(number: ClaimNumber | Missing) -> str:
    if isinstance(number, ClaimNumber):
        return "; ".join(filter(None, (number.basis, number.python, number.note)))
    return number.reason


def anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def interpreters(verdicts: Sequence[Verdict]) -> str:
    """On which interpreters the numbers were measured, most first: not all are of the campaign."""
    numbers = (judged.now for verdict in verdicts for judged in verdict.judged)
    counts = Counter(number.python for number in numbers if isinstance(number, ClaimNumber))
    words = [f"{python} ({count})" for python, count in counts.most_common()]
    return f"Numbers by interpreter: {', '.join(words) or 'none'}."


def sources(found: Evidence) -> list[tuple[RunRecord, list[str]]]:
    """The runs beside a campaign that have numbers of claims, and the programs that have them."""
    readings = [reading for claim in load_all() for reading in claim.reading]
    asked = {reading.experiment for reading in readings if reading.kind == "experiment"}
    runs = [
        (run.head, sorted(name for name in asked if latest(found.measured, name) is run))
        for run in found.measured
    ]
    if found.tasks:
        named = {name for r in readings if r.kind == "task" for name in (r.task, r.base) if name}
        runs.append((found.tasks.head, sorted(named)))
    return [(head, programs) for head, programs in runs if programs]


def by_step(evidence: Sequence[Evidence]) -> list[tuple[int, Verdict, Verdict]]:
    """What the chapter and the texts around it say, by its steps, which count from 1.

    Each claim with its numbers, and with those of experiments on another interpreter.
    """
    first = evidence[0]
    python = first.analysis.campaign.environment.python
    others = [run for run in first.measured if run.head.environment.python != python]
    places = {step: number for number, step in enumerate(STEPS, 1)}
    claims = sorted((c for c in load_all() if c.step), key=lambda claim: places[claim.step])
    both = zip(
        judge(evidence, claims), judge([replace(first, measured=others)], claims), strict=True
    )
    return [(places[one.claim.step], one, other) for one, other in both]


def elsewhere(one: Judged, other: Judged) -> str:
    """The number on another interpreter, and its caveat, if it is another number."""
    if not (isinstance(one.now, ClaimNumber) and isinstance(other.now, ClaimNumber)):
        return ""
    if one.now.low <= other.now.high and other.now.low <= one.now.high:
        return ""
    return f"{now(other)} ({basis(other.now)})"


# --- the page, the terminal, and a section of a report -----------------------------------------


def rendered(template: str, **names: object) -> str:
    own = (all_stated, anchor, basis, bounds_words, commit_words, given, machine_words, now, stated)
    line = partial(markup.read_line, markup.reader())
    templates = markup.templates(__name__, line=line, **{f.__name__: f for f in own})
    if template.endswith(".html"):
        templates.finalize = markup.on_one_line
    return templates.get_template(template).render(names)


def usual() -> list[Path]:
    """The campaigns of :data:`USUAL` that exist; always includes the first."""
    first, *rest = (RESULTS / name for name in USUAL)
    return [first, *(path for path in rest if path.is_dir())]


def write(folders: Sequence[Path], page: Path, console: Console) -> None:
    """Judge every claim by these campaigns; write the page, and print the verdicts.

    Raises :class:`bench.store.StoreError` if records cannot be read or the page not written.
    """
    evidence = [Evidence.load(folder) for folder in folders]
    verdicts = judge(evidence)
    filesystem.write_text(page, text(folders, page, evidence, verdicts))
    for verdict in verdicts:
        console.print(verdict.claim.title, markup=False)
        for judged in verdict.judged:
            words = f"  {judged.phrase}: {now(judged)} if {judged.reading.meant}"
            console.print(words, soft_wrap=True, markup=False)
    console.print(f"{interpreters(verdicts)}\npage: {page}", soft_wrap=True)


def text(
    folders: Sequence[Path], page: Path, evidence: Sequence[Evidence], verdicts: Sequence[Verdict]
) -> str:
    """The page, with the command that rebuilds it from the root."""
    campaigns = [f"results/{folder.name}" for folder in folders]
    words = [] if list(folders) == usual() else campaigns
    out = [] if page.parent in folders else ["--out", str(shown(page))]
    command = " ".join(["python -m bench study claims", *words, *out])
    return rendered(
        PAGE,
        verdicts=verdicts,
        command=command,
        interpreters=interpreters(verdicts),
        heads=[(one.analysis.campaign, sources(one)) for one in evidence],
        topics=TOPICS,
    )


def sections(analysis: Analysis, folder: Path) -> Sequence[Section]:
    """The verdicts of one campaign and of the experiments kept in its folder, if there are any."""
    verdicts = of_campaign(analysis, folder)
    if not verdicts:
        return []
    body = rendered("section.html", claims=verdicts, interpreters=interpreters(verdicts))
    section = Section(
        anchor="claims",
        title="Well-known claims, then and now",
        body=Markup(body),  # nosec B704  # the template escapes all text
        records={STUDY.file(Path()).name: "raw records of the experiments for the claims"},
    )
    return [section]
