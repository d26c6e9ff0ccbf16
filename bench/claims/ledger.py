"""The ledger: a Markdown page, a chart, a table on the terminal, a section of a campaign's report.

The chart is then and now: the measured number divided by the number given, a row per number.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from pathlib import Path
from typing import Final

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from rich.console import Console

from bench import filesystem
from bench.analysis.analysis import Analysis
from bench.claims import measure
from bench.claims.verdict import (
    PHRASES,
    TOPICS,
    Claim,
    Evidence,
    Judged,
    Missing,
    Number,
    Position,
    Range,
    Verdict,
    bounds_words,
    judge,
    of_campaign,
)
from bench.launch import RESULTS, shown
from bench.palette import readable
from bench.report import charts, markup
from bench.report import files as report_files
from bench.report.charts import Design, Skip
from bench.report.charts.slide import Slide
from bench.report.page import Extension, Extra, Section
from bench.report.tables import show
from bench.show.table import MISSING, Cell, Column, Row, Table, Tone, name, words
from bench.show.words import commit_words, footer, machine_words
from bench.text import significant

PAGE: Final = "claims.md"
USUAL: Final = ("reference", "claims", "interpreters")
"""The default campaigns; those after the first have the trials that only some claims need."""

CHART: Final = "then-and-now"
TITLE: Final = "Well-known numbers, then and now"
TONES: Final[dict[Position, Tone]] = {
    "inside": "good",
    "outside": "bad",
    "undecided": "plain",
    "missing": "muted",
}


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
    return f"not tried: {found.reason}" if found.untried else found.reason


def anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def interpreters(verdicts: Sequence[Verdict]) -> str:
    """On which interpreters the numbers were measured, most first: not all are of the campaign."""
    found = (judged.now for verdict in verdicts for judged in verdict.judged)
    counts = Counter(each.python for each in found if isinstance(each, Number))
    each = [f"{python} ({number})" for python, number in counts.most_common()]
    return f"Numbers by interpreter: {', '.join(each) or 'none'}."


# --- the page, the terminal, and a section of a report -----------------------------------------


def markdown(
    verdicts: Sequence[Verdict], evidence: Sequence[Evidence], command: str, picture: str | None
) -> str:
    return rendered(
        PAGE,
        verdicts=verdicts,
        command=command,
        picture=picture,
        interpreters=interpreters(verdicts),
        heads=[(one.analysis.campaign, measure.runs(one.measured)[-1:]) for one in evidence],
        topics=TOPICS,
    )


def rendered(template: str, **names: object) -> str:
    templates = markup.templates(__name__)
    own = (all_stated, anchor, basis, bounds_words, commit_words, machine_words, now, stated)
    templates.filters.update({function.__name__: function for function in own})
    return templates.get_template(template).render(names)


def table(verdicts: Sequence[Verdict]) -> Table:
    rows: list[Row] = [
        [
            judged.reading.meant,
            verdict.claim.title,
            stated(judged),
            now(judged),
            Cell(*2 * (PHRASES.get(judged.position, "not tested"),), TONES[judged.position]),
        ]
        for verdict in verdicts
        for judged in verdict.judged
    ]
    columns = [name("if"), name("claim"), Column("then", drop=1), words("now"), words("here")]
    caption = f"Claims, then and now. {interpreters(verdicts)}"
    return Table(caption, columns, rows, grouped=True)


def usual() -> list[Path]:
    """The campaigns of :data:`USUAL` that exist; always includes the first."""
    first, *rest = (RESULTS / name for name in USUAL)
    return [first, *(path for path in rest if path.is_dir())]


def write(folders: Sequence[Path], page: Path, console: Console) -> None:
    """Judge every claim by these campaigns; write the page and the chart, print the table.

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
    if not console.is_terminal:
        console.width = max(report_files.PLAIN_WIDTH, console.width)
    show(table(verdicts), console)
    console.print(f"page: {page}", soft_wrap=True)


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
    command = " ".join(["python -m bench claims", *words, *out])
    return markdown(verdicts, evidence, command, picture)


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The verdicts of one campaign and of the experiments kept in its folder, if there are any."""
    verdicts = of_campaign(analysis, folder)
    if not verdicts:
        return Extra()
    body = rendered("section.html", claims=verdicts, interpreters=interpreters(verdicts))
    section = Section(
        anchor="claims",
        link="Then and now",
        title="Well-known claims, then and now",
        body=Markup(body),  # nosec B704: the template escapes all text
    )
    return Extra([section], [design(verdicts)])


CLAIMS = Extension({measure.FILE_NAME: "raw records of the experiments for the claims"}, extra)


# --- the chart -----------------------------------------------------------------------------

COLOURS: Final[dict[str, dict[Position, str]]] = {
    "light": {"inside": "#009e73", "outside": "#d55e00", "undecided": "#5b636e"},
    "dark": {"inside": "#2ed3a0", "outside": "#ff8a3d", "undecided": "#a3abb5"},
}
MARKERS: Final[dict[Position, str]] = {"inside": "o", "outside": "X", "undecided": "D"}
TICKS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """A reading with a number then, above 0, and a number now, which is drawn as a multiple."""

    claim: Claim
    judged: Judged
    then: Range
    now: Number

    def multiple(self, value: float) -> float:
        """Of the number that was given; of the geometric mean of a range."""
        return value / sqrt(self.then[0] * self.then[1])

    @property
    def text(self) -> str:
        """``50 → 21.1 KiB``."""
        then = "–".join(f"{value:g}" for value in dict.fromkeys(self.then))
        return f"{then} → {significant(self.now.value, 3)} {self.judged.reading.unit}"

    @property
    def label(self) -> str:
        """The claim's title and, if it has several readings, what is meant on a second line."""
        if len(self.claim.reading) == 1:
            return self.claim.title
        return f"{self.claim.title}\n{self.judged.reading.meant}"


