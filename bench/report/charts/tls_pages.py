"""Processor time per page: plain, over TLS, and with a connection and a handshake for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from matplotlib.axes import Axes

from bench.analysis.analysis import Analysis
from bench.analysis.encryption import PageOverTls
from bench.analysis.stats import Spread
from bench.analysis.wording import prose, says
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.report.charts.tls_memory import ABOVE, BELOW, HEIGHT
from bench.show.words import described, of_blocks, sentence
from bench.text import duration, duration_tick, times
from crawlers.registry import MODELS

NAME = "tls-pages"
TITLE = "Processor time per page, plain and over TLS"
PANELS = (
    ("plain", "tls", "a page on a kept connection"),
    ("churn", "handshake", "a connection for each page"),
)
WORDS = {
    "plain": "plain",
    "tls": "over TLS",
    "churn": "with a connection each",
    "handshake": "with a handshake each",
}


def design(analysis: Analysis) -> Design | Skip:
    """Two bars for each backend in each panel: plain above, over TLS below."""
    rows = [row for row in analysis.encryption.pages if row.label in analysis.main]
    rows = rows or list(analysis.encryption.pages)
    panels = [panel for panel in PANELS if any(panel[1] in row.costs for row in rows)]
    if not panels:
        return Skip(NAME, TITLE, "no valid trial of tls-fetch or tls-handshake in turns")
    told = {
        row.label: ", ".join(
            f"{duration(row.costs[mode].median / 1000, 3)} {what}"
            for mode, what in WORDS.items()
            if mode in row.costs
        )
        for row in rows
    }
    blocks = [spread.count for row in rows for spread in row.costs.values()]
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle="Processor time of the client per page of a list at 10 slots, in turns; median "
        f"of {of_blocks(blocks)}",
        alt=f"Paired bar charts, processor time per page. {described(analysis, told)}",
        draw=partial(_draw, rows, panels),
        notes=(
            "TLS 1.3 with an ECDSA certificate that is verified; the handshakes are full ones. "
            "Ranges: lowest to highest block.",
        ),
    )


def finding(rows: Sequence[PageOverTls]) -> str | None:
    """The models for which encryption changes least and most, each against itself."""
    found = sorted(
        (row.encryption.median, row.label)
        for row in rows
        if row.label in MODELS and row.encryption is not None
    )
    if len(found) < 2:
        return None
    (low, least), (high, most) = found[0], found[-1]
    return sentence(
        f"{says(most, 'take')} {times(high)} times the processor time of plain HTTP for a page "
        f"over TLS, {prose(least)} {times(low)} times"
    )


def _draw(
    rows: Sequence[PageOverTls], panels: Sequence[tuple[str, str, str]], slide: Slide
) -> None:
    palette = slide.palette
    faint = mix(palette.muted, palette.background, 0.45)
    slide.swatches([("plain HTTP", faint, ""), ("over TLS (in colour)", palette.ink, "")])
    beside = len(panels) if slide.look.wide else 1
    below = len(panels) // beside
    size = slide.label_size(2 * len(rows) * below, 15.0)
    for axes, (plain, tls, head) in zip(slide.panels(beside, below), panels, strict=True):
        paired_bars(slide, axes, rows, (plain, tls), size)
        axes.set_xlabel(head)


class InModes(Protocol):
    """What a backend's page takes, mode by mode."""

    @property
    def label(self) -> str:
        """The backend."""

    @property
    def costs(self) -> Mapping[str, Spread]:
        """Mode -> microseconds per page."""


def paired_bars(
    slide: Slide, axes: Axes, rows: Sequence[InModes], modes: tuple[str, str], size: float
) -> None:
    """Two bars for each backend: the first mode above and faint, the second in its colour."""
    palette = slide.palette
    most = 0.0
    for place, row in enumerate(rows):
        colour = slide.look.of(row.label).colour
        for mode, shift in zip(modes, (ABOVE, BELOW), strict=True):
            spread = row.costs.get(mode)
            if spread is None:
                continue
            fill = colour if shift == BELOW else mix(palette.muted, palette.background, 0.45)
            middle = spread.median / 1000
            axes.barh(place + shift, middle, height=HEIGHT, color=fill, zorder=2)
            if spread.count > 1:
                low, high = spread.low / 1000, spread.high / 1000
                bar_range(axes, low, high, place + shift, palette.ink)
            end = spread.high / 1000
            bar_label(axes, duration(middle, 3), end, place + shift, size, bold=shift == BELOW)
            most = max(most, end)
    value_axis(axes, [most * 1.2], axis="x", words=duration_tick)
    bar_rows(slide, axes, [row.label for row in rows], size)
