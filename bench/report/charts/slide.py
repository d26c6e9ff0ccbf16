"""The page around a plot: headline, subtitle, notes, footer, and labels at the ends of lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench import filesystem
from bench.palette import adapting
from bench.report.charts.look import DPI, Format, Look
from bench.show.words import named
from bench.text import unbroken


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A direct label at a line's end, in data coordinates."""

    text: str
    x: float
    y: float
    colour: str
    bold: bool = True


FAR: Final = 60.0
"""Pixels that must be left in the panel beside a name in it."""

EVENED: Final = (0.95, 0.9, 0.85, 0.8, 0.75)
"""Shares of the room to try, where a single word is left for the last line."""

APART: Final = 6.0
"""Pixels between words at ticks."""

SWATCH: Final = 44.0
"""Pixels of a key's entry besides its text."""


class Slide:
    """The page around a plot: headline, subtitle, notes and footer are set, the rest is free."""

    LEFT: Final = 0.36  # margins in inches
    RIGHT: Final = 0.36
    TOP: Final = 0.34
    BOTTOM: Final = 0.22
    BARE: Final = 0.04  # where there is no headline, and no footer

    def __init__(
        self,
        look: Look,
        headline: str,
        subtitle: str,
        notes: Sequence[str] = (),
        footer: Sequence[str] = (),
    ) -> None:
        """Lay out the texts; must run inside :func:`~bench.report.charts.look.style`."""
        self.look = look
        self.palette = look.palette
        self.figure = Figure(figsize=look.size, dpi=DPI)
        FigureCanvasAgg(self.figure)
        self.headline = headline
        self._settled = False
        self._layout: ConstrainedLayoutEngine | None = None
        width, height = look.size
        y = height - (self.TOP if headline or subtitle else self.BARE)
        y = self._block(headline, y, 25.0, "bold", self.palette.ink)
        if subtitle:
            y = self._block(subtitle, y - 0.07, 14.0, "normal", self.palette.muted) - 0.12
        self._top = y
        low = self._stack(footer, self.BOTTOM if footer else self.BARE, 9.6, 1.3)
        if footer:
            low += 0.04
            ends = [self.LEFT * DPI, (width - self.RIGHT) * DPI]
            self._line(ends, [low * DPI] * 2, color=self.palette.grid, linewidth=1)
        if footer or notes:
            low = self._stack(notes, low + 0.08, 12.0, 1.32) + 0.08
        self._low = low

    # --- text ---

    def _wrapped(self, text: str, size: float, weight: str, share: float = 1.0) -> list[str]:
        lines: list[str] = []
        words = unbroken(text).split(" ")
        while words:
            fits = len(words)
            while fits > 1 and measure(" ".join(words[:fits]), size, weight) > share * self.room:
                fits -= 1
            lines.append(" ".join(words[:fits]))
            del words[:fits]
        return lines

    def _evened(self, text: str, size: float, weight: str) -> list[str]:
        """Lines of which the last is not a single word, if that takes no further line."""
        lines = self._wrapped(text, size, weight)
        for share in EVENED:
            if len(lines) == 1 or " " in lines[-1]:
                break
            narrower = self._wrapped(text, size, weight, share)
            if len(narrower) == len(lines):
                lines = narrower
        return lines

    def _line(self, x: Sequence[float], y: Sequence[float], **how: object) -> None:
        """A line from pixel to pixel."""
        width, height = (side * DPI for side in self.look.size)
        line = Line2D([a / width for a in x], [b / height for b in y])
        line.set(**how)
        self.figure.add_artist(line)

    def _text(
        self, text: str, x: float, y: float, size: float, weight: str, colour: str, va: str
    ) -> None:
        """Text that begins at these shares of the slide."""
        self.figure.text(x, y, text, size=size, weight=weight, color=colour, va=va)

    def _name(self, label: str, x: float, y: float, size: float, weight: str, colour: str) -> None:
        width, height = (side * DPI for side in self.look.size)
        colour = self.look.readable(colour)
        self._text(label, x / width, y / height, size, weight, colour, "center_baseline")

    def _block(self, text: str, y: float, size: float, weight: str, colour: str) -> float:
        """Lines from ``y`` downwards; returns the height in inches below them."""
        width, height = self.look.size
        for line in self._evened(text, size, weight):
            self._text(line, self.LEFT / width, y / height, size, weight, colour, "top")
            y -= size / 72 * 1.28
        return y

    def _stack(self, texts: Sequence[str], y: float, size: float, leading: float) -> float:
        """Small print from ``y`` upwards, the last text lowest; returns the height above it."""
        (width, height), muted = self.look.size, self.palette.muted
        for text in reversed(texts):
            for line in reversed(self._wrapped(text, size, "normal")):
                self._text(line, self.LEFT / width, y / height, size, "normal", muted, "bottom")
                y += size / 72 * leading
        return y

    # --- panels ---

    def panels(
        self,
        columns: int = 1,
        rows: int = 1,
        *,
        right: float = 0.0,
        sharex: bool = False,
    ) -> list[Axes]:
        """Axes in the free part of the slide, row by row.

        ``right`` keeps that many pixels free on the right for direct labels.
        """
        width, height = self.look.size
        left, bottom = self.LEFT / width, self._low / height
        self._layout = ConstrainedLayoutEngine(
            rect=(
                left,
                bottom,
                1 - left - (self.RIGHT + right / DPI) / width,
                self._top / height - bottom,
            ),
            w_pad=0.02,
            h_pad=0.02,
            wspace=0.05,
            hspace=0.06,
        )
        grid = self.figure.subplots(rows, columns, sharex=sharex, squeeze=False)
        return [axes for row in grid for axes in row]

    def key(self, labels: Sequence[str]) -> None:
        """A row of markers and names below the subtitle, for charts without line ends."""
        # Many large names would leave no room for the panels.
        size, x = 15.0 if len(labels) <= 16 else 10.0, self.LEFT * DPI
        height = size / 72 * 1.5
        middle = (self._top - height / 2) * DPI
        limit = (self.look.size[0] - self.RIGHT) * DPI
        for label in labels:
            look = self.look.of(label)
            needed = 34.0 + measure(named(label), size, "bold") + 22.0
            if x + needed > limit and x > self.LEFT * DPI:
                x = self.LEFT * DPI
                middle -= height * DPI
                self._top -= height
            y = [middle]
            self._line([x + 2, x + 26], y * 2, color=look.colour, linewidth=3, linestyle=look.line)
            self._line(
                [x + 14], y, color=look.colour, marker=look.marker, markersize=10, linestyle="none"
            )
            self._name(named(label), x + 34, middle, size, "bold", look.colour)
            x += needed
        self._top -= height + 0.12

    def swatches(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """A key of (text, colour, hatch) below the subtitle, set before the panels."""
        width, height = self.look.size
        longest = max(measure(text, 14.0) for text, _, _ in entries) + SWATCH
        whole = sum(measure(text, 14.0) + SWATCH for text, _, _ in entries) <= self.room
        columns = len(entries) if whole else max(1, int(self.room / longest))
        handles = [
            Patch(facecolor=colour, hatch=hatch, edgecolor=self.palette.background, label=text)
            for text, colour, hatch in entries
        ]
        self.figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(self.LEFT / width, self._top / height),
            ncols=columns,
            borderaxespad=0.0,
            borderpad=0.2,
            handlelength=1.1,
            handleheight=1.1,
            columnspacing=1.3,
            handletextpad=0.5,
        )
        self._top -= -(-len(entries) // columns) * 14.0 / 72 * 1.55 + 0.1

    def settle(self) -> None:
        """Find the axes' positions, once, so that pixel positions are final.

        They are rounded: the solver's last digits differ from run to run, and the SVG's
        ids are hashes of them. The figure itself has no layout engine, or each file that
        is saved would be laid out again.
        """
        if self._settled:
            return
        self._settled = True
        for axes in self.figure.axes if self.look.narrow else ():
            axes.set_xlabel("\n".join(self._wrapped(axes.get_xlabel(), 14.0, "normal", 0.5)))
        if self._layout is not None:
            self._layout.execute(self.figure)
        for axes in self.figure.axes:
            x, y, width, height = (round(side, 6) for side in axes.get_position().bounds)
            axes.set_position((x, y, width, height))
            self._thin_out(axes)

    def _thin_out(self, axes: Axes) -> None:
        """Leave out words at ticks that would touch those right of them."""
        if axes.get_xscale() != "log" or axes.xaxis.get_tick_params().get("labelrotation"):
            return
        chosen: list[tuple[float, str]] = []
        free = math.inf
        for tick in reversed(axes.get_xticklabels()):
            place, text = tick.get_position()[0], tick.get_text()
            middle = axes.transData.transform((place, 1.0))[0]
            half = measure(text, tick.get_fontsize()) / 2
            if middle + half + APART < free:
                chosen.insert(0, (place, text))
                free = middle - half
        if chosen and len(chosen) < len(axes.get_xticks()):
            axes.set_xticks(*zip(*chosen, strict=True))

    @property
    def room(self) -> float:
        """Pixels between the margins."""
        return (self.look.size[0] - self.LEFT - self.RIGHT) * DPI

    def label_room(self, labels: Iterable[str], size: float) -> float:
        """Pixels that the longest of the labels needs, with its leader."""
        widths = [measure(label, size, "bold") for label in labels]
        return max(widths, default=0.0) + 26.0

    def label_size(self, count: int, biggest: float = 16.0) -> float:
        """Font size at which ``count`` labels fit above each other."""
        room = (self._top - self._low) * 72 * 0.86
        biggest = min(biggest, 13.0) if self.look.narrow else biggest
        return max(6.0, min(biggest, room / max(1, count) / 1.16))

    def label_ends(self, axes: Axes, labels: Sequence[EndLabel], size: float) -> None:
        """Set labels right of the axes at their lines' ends, moved apart where they collide."""
        if not labels:
            return
        self.settle()
        box = axes.get_window_extent()
        line = size / 72 * DPI * 1.22
        ends = sorted(
            (
                (axes.transData.transform((item.x, item.y)), item)
                for item in labels
                if math.isfinite(item.y)
            ),
            key=lambda end: float(end[0][1]),
        )
        centres = spread_apart([y for (_, y), _ in ends], line, box.y0, box.y1)
        start = max(box.x1, *(x + 4.0 for (x, _), _ in ends))
        weights = ["bold" if item.bold else "normal" for _, item in ends]
        rights = [
            x + measure(item.text, size, weight)
            for ((x, _), item), weight in zip(ends, weights, strict=True)
        ]
        far = [right + FAR < box.x1 for right in rights]
        if not all(far):  # then a name stands beside its own mark, and must not hide another's
            far = [
                is_far and not any(x < a < right + 26 and abs(b - y) < line for (a, b), _ in ends)
                for is_far, right, ((x, _), _), y in zip(far, rights, ends, centres, strict=True)
            ]
        last = max(x for (x, _), _ in ends)
        each = zip(ends, centres, weights, far, strict=True)
        for ((x, y), item), centre, weight, inside in each:
            # A leader across the plot would look like data: the name stands where the line ends,
            # and beside all marks where there is no line.
            place = (last if all(far) else x) + 4 if inside else start
            self._line(
                [x + 8, place + 14], [y, centre], color=item.colour, linewidth=1.0, alpha=0.7
            )
            self._name(item.text, place + 18, centre, size, weight, item.colour)
            if inside:  # no line and no dot crosses its letters
                ground = {"facecolor": self.palette.background, "pad": 1.5, "linewidth": 0}
                self.figure.texts[-1].set_bbox(ground)

    def save(self, path: Path, kind: Format) -> None:
        """Write the slide; the same slide gives the same bytes.

        Raises :class:`bench.BenchError`.
        """
        metadata: dict[Format, dict[str, str | None]] = {
            "svg": {"Date": None, "Creator": None, "Title": self.headline},
            "png": {"Software": None},
        }
        dpi = 2 * DPI if kind == "png" else DPI
        data = BytesIO()
        self.figure.savefig(data, format=kind, dpi=dpi, metadata=metadata[kind])
        made = data.getvalue()
        if kind == "svg":
            made = adapting(made.decode(), self.look.dark).encode()
        filesystem.write_bytes(path, made)


_RENDERER: Any = RendererAgg  # matplotlib leaves it without types
_RULER: Final = _RENDERER(1, 1, DPI)


@lru_cache(maxsize=4096)
def measure(text: str, size: float, weight: str = "normal") -> float:
    """Width of a line in pixels at the layout's resolution, in the font of every chart."""
    font = FontProperties(size=size, weight=weight)
    width, _, _ = _RULER.get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def spread_apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions in ascending order, at least ``gap`` apart, as near to ``wanted`` as may be.

    The least-squares answer, an isotonic regression: of the means of all groups that begin at a
    position or before it, and end there or after it, the largest of the smallest.
    """
    count = len(wanted)
    flat = [value - gap * place for place, value in enumerate(wanted)]
    top = max(low, high - gap * (count - 1))
    nearest = [
        max(min(fmean(flat[i:j]) for j in range(place + 1, count + 1)) for i in range(place + 1))
        for place in range(count)
    ]
    return [min(max(near, low), top) + gap * place for place, near in enumerate(nearest)]
