"""The look of every chart: colours, sizes, the slide around the plot, direct labels.

One chart is one slide: a sentence on top (the finding when the data show one,
otherwise what is drawn), a line below it that defines the quantity, the plot, a
line of notes, and a footer that says where the numbers come from. Themes are
``light`` and ``dark``, shapes ``wide`` (16:9) and ``square``. Nothing here uses
pyplot or leaves global state behind, and the same records give the same bytes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench.stats import Spread

Theme = Literal["light", "dark"]
Shape = Literal["wide", "square"]
Format = Literal["svg", "png", "pdf"]

#: Dots per inch of the layout; PNG files are written at twice this.
DPI: Final = 100


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme."""

    background: str
    ink: str
    muted: str
    grid: str
    band: str  # noise floor
    alarm: str
    models: Mapping[str, str]
    variants: tuple[str, ...]


# Okabe and Ito's palette (Color Universal Design, 2008), with the four hues that
# stay furthest apart for every kind of colour vision given to the four models;
# on dark ground each is lightened until it has 3:1 contrast or more.
PALETTES: Final[dict[Theme, Palette]] = {
    "light": Palette(
        background="#ffffff",
        ink="#1b1f24",
        muted="#5b636e",
        grid="#e3e6ea",
        band="#e9ebee",
        alarm="#b3261e",
        models={
            "threads": "#d55e00",
            "callbacks": "#0072b2",
            "generators": "#009e73",
            "async_await": "#c4569a",
        },
        variants=("#7a6a00", "#4b4f9c", "#7f3b08", "#1f7a8c", "#6b7280", "#8c2d5a", "#4d7c0f"),
    ),
    "dark": Palette(
        background="#14171c",
        ink="#f1f3f5",
        muted="#a3abb5",
        grid="#2a3038",
        band="#262c34",
        alarm="#ff8a80",
        models={
            "threads": "#ff8a3d",
            "callbacks": "#56b4e9",
            "generators": "#2ed3a0",
            "async_await": "#f09acb",
        },
        variants=("#e6d34a", "#9aa0ff", "#d99a6c", "#7fd6e6", "#b4bcc6", "#e58ab0", "#a7d65c"),
    ),
}

MODEL_MARKERS: Final[Mapping[str, str]] = {
    "threads": "s",
    "callbacks": "o",
    "generators": "^",
    "async_await": "D",
}
VARIANT_MARKERS: Final = ("v", "P", "X", "<", ">", "p", "h", "*", "d")


@dataclass(frozen=True, slots=True)
class Identity:
    """How one backend looks, in every chart of a campaign."""

    label: str
    colour: str
    marker: str
    width: float
    order: float  # drawing order; models lie on top


class Look:
    """A theme, a shape, and who has which colour."""

    def __init__(self, theme: Theme, shape: Shape, backends: Sequence[str]) -> None:
        """``backends`` in the campaign's order: variants take colours in that order."""
        self.theme: Theme = theme
        self.shape: Shape = shape
        self.palette = PALETTES[theme]
        self._variants = [b for b in backends if b not in MODEL_MARKERS]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return (12.8, 7.2) if self.shape == "wide" else (9.0, 9.0)

    @property
    def wide(self) -> bool:
        """Whether panels go side by side."""
        return self.shape == "wide"

    def of(self, label: str) -> Identity:
        """The identity of a label: that of its backend, for an A/A twin and on any interpreter."""
        name = label.partition("#")[0].partition("@")[0]
        if name in MODEL_MARKERS:
            return Identity(label, self.palette.models[name], MODEL_MARKERS[name], 3.0, 4)
        place = self._variants.index(name) if name in self._variants else len(self._variants)
        colours = self.palette.variants
        return Identity(
            label,
            colours[place % len(colours)],
            VARIANT_MARKERS[place % len(VARIANT_MARKERS)],
            1.8,
            3,
        )

    def rc(self) -> dict[str, Any]:
        """matplotlib's settings for this look, on top of its defaults."""
        p = self.palette
        return {
            "axes.axisbelow": True,
            "axes.edgecolor": p.muted,
            "axes.facecolor": p.background,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.labelcolor": p.muted,
            "axes.labelsize": 15,
            "axes.linewidth": 1.0,
            "axes.spines.left": False,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlecolor": p.ink,
            "axes.titlesize": 15,
            "axes.titlelocation": "left",
            "figure.dpi": DPI,
            "figure.facecolor": p.background,
            "font.family": ["sans-serif"],
            "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica Neue", "Arial", "sans-serif"],
            "font.size": 14,
            "grid.color": p.grid,
            "grid.linewidth": 1.0,
            "hatch.linewidth": 1.0,
            "legend.frameon": False,
            "legend.fontsize": 14,
            "legend.labelcolor": p.ink,
            "lines.solid_capstyle": "round",
            "patch.linewidth": 0,
            "path.simplify": False,
            "pdf.fonttype": 42,
            "savefig.facecolor": p.background,
            "svg.fonttype": "none",
            "svg.hashsalt": "c10k",
            "text.color": p.ink,
            # Hinting would round every glyph to whole pixels, so that a line measured
            # at the layout's resolution would not be as wide as the one drawn.
            "text.hinting": "no_hinting",
            "text.parse_math": False,
            "xtick.color": p.muted,
            "xtick.labelsize": 14,
            "xtick.major.size": 0,
            "xtick.minor.size": 0,
            "ytick.color": p.muted,
            "ytick.labelsize": 14,
            "ytick.major.size": 0,
            "ytick.minor.size": 0,
        }


