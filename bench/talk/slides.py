"""What a slide of the talk consists of, whatever it is written as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.exhibits.sidebyside import ModelCell
from bench.report.charts import Design, Skip
from bench.talk.material import Material


@dataclass(frozen=True, slots=True)
class Quotes:
    """Sentences of others, in large type."""

    sentences: Sequence[str]
    source: str
    url: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart. ``file`` is where it lies in the repository, relative to results/."""

    design: Design
    backends: Sequence[str]  # in the order that decides on their colours
    file: str

    @property
    def caption(self) -> str:
        """How it was measured, and what its marks mean."""
        hatched = [note for note in self.design.notes if note.startswith(("Hatched", "Hollow"))]
        hollow = ["Hollow: limited by the fixture server."] if self.design.hollow else []
        return " ".join([f"{self.design.subtitle}.", *hollow, *hatched])

    @property
    def notes(self) -> list[str]:
        """What the chart's small print says, which no slide has room for."""
        return [note for note in self.design.notes if not note.startswith(("Hatched", "Hollow"))]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the column ``strong`` has what the slide is about."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    strong: int


@dataclass(frozen=True, slots=True)
class Code:
    """Columns of code, each a stack of cells, set in ``size`` units of a slide 1280 wide.

    ``page`` is a page of docs/ that shows the same: the talk's document links to it.
    """

    columns: Sequence[Sequence[ModelCell]]
    size: float
    caption: str
    page: str | None = None


Body = Quotes | Picture | Grid | Code


@dataclass(frozen=True, slots=True)
class TalkSlide:
    """One slide: what the room sees, what the speaker says, and what the floor asks."""

    name: str
    kicker: str  # where in the story we are
    title: str
    body: Body
    notes: Sequence[str]  # paragraphs; **bold**, `code` and [links](https://…) as in findings
    question: str
    answer: str
    sources: Sequence[str]  # the campaign of its numbers


@dataclass(frozen=True, slots=True)
class Gap:
    """A slide that these records cannot fill, and why."""

    name: str
    kicker: str
    reason: str


def chart_slide(
    *,
    name: str,
    kicker: str,
    design: Design | Skip,
    backends: Sequence[str],
    file: str,
    notes: Sequence[str | None],
    question: str,
    answer: str,
    sources: Sequence[str],
    title: str | None = None,
) -> TalkSlide | Gap:
    """A slide with a chart, whose small print ends the notes; a gap where there is no chart.

    ``backends`` and ``file`` are those of :class:`Picture`. Notes that are None are left out.
    Without a ``title`` it is the chart's headline.
    """
    if isinstance(design, Skip):
        return Gap(name, kicker, design.reason)
    body = Picture(design, backends, file)
    return TalkSlide(
        name=name,
        kicker=kicker,
        title=title or design.headline,
        body=body,
        notes=[*(note for note in notes if note), *body.notes],
        question=question,
        answer=answer,
        sources=sources,
    )


Maker = Callable[[Material], TalkSlide | Gap]


@dataclass(frozen=True, slots=True)
class Talk:
    """The slides in their order, and those that are missing."""

    campaign: str
    slides: Sequence[TalkSlide]
    gaps: Sequence[Gap] = field(default=())
