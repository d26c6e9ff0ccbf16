"""A chart before and after it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report.charts.look import Look
from bench.report.charts.slide import Position, Slide

HOLLOW = "Hollow: limited by the fixture server, so the crawler may be faster."


@dataclass(frozen=True)
class Design:
    """A chart's words and how to draw it: made once, drawn in every theme and shape.

    ``draw`` can be pickled, so that another process can draw the chart: a function of a
    module with its data bound by :func:`functools.partial`.
    """

    name: str
    title: str  # names what is drawn
    finding: str | None  # what the data show in one sentence, if they show anything
    subtitle: str  # defines the quantity
    alt: str  # the chart in words
    draw: Callable[[Slide], None]
    notes: tuple[str, ...] = ()
    hollow: bool = False  # some points are limited by the server, and the notes explain them

    @property
    def headline(self) -> str:
        """The finding, or the title where there is none."""
        return self.finding or self.title

    def slide(
        self, look: Look, footer: Sequence[str] = (), positions: Sequence[Position] | None = None
    ) -> Slide:
        """The finished slide, ready to be saved.

        Must run inside :func:`~bench.report.charts.look.style`.
        """
        notes = (HOLLOW, *self.notes) if self.hollow else self.notes
        slide = Slide(look, self.headline, self.subtitle, notes, footer, positions)
        self.draw(slide)
        slide.settle()
        return slide


@dataclass(frozen=True)
class Skip:
    """A chart that cannot be drawn, and why."""

    name: str
    title: str
    reason: str


@dataclass(frozen=True)
class Chart:
    """A chart that was drawn, or skipped (then it has no files)."""

    name: str
    title: str  # the headline
    alt: str
    files: Mapping[str, Path]  # "svg/light/wide" -> file
    skipped: str | None = None