@contextmanager
def style(look: Look) -> Iterator[None]:
    """matplotlib's own defaults plus this look, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams  # its keys are literals to the type checker
        settings.update(look.rc())
        yield


def number(value: float) -> str:
    """A number for a tick or a label: 0.05, 7.5, 320, 60k, 1.2M."""
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 999_500:
        return f"{value / 1e6:.3g}M"
    if size >= 9_995:
        return f"{value / 1e3:.3g}k"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def count(value: float) -> str:
    """An exact count with thousands set apart: 10,000."""
    return f"{value:,.0f}"


def significant(value: float, digits: int) -> str:
    """Rounded to so many significant digits, never in scientific notation: 0.42, 12, 580."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return f"{rounded:,.{max(0, places)}f}"


def duration(milliseconds: float, digits: int = 2) -> str:
    """A time with its unit: 420 µs, 12 ms, 1.3 s."""
    if milliseconds >= 995:
        return f"{significant(milliseconds / 1000, digits)} s"
    if milliseconds >= 0.995:
        return f"{significant(milliseconds, digits)} ms"
    return f"{significant(milliseconds * 1000, digits)} µs"


def duration_tick(milliseconds: float) -> str:
    """A round time for a tick: 0, 500 µs, 5 ms, 1 s."""
    if milliseconds <= 0:
        return "0"
    if milliseconds >= 999.5:
        return f"{milliseconds / 1000:g} s"
    if milliseconds >= 0.9995:
        return f"{milliseconds:g} ms"
    return f"{milliseconds * 1000:g} µs"


def size_words(value: float, digits: int = 3) -> str:
    """Bytes in KiB, MiB or GiB."""
    for unit, scale in (("GiB", 1024.0**3), ("MiB", 1024.0**2)):
        if abs(value) >= 0.995 * scale:
            return f"{significant(value / scale, digits)} {unit}"
    return f"{significant(value / 1024, digits)} KiB"


def times(value: float) -> str:
    """A ratio for a sentence: 0.66, 1.53, 2.4, 12."""
    if value >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1.995 else f"{value:.2f}"


