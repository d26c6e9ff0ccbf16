"""The ledger: a Markdown page, a chart, lines on the terminal, a section of a campaign's report.

The chart is then and now: the measured number divided by the number given, a row per number.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf, sqrt
from pathlib import Path
from typing import Final

from markupsafe import Markup
from rich.console import Console

from bench import filesystem
from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL, Spread
from bench.claims import measure
from bench.claims.verdict import (
    PHRASES,
    TOPICS,
    Claim,
    Evidence,
    Judged,
    Missing,
    Number,
    Range,
    Verdict,
    bounds_words,
    judge,
    load_all,
    of_campaign,
)
from bench.launch import RESULTS, shown
from bench.report import charts, markup
from bench.report import files as report_files
from bench.report.charts import Design, Skip, designed
from bench.report.page import Extension, Extra, Section
from bench.show.figures import Estimate, Figure, Forest
from bench.show.measured import TIMES
from bench.show.table import MISSING
from bench.show.words import commit_words, footer, machine_words
from bench.text import significant
from crawlers.chapter import STEPS

PAGE: Final = "claims.md"
USUAL: Final = ("reference", "interpreters")
"""The default campaigns; the second has the trials of a claim about free threading."""

CHART: Final = "then-and-now"
TITLE: Final = "Well-known numbers, then and now"


# --- numbers in words ----------------------------------------------------------------------


def figure(value: float) -> str:
    """A number with three digits: 0.85, 21.1, 30,000."""
    if value == inf:
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def stated(judged: Judged) -> str:
    if judged.reading.then is None:
        return MISSING
    return f"{'–'.join(map(figure, dict.fromkeys(judged.reading.then)))} {judged.reading.unit}"


def all_stated(verdict: Verdict) -> str:
    """The numbers that were given for all readings, each once."""
    every = dict.fromkeys(map(stated, verdict.judged))
    return ", ".join(each for each in every if each != MISSING) or MISSING


def now(judged: Judged) -> str:
    found = judged.now
    if isinstance(found, Missing):
        return MISSING
    text = f"{figure(found.value)} {judged.reading.unit}"
    if found.low == found.high:
        return text
    return f"{text} [{figure(found.low)}, {figure(found.high)}]"


def basis(found: Number | Missing) -> str:
    if isinstance(found, Number):
        return "; ".join(filter(None, (found.basis, found.python, found.note)))
    return found.reason


def anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def interpreters(verdicts: Sequence[Verdict]) -> str:
    """On which interpreters the numbers were measured, most first: not all are of the campaign."""
    found = (judged.now for verdict in verdicts for judged in verdict.judged)
    counts = Counter(each.python for each in found if isinstance(each, Number))
    each = [f"{python} ({number})" for python, number in counts.most_common()]
    return f"Numbers by interpreter: {', '.join(each) or 'none'}."


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
    if not (isinstance(one.now, Number) and isinstance(other.now, Number)):
        return ""
    if one.now.low <= other.now.high and other.now.low <= one.now.high:
        return ""
    return f"{now(other)} ({basis(other.now)})"


# --- the page, the terminal, and a section of a report -----------------------------------------


def rendered(template: str, **names: object) -> str:
    templates = markup.templates(__name__)
    own = (all_stated, anchor, basis, bounds_words, commit_words, machine_words, now, stated)
    templates.filters.update({function.__name__: function for function in own})
    return templates.get_template(template).render(names)


def usual() -> list[Path]:
    """The campaigns of :data:`USUAL` that exist; always includes the first."""
    first, *rest = (RESULTS / name for name in USUAL)
    return [first, *(path for path in rest if path.is_dir())]


def write(folders: Sequence[Path], page: Path, console: Console) -> None:
    """Judge every claim by these campaigns; write the page and the chart, and print the verdicts.

    The chart goes to the first campaign's charts. Raises :class:`bench.store.StoreError` if
    records cannot be read or files not written.
    """
    evidence = [Evidence.load(folder) for folder in folders]
    verdicts = judge(evidence)
    if isinstance(drawing := design(verdicts), Design):
        outdir = folders[0] / report_files.CHARTS
        filesystem.make_folder(outdir)
        analysis = evidence[0].analysis
        charts.Sheet(outdir, analysis.backends, footer(analysis)).draw(drawing)
    filesystem.write_text(page, text(folders, page, evidence, verdicts))
    for verdict in verdicts:
        console.print(verdict.claim.title, markup=False)
        for one in verdict.judged:
            said = f"  {one.phrase}: {now(one)} if {one.reading.meant}"
            console.print(said, soft_wrap=True, markup=False)
    console.print(f"{interpreters(verdicts)}\npage: {page}", soft_wrap=True)


def text(
    folders: Sequence[Path], page: Path, evidence: Sequence[Evidence], verdicts: Sequence[Verdict]
) -> str:
    """The page, with the chart's address and the command that rebuilds it from the root."""
    picture = None
    if rows_of(verdicts):
        file = folders[0] / report_files.CHARTS / f"{CHART}.svg"
        picture = Path(os.path.relpath(file, page.parent)).as_posix()
    campaigns = [f"results/{folder.name}" for folder in folders]
    words = [] if list(folders) == usual() else campaigns
    out = [] if page.parent in folders else ["--out", str(shown(page))]
    command = " ".join(["python -m bench study claims", *words, *out])
    return rendered(
        PAGE,
        verdicts=verdicts,
        command=command,
        picture=picture,
        interpreters=interpreters(verdicts),
        heads=[(one.analysis.campaign, one.measured[-1:]) for one in evidence],
        topics=TOPICS,
    )


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The verdicts of one campaign and of the experiments kept in its folder, if there are any."""
    verdicts = of_campaign(analysis, folder)
    if not verdicts:
        return Extra()
    body = rendered("section.html", claims=verdicts, interpreters=interpreters(verdicts))
    section = Section(
        anchor="claims",
        title="Well-known claims, then and now",
        body=Markup(body),  # nosec B704: the template escapes all text
    )
    # A quick run is ten charts for a talk; the table is on its page all the same.
    return Extra([section], [design(verdicts)] if analysis.campaign.profile != "quick" else [])


CLAIMS = Extension(
    {measure.STUDY.file(Path()).name: "raw records of the experiments for the claims"}, extra
)


# --- the chart -----------------------------------------------------------------------------

Compared = tuple[Claim, Judged, Range, Number]
"""A reading with a number then, above 0, and a number now."""


def rows_of(verdicts: Sequence[Verdict]) -> list[Compared]:
    """The rows that can be drawn, in the order of the page.

    Where the author's experiment gave a number, a claim has no other row.
    """
    rows = []
    for verdict in verdicts:
        known = [j for j in verdict.judged if isinstance(j.now, Number)]
        authors = [j for j in known if j.reading.whose == "author"]
        for judged in authors or known:
            then, now = judged.reading.then, judged.now
            if then and then[0] > 0 and isinstance(now, Number) and now.low > 0:
                rows.append((verdict.claim, judged, then, now))
    return rows


def design(verdicts: Sequence[Verdict]) -> Design | Skip:
    """Now divided by then, with the interval, and the verdict in words."""
    rows = rows_of(verdicts)
    if not rows:
        return Skip(CHART, TITLE, "no claim has a number then and a number now")
    estimates: dict[str, list[Estimate]] = {}
    told: list[str] = []
    for claim, judged, then, now in rows:
        numbers = "–".join(f"{value:g}" for value in dict.fromkeys(then))
        unit = judged.reading.unit.removesuffix(" the processor time")  # its claim says so
        numbers = f"{numbers} → {significant(now.value, 3)} {unit}"
        meant = judged.reading.meant.removeprefix("you measure ").removeprefix("it is ")
        place = f"{claim.title}: {meant}" if len(claim.reading) > 1 else claim.title
        of = sqrt(then[0] * then[1])
        spread = Spread(now.value / of, now.low / of, now.high / of, 2)
        verdict = PHRASES[judged.position].removesuffix(" here")
        estimates[place] = [Estimate(spread, words=f"{numbers}: {verdict}")]
        told.append(f"“{claim.sentence}” {numbers}, {judged.words}.")
    figure = Figure(
        name=CHART,
        title=TITLE,
        headline=tally(rows) if len(rows) > 1 else None,
        subtitle="The number now, as a multiple of the number given (the middle of a range, the "
        f"line), with its {AT_LEVEL} interval",
        data=Forest({"now ÷ then": TIMES}, {}, estimates, at=1.0),
        notes=(
            "Where an author's experiment was run, other readings are on the page only. "
            f"{interpreters(verdicts)}",
        ),
        told=f"Dot chart of claims, now over then. {' '.join(told)}",
    )
    return designed(figure)


def tally(rows: Sequence[Compared]) -> str:
    counts = Counter(judged.position for _, judged, _, _ in rows)
    found = [
        f"{counts[position]} {words}" for position, words in PHRASES.items() if counts[position]
    ]
    return f"{len(rows)} well-known numbers: {', '.join(found)}"
