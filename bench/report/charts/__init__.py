"""Charts: what each says and how it is drawn, and the files that it is drawn to.

Figures are drawn by their kind (:mod:`bench.report.charts.kinds`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench import filesystem
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions import answers
from bench.questions.question import RANGES
from bench.report.charts import kinds
from bench.report.charts.look import Format, Look, Shape, style
from bench.report.charts.slide import Slide
from bench.show.figures import Bars, Figure, FigureData
from bench.show.pictures import alone, alt, contradiction, labels_of, ranged, says_something, ticked
from bench.show.words import BY_SERVER, footer, not_drawn

ALONE: Final = "Pale, or hollow with a thin edge: a single trial."
TICKED: Final = "Thin ticks: what each {} found."
WITHOUT_TIMES: Final = frozenset(
    {"memory", "c10k", "tls-memory", "hold", "both-ends", "slow_readers", "mixed"}
) | {"accept", "serve", "mixed_server"}
"""Charts that need no word about a crawler's processors: their quantity, words of their own, or
they are of servers."""
OF_MAIN: Final = {
    "c10k": "c10k",
    "cpu": "throughput waiting",
    "memory": "c10k",
    "open_loop": "openloop",
    "spectrum": "openloop",
    "tls-memory": "tls-c10k",
    "tls_pages": "tls-fetch tls-handshake",
}
"""Charts of the main backends alone, and their workloads; others have the name of theirs."""
OTHER_LABELS: Final = frozenset({"crossover", "handovers"})
"""Charts whose labels are not the names of backends."""


def laid_out(figure: Figure, look: Look, footer: Sequence[str] = ()) -> Slide:
    """The finished slide, ready to be saved.

    Must run inside :func:`~bench.report.charts.look.style`.
    """
    slide = Slide(look, figure.heading, figure.subtitle, figure.notes, figure.footer or footer)
    kinds.draw(figure.data, slide)
    slide.settle()
    return slide


@dataclass(frozen=True)
class Chart:
    """A chart that was drawn."""

    name: str
    title: str  # the headline
    alt: str
    files: Mapping[Format, Path]  # format -> file
    said: tuple[str, ...] = ()  # its subtitle and notes
    narrow: Sequence[Path] = ()  # SVGs for a phone, without words that a page has


@dataclass(frozen=True)
class Sheet:
    """Where charts go, and what they have in common."""

    folder: Path
    backends: Sequence[str]  # in the order that decides on their colours
    footer: Sequence[str]
    formats: Sequence[Format] = ("svg", "png")
    shape: Shape = "wide"
    narrow: Path | None = None  # where drawings for a phone go, if they are wanted

    def draw(self, figure: Figure) -> Chart:
        """Draw one chart and write its alt text beside it.

        Every file is complete or as it was. Raises :class:`bench.BenchError`.
        """
        words = alt(figure.title, figure.data)
        filesystem.write_text(self.folder / f"{figure.name}.txt", f"{words}\n")
        files = {kind: self.folder / f"{figure.name}.{kind}" for kind in self.formats}
        look = Look(self.shape, self.backends)
        with style(look):
            slide = laid_out(figure, look, self.footer)
            for kind, path in files.items():
                slide.save(path, kind)
        around = (figure.subtitle, *figure.notes)
        return Chart(figure.name, figure.heading, words, files, around, self._narrow(figure))

    def _narrow(self, figure: Figure) -> list[Path]:
        if self.narrow is None:
            return []
        sheet = Sheet(self.narrow, self.backends, (), ("svg",), "narrow")
        bare = wordless(figure)
        return [  # on a phone its panels are below one another
            sheet.draw(replace(bare, name=f"{figure.name}-{n}", data=part)).files["svg"]
            for n, part in enumerate(in_parts(figure.data), 1)
        ]


def render_all(
    analysis: Analysis,
    outdir: Path,
    formats: Sequence[Format] = ("svg", "png"),
    only: Sequence[str] | None = None,
    narrow: Path | None = None,
) -> list[Chart]:
    """Draw every chart that the records have data for, into ``outdir``, in story order.

    ``only`` names the charts to draw. Drawings for a phone go to ``narrow``. The same records give
    the same SVG and PNG, to the byte.
    """
    filesystem.make_folder(outdir)
    sheet = Sheet(outdir, analysis.backends, footer(analysis), formats, narrow=narrow)
    figures = story(analysis).items()
    return [sheet.draw(figure) for name, figure in figures if only is None or name in only]


def story(analysis: Analysis) -> dict[str, Figure]:
    """The charts that a campaign has: those of the questions that it answers, in order.

    A picture without two values to compare is not drawn.
    """
    return {
        figure.name: placed(complete(designed(figure), analysis), analysis, labels_of(figure.data))
        for _, answer in answers(analysis)
        for figure in answer.figures
        if says_something(figure.data)
    }


def complete(figure: Figure, analysis: Analysis) -> Figure:
    """The chart, with a note on who is not in it because of void, failed or refused trials."""
    if figure.name in OTHER_LABELS:
        return figure
    workloads = OF_MAIN.get(figure.name, figure.name.replace("_", "-")).split()
    trials = stats.trials_of(analysis.records, *workloads, status=None, twins=False)
    lost = {trial.label for trial in trials if trial.status != "ok"}
    wanted = analysis.main if figure.name in OF_MAIN else analysis.labels
    # Whole words: "async_await" is a part of "async_await_pool".
    given = " ".join(note for note in figure.notes if "Not drawn" in note)
    named = set(re.findall(r"\w+", given))
    absent = [label for label in wanted if label in lost and label not in named]
    notes = not_drawn("too few trials are valid", absent, labels_of(figure.data))
    return replace(figure, notes=(*figure.notes, *notes))


def placed(figure: Figure, analysis: Analysis, drawn: Collection[str]) -> Figure:
    """The chart, with a note on how many processors threads had, if it shows their times."""
    places = analysis.places
    here = [label for label in places.labels if label in drawn] if places else []
    if figure.name in WITHOUT_TIMES or places is None or not here:
        return figure
    return replace(figure, notes=(*figure.notes, replace(places, labels=tuple(here)).brief))


def wordless(figure: Figure) -> Figure:
    """The picture alone, where what is around it has its words."""
    return replace(figure, title="", headline=None, subtitle="", notes=(), footer=())


def designed(figure: Figure) -> Figure:
    """A question's figure as it is drawn; without a headline that its picture does not show.

    In a chart a backend has one name, that of its axis.
    """
    headline = figure.headline
    if headline and contradiction(headline, figure.data, figure.title):
        headline = None
    notes = figure.notes
    if not ranged(figure.data):
        notes = tuple(words for note in notes if (words := note.replace(RANGES, "").strip()))
    # In the line of the last note: one more would take the room of words in the picture.
    ticks = TICKED.format("repeat" if any("repeat" in note for note in notes) else "block")
    last = [*notes[-1:], *[ALONE] * alone(figure.data), *[ticks] * ticked(figure.data)]
    return replace(
        figure,
        headline=headline and re.sub("async/await", "async_await", headline, flags=re.IGNORECASE),
        notes=(*[BY_SERVER] * figure.hollow, *notes[:-1], *[" ".join(last)] * bool(last)),
    )


def in_parts(data: FigureData) -> Sequence[FigureData]:
    """Each panel as a picture of its own."""
    if isinstance(data, Bars):
        return [
            # A key is for two bars of a row.
            replace(data, panels=[panel], faint=data.faint * panel.paired)
            for panel in data.panels
        ]
    return [replace(data, plots=[plot], columns=1) for plot in data.plots]