def listing(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


@dataclass(frozen=True)
class Plan:
    """What a chart will say and how it is drawn; made once, drawn per theme and shape."""

    name: str
    title: str  # neutral: what is drawn
    finding: str | None  # one sentence shown by the data, None when they show none
    subtitle: str  # defines the quantity
    alt: str
    draw: Callable[[Slide], None]
    notes: tuple[str, ...] = ()
    hollow: bool = False  # server-limited points are drawn: the legend says so


@dataclass(frozen=True)
class Skip:
    """A chart that is not drawn, and why."""

    name: str
    title: str
    reason: str


@dataclass(frozen=True)
class Chart:
    """A chart that was rendered, or skipped (then ``files`` is empty)."""

    name: str
    files: tuple[Path, ...]
    title: str
    alt: str
    finding: str | None
    notes: tuple[str, ...] = ()
    skipped: str | None = None
    by_format: dict[str, Path] = field(default_factory=dict)  # "svg/light/wide" -> file


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A direct label at a line's end, in data coordinates."""

    text: str
    x: float
    y: float
    colour: str
    bold: bool = True


class Slide:
    """The page around a plot: title, subtitle, notes and footer are set, the rest is free."""

    LEFT: Final = 0.36  # margins in inches
    RIGHT: Final = 0.36
    TOP: Final = 0.34
    BOTTOM: Final = 0.22

    def __init__(self, look: Look, plan: Plan, footer: Sequence[str]) -> None:
        """Lay out the texts; must run inside :func:`style`."""
        self.look = look
        self.palette = look.palette
        self.figure = Figure(figsize=look.size, dpi=DPI)
        self.canvas = FigureCanvasAgg(self.figure)
        self.plan = plan
        self._settled = False
        width, height = look.size
        room = (width - self.LEFT - self.RIGHT) * DPI
        title_size = 25.0 if look.wide else 22.0
        y = height - self.TOP
        y = self._block(plan.finding or plan.title, y, title_size, room, "bold", self.palette.ink)
        y -= 0.07
        y = self._block(plan.subtitle, y, 14.0, room, "normal", self.palette.muted)
        self._top = y - 0.12
        low = self.BOTTOM
        for line in reversed(footer):
            for piece in reversed(self._wrapped(line, 9.5, room, "normal")):
                self._text(piece, low, 9.5, "normal", self.palette.muted, va="bottom")
                low += 9.5 / 72 * 1.3
        low += 0.04
        self.figure.add_artist(
            Line2D(
                [self.LEFT / width, 1 - self.RIGHT / width],
                [low / height] * 2,
                color=self.palette.grid,
                linewidth=1,
            )
        )
        low += 0.08
        notes = list(plan.notes)
        if plan.hollow:
            notes.insert(0, "Hollow: limited by the fixture server, not the crawler’s own speed.")
        for note in reversed(notes):
            for piece in reversed(self._wrapped(note, 12.0, room, "normal")):
                self._text(piece, low, 12.0, "normal", self.palette.muted, va="bottom")
                low += 12.0 / 72 * 1.32
        self._low = low + 0.08

    # --- text ---

    def text_width(self, text: str, size: float, weight: str = "normal") -> float:
        """Width of a line in pixels at the layout's resolution."""
        probe = self.figure.text(0, 0, text, fontsize=size, fontweight=weight)
        canvas: Any = self.canvas
        extent = probe.get_window_extent(canvas.get_renderer())
        probe.remove()
        return float(extent.width)

    def _wrapped(self, text: str, size: float, room: float, weight: str) -> list[str]:
        lines: list[str] = []
        current = ""
        for word in text.split(" "):
            longer = f"{current} {word}".strip()
            if current and self.text_width(longer, size, weight) > room:
                lines.append(current)
                current = word
            else:
                current = longer
        return [*lines, current] if current else lines

    def _text(self, text: str, y: float, size: float, weight: str, colour: str, va: str) -> None:
        width, height = self.look.size
        self.figure.text(
            self.LEFT / width,
            y / height,
            text,
            fontsize=size,
            fontweight=weight,
            color=colour,
            va=va,
            ha="left",
        )

    def _block(
        self, text: str, y: float, size: float, room: float, weight: str, colour: str
    ) -> float:
        for line in self._wrapped(text, size, room, weight):
            self._text(line, y, size, weight, colour, va="top")
            y -= size / 72 * 1.28
        return y

    # --- panels ---

    def panels(
        self,
        columns: int = 1,
        rows: int = 1,
        *,
        widths: Sequence[float] | None = None,
        heights: Sequence[float] | None = None,
        right: float = 0.0,
        sharex: bool = False,
        sharey: bool = False,
    ) -> list[Axes]:
        """Axes in the free part of the slide, row by row.

        ``right`` keeps that many pixels free on the right for direct labels.
        """
        width, height = self.look.size
        left, bottom = self.LEFT / width, self._low / height
        self.figure.set_layout_engine(
            "constrained",
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
        grid = self.figure.subplots(
            rows,
            columns,
            sharex=sharex,
            sharey=sharey,
            squeeze=False,
            gridspec_kw={"width_ratios": widths, "height_ratios": heights},
        )
        return [axes for row in grid for axes in row]

    def key(self, labels: Sequence[str]) -> None:
        """A row of markers and names below the subtitle, for charts without line ends."""
        size, x = 15.0, self.LEFT * DPI
        height = size / 72 * 1.5
        middle = (self._top - height / 2) * DPI
        limit = (self.look.size[0] - self.RIGHT) * DPI
        for label in labels:
            look = self.look.of(label)
            needed = 34.0 + self.text_width(label, size, "bold") + 22.0
            if x + needed > limit and x > self.LEFT * DPI:
                x = self.LEFT * DPI
                middle -= height * DPI
                self._top -= height
            self.figure.add_artist(
                Line2D(
                    [self._fx(x + 2), self._fx(x + 26)],
                    [self._fy(middle)] * 2,
                    color=look.colour,
                    linewidth=3,
                )
            )
            self.figure.add_artist(
                Line2D(
                    [self._fx(x + 14)],
                    [self._fy(middle)],
                    color=look.colour,
                    marker=look.marker,
                    markersize=10,
                    linestyle="none",
                )
            )
            self.figure.text(
                self._fx(x + 34),
                self._fy(middle),
                label,
                color=readable(look.colour, self.palette.background),
                fontsize=size,
                fontweight="bold",
                va="center_baseline",
                ha="left",
            )
            x += needed
        self._top -= height + 0.12

    def settle(self) -> None:
        """Run the layout now, once, so that pixel positions are final.

        Positions are rounded: the solver's last digits differ from run to run, and
        the SVG's ids are hashes of them.
        """
        if self._settled:
            return
        self._settled = True
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")
        for axes in self.figure.axes:
            x0, y0, width, height = axes.get_position().bounds
            axes.set_position((round(x0, 6), round(y0, 6), round(width, 6), round(height, 6)))

    def label_room(self, labels: Iterable[str], size: float = 16.0) -> float:
        """Pixels that the longest of the labels needs, with its leader."""
        widths = [self.text_width(label, size, "bold") for label in labels]
        return max(widths, default=0.0) + 26.0

    def label_size(self, count: int, biggest: float = 16.0) -> float:
        """Font size at which ``count`` labels fit above each other."""
        room = (self._top - self._low) * 72 * 0.86
        return max(6.0, min(biggest, room / max(1, count) / 1.25))

    def label_ends(self, axes: Axes, labels: Sequence[EndLabel], size: float = 16.0) -> None:
        """Set labels right of the axes at their lines' ends, moved apart where they collide."""
        if not labels:
            return
        self.settle()
        box = axes.get_window_extent()
        line = size / 72 * DPI * 1.22
        wanted = [
            (float(axes.transData.transform((item.x, item.y))[1]), item)
            for item in labels
            if math.isfinite(item.y)
        ]
        wanted.sort(key=lambda pair: pair[0])
        centres = spread_apart([y for y, _ in wanted], line, box.y0, box.y1)
        x_ends = [float(axes.transData.transform((item.x, item.y))[0]) for _, item in wanted]
        start = max(box.x1, *(x + 4.0 for x in x_ends))
        for (exact, item), centre, x_end in zip(wanted, centres, x_ends, strict=True):
            self.figure.add_artist(
                Line2D(
                    [self._fx(x_end + 8), self._fx(start + 14)],
                    [self._fy(exact), self._fy(centre)],
                    color=item.colour,
                    linewidth=1.0,
                    alpha=0.7,
                )
            )
            self.figure.text(
                self._fx(start + 18),
                self._fy(centre),
                item.text,
                color=readable(item.colour, self.palette.background),
                fontsize=size,
                fontweight="bold" if item.bold else "normal",
                va="center_baseline",
                ha="left",
            )

    def _fx(self, pixels: float) -> float:
        return pixels / (self.look.size[0] * DPI)

    def _fy(self, pixels: float) -> float:
        return pixels / (self.look.size[1] * DPI)

    def save(self, path: Path, kind: Format) -> None:
        """Write the slide; the same slide gives the same bytes."""
        self.settle()
        metadata: dict[str, Any]
        if kind == "svg":
            metadata = {
                "Date": None,
                "Creator": None,
                "Title": self.plan.finding or self.plan.title,
            }
        elif kind == "pdf":
            metadata = {"CreationDate": None, "Producer": None, "Creator": None}
        else:
            metadata = {"Software": None}
        self.figure.savefig(
            path, format=kind, dpi=2 * DPI if kind == "png" else DPI, metadata=metadata
        )


def spread_apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions in ascending order, at least ``gap`` apart, as near to ``wanted`` as may be.

    Pool-adjacent-violators on the shifted positions: the least-squares answer.
    """
    groups: list[tuple[float, int]] = []  # mean of (wanted - i * gap), members
    for i, value in enumerate(wanted):
        groups.append((value - i * gap, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, n), (b, m) = groups[-2], groups[-1]
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    flat = [mean for mean, members in groups for _ in range(members)]
    top = high - gap * (len(wanted) - 1)
    return [min(max(v, low), max(low, top)) + i * gap for i, v in enumerate(flat)]


def _rgb(colour: str) -> tuple[float, float, float]:
    return (int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` (WCAG 2)."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2), 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mix(one: str, other: str, share: float) -> str:
    """``one`` with ``share`` of ``other`` in it."""
    parts = zip(_rgb(one), _rgb(other), strict=True)
    return "#" + "".join(f"{round(255 * (a + (b - a) * share)):02x}" for a, b in parts)


def readable(colour: str, background: str) -> str:
    """The colour, darkened or lightened until text in it has 4.5:1 contrast."""
    towards = "#000000" if luminance(background) > 0.5 else "#ffffff"
    for step in range(21):
        mixed = mix(colour, towards, step / 20)
        if contrast(mixed, background) >= 4.5:
            return mixed
    return towards


def count_axis(axes: Axes, values: Sequence[float], *, axis: str = "x") -> None:
    """Logarithmic axis with a tick at each of the given counts."""
    target = axes.xaxis if axis == "x" else axes.yaxis
    (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
    target.set_major_locator(matplotlib.ticker.FixedLocator(sorted(set(values))))
    target.set_major_formatter(FuncFormatter(lambda v, _: count(v)))
    target.set_minor_formatter(NullFormatter())
    target.set_minor_locator(matplotlib.ticker.NullLocator())


def value_axis(
    axes: Axes,
    values: Sequence[float],
    *,
    axis: str = "y",
    words: Callable[[float], str] = number,
    log_beyond: float = 20.0,
) -> None:
    """Linear from zero when the values are within a factor of 20, else logarithmic."""
    target = axes.xaxis if axis == "x" else axes.yaxis
    positive = [v for v in values if v > 0 and math.isfinite(v)]
    formatter = FuncFormatter(lambda v, _: words(v))
    set_scale = axes.set_xscale if axis == "x" else axes.set_yscale
    set_limits = axes.set_xlim if axis == "x" else axes.set_ylim
    if positive and max(positive) / min(positive) > log_beyond:
        set_scale("log")
        low, high = min(positive) / 1.25, max(positive) * 1.25
        set_limits(low, high)
        decades = math.log10(high / low)
        subs = (1.0,) if decades > 2.6 else (1.0, 3.0)
        target.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
        target.set_minor_locator(matplotlib.ticker.NullLocator())
    elif positive:
        set_limits(0, max(positive) * 1.08)
        target.set_major_locator(matplotlib.ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    target.set_major_formatter(formatter)


def memory_axis(axes: Axes, values: Sequence[float]) -> None:
    """Logarithmic y axis with round numbers of MiB where two of them fit, else as other values."""
    mib = 1024.0**2
    low, high = min(values) / 1.2, max(values) * 1.2
    steps = [m * 10**e * mib for e in range(-1, 6) for m in (1, 2, 5)]
    ticks = [v for v in steps if low <= v <= high]
    if len(ticks) < 2:
        value_axis(axes, values, words=size_words)
        return
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, [f"{v / mib:,.3g} MiB" for v in ticks])
    axes.set_yticks([], minor=True)


def range_bar(axes: Axes, identity: Identity, x: float, spread: Spread) -> None:
    """A bar from the lowest to the highest trial, below the line it belongs to."""
    axes.plot(
        [x, x],
        [spread.low, spread.high],
        color=identity.colour,
        linewidth=identity.width + 1.5,
        alpha=0.45,
        solid_capstyle="butt",
        zorder=identity.order,
    )


def markers(
    axes: Axes,
    identity: Identity,
    x: Sequence[float],
    y: Sequence[float],
    hollow: Sequence[bool],
    background: str,
    size: float = 10.0,
) -> None:
    """Markers of a line, hollow where the server was the limit."""
    for a, b, empty in zip(x, y, hollow, strict=True):
        axes.plot(
            [a],
            [b],
            linestyle="none",
            marker=identity.marker,
            # Variants may be many: theirs are smaller.
            markersize=size if identity.width > 2 else 0.7 * size,
            markerfacecolor=background if empty else identity.colour,
            markeredgecolor=identity.colour,
            markeredgewidth=2.4 if empty else 0.0,
            zorder=identity.order + 1,
            clip_on=False,
        )


def swatches(
    slide: Slide, axes: Axes, entries: Sequence[tuple[str, str, str]], columns: int | None = None
) -> None:
    """A key above the axes: (text, colour, hatch) in the order of the stack.

    In one line on a wide slide, unless so many ``columns`` are asked for.
    """
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor=slide.palette.background, label=text)
        for text, colour, hatch in entries
    ]
    columns = columns or (len(handles) if slide.look.wide else min(3, len(handles)))
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        borderpad=0.2,
        handlelength=1.1,
        handleheight=1.1,
        columnspacing=1.3,
        handletextpad=0.5,
    )


def shorten(text: str, width: int) -> str:
    """Text cut at a word with an ellipsis."""
    return textwrap.shorten(text, width, placeholder=" …")