def rows_of(verdicts: Sequence[Verdict]) -> list[Bar]:
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
                rows.append(Bar(verdict.claim, judged, then, now))
    return rows


def design(verdicts: Sequence[Verdict]) -> Design | Skip:
    """Now divided by then on a logarithmic axis, with the interval and the claim's bounds."""
    rows = rows_of(verdicts)
    if not rows:
        return Skip(CHART, TITLE, "no claim has a number then and a number now")
    each = [
        f"“{row.claim.sentence}” ({row.judged.reading.meant}): {row.text}, "
        f"{PHRASES[row.judged.position]}."
        for row in rows
    ]
    return Design(
        name=CHART,
        title=TITLE,
        finding=tally(rows) if len(rows) > 1 else None,
        subtitle="Bars: 95 % interval; grey: where the claim counts as true; "
        "dashed: the number given (the middle of a range)",
        alt=f"Dot chart of claims, now over then. {' '.join(each)}",
        draw=partial(_draw, rows),
        notes=(
            "Round: reproduced here. Cross: not reproduced here. "
            "Diamond: undecided, because the interval overlaps a bound. Where an author's "
            f"experiment was run, other readings are on the page only. {interpreters(verdicts)}",
        ),
    )


def tally(rows: Sequence[Bar]) -> str:
    counts = Counter(row.judged.position for row in rows)
    found = [
        f"{counts[position]} {words}" for position, words in PHRASES.items() if counts[position]
    ]
    return f"{len(rows)} well-known numbers: {', '.join(found)}"


def _draw(bars: Sequence[Bar], slide: Slide) -> None:
    palette = slide.palette
    size = slide.label_size(round(1.3 * len(bars)), 17.0)
    axes = slide.panels(right=slide.label_room([bar.text for bar in bars], size))[0]
    ends = [bar.multiple(end) for bar in bars for end in (bar.now.low, bar.now.high)]
    low, high = min(*ends, 0.45) / 1.15, max(*ends, 2.2) * 1.15
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.axvline(1.0, color=palette.muted, linewidth=1.4, linestyle=(0, (3, 3)))
    for place, bar in enumerate(bars):
        position = bar.judged.position
        colour = COLOURS[slide.look.theme][position]
        holds = [bar.multiple(bound) for bound in bar.judged.reading.holds]
        left, right = max(holds[0], low), min(holds[1], high)
        axes.barh(place, right - left, left=left, height=0.62, color=palette.band, zorder=1)
        interval = [bar.multiple(bar.now.low), bar.multiple(bar.now.high)]
        axes.plot(interval, [place] * 2, color=colour, linewidth=4, solid_capstyle="butt", zorder=3)
        axes.plot(
            [bar.multiple(bar.now.value)],
            [place],
            marker=MARKERS[position],
            markersize=13,
            color=colour,
            linestyle="none",
            zorder=4,
        )
        axes.annotate(
            bar.text,
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(12, 0),
            textcoords="offset points",
            va="center",
            fontsize=size,
            fontweight="bold",
            color=readable(colour, palette.background),
            annotation_clip=False,
        ).set_in_layout(False)
    _labels(slide, axes, bars)
    axes.xaxis.set_major_locator(FixedLocator([t for t in TICKS if low <= t <= high]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"×{v:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("now, as a multiple of the number given")


def _labels(slide: Slide, axes: Axes, bars: Sequence[Bar]) -> None:
    size = slide.label_size(2 * len(bars), 15.0)
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.tick_params(axis="y", labelsize=size, labelcolor=slide.palette.ink)
    axes.set_ylim(len(bars) - 0.5, -0.5)
