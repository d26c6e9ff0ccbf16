"""Then and now: the measured number divided by the number given, one row per number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.claims.definition import Claim, Range
from bench.claims.readings import Number
from bench.claims.verdict import Judged, Position, Verdict
from bench.palette import readable
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import Slide
from bench.text import significant

NAME = "then-and-now"
TITLE = "Well-known numbers, then and now"
COLOURS: dict[str, dict[Position, str]] = {
    "light": {"inside": "#009e73", "outside": "#d55e00", "undecided": "#5b636e"},
    "dark": {"inside": "#2ed3a0", "outside": "#ff8a3d", "undecided": "#a3abb5"},
}
MARKERS: dict[Position, str] = {"inside": "o", "outside": "X", "undecided": "D"}
WORDS: dict[Position, str] = {
    "inside": "reproduced here",
    "outside": "not reproduced here",
    "undecided": "undecided",
}
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class NumberPair:
    """A reading with a number then, above 0, and a number now."""

    claim: Claim
    judged: Judged
    then: Range
    now: Number

    @property
    def middle(self) -> float:
        """The number that was given; the geometric mean of a range."""
        return sqrt(self.then[0] * self.then[1])

    @property
    def text(self) -> str:
        """``50 → 21.1 KiB``."""
        stated = "–".join(f"{value:g}" for value in dict.fromkeys(self.then))
        return f"{stated} → {significant(self.now.value, 3)} {self.judged.reading.unit}"


def rows_of(verdicts: Sequence[Verdict]) -> list[NumberPair]:
    """The rows that can be drawn, in the order of the page.

    Where the author's experiment gave a number, a claim has no other row.
    """
    rows = []
    for verdict in verdicts:
        authors = [
            j for j in verdict.judged if j.reading.whose == "author" and isinstance(j.now, Number)
        ]
        for judged in authors or verdict.judged:
            then, now = judged.reading.then_range, judged.now
            if then is not None and then[0] > 0 and isinstance(now, Number) and now.low > 0:
                rows.append(NumberPair(verdict.claim, judged, then, now))
    return rows


@dataclass(frozen=True, slots=True)
class Bar:
    """A row as it is drawn: everything but the words is a multiple of the claimed number."""

    label: str
    text: str
    position: Position
    now: Range
    value: float
    holds: Range

    @classmethod
    def of(cls, row: NumberPair) -> Bar:
        """Divide a row by its middle."""
        low, high = row.judged.reading.holds
        middle = row.middle
        return cls(
            label(row),
            row.text,
            row.judged.position,
            (row.now.low / middle, row.now.high / middle),
            row.now.value / middle,
            (low / middle, high / middle),
        )


def design(verdicts: Sequence[Verdict]) -> Design | Skip:
    """Now divided by then on a logarithmic axis, with the interval and the claim's bounds."""
    rows = rows_of(verdicts)
    if not rows:
        return Skip(NAME, TITLE, "no claim has a number then and a number now")
    return Design(
        name=NAME,
        title=TITLE,
        finding=tally(rows) if len(rows) > 1 else None,
        subtitle=(
            "Bars: 95 % interval; grey: where the claim counts as true; "
            "dashed: the number given (the middle of a range)"
        ),
        alt="Dot chart of claims, now over then. "
        + " ".join(
            f"“{row.claim.sentence}” ({row.judged.reading.meant}): {row.text}, "
            f"{WORDS[row.judged.position]}."
            for row in rows
        ),
        draw=partial(_draw, [Bar.of(row) for row in rows]),
        notes=(
            "Round: reproduced here. Cross: not reproduced here. "
            "Diamond: undecided, because the interval overlaps a bound. Where an author's "
            "experiment was run, other readings are on the page only.",
        ),
    )


def _draw(bars: Sequence[Bar], slide: Slide) -> None:
    wide, palette = slide.look.wide, slide.palette
    size = slide.label_size(round(1.3 * len(bars)), 17.0 if wide else 13.0)
    axes = slide.panels(right=slide.label_room([bar.text for bar in bars], size))[0]
    colours = COLOURS[slide.look.theme]
    # A square has no room beside the bars, so the claims go above them.
    height = 0.62 if wide else 0.34
    ends = [end for bar in bars for end in bar.now]
    low, high = min(*ends, 0.45) / 1.15, max(*ends, 2.2) * 1.15
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.axvline(1.0, color=palette.muted, linewidth=1.4, linestyle=(0, (3, 3)))
    for place, bar in enumerate(bars):
        colour = colours[bar.position]
        left, right = max(bar.holds[0], low), min(bar.holds[1], high)
        axes.barh(place, right - left, left=left, height=height, color=palette.band, zorder=1)
        axes.plot(bar.now, [place] * 2, color=colour, linewidth=4, solid_capstyle="butt", zorder=3)
        axes.plot(
            [bar.value],
            [place],
            marker=MARKERS[bar.position],
            markersize=13 if wide else 11,
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
    """The claims, beside their bars or above them."""
    size = slide.label_size(2 * len(bars), 15.0)
    if slide.look.wide:
        axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
        axes.tick_params(axis="y", labelsize=size, labelcolor=slide.palette.ink)
        axes.set_ylim(len(bars) - 0.5, -0.5)
        return
    axes.set_yticks([])
    axes.set_ylim(len(bars) - 0.7, -0.75)
    for place, bar in enumerate(bars):
        axes.annotate(
            bar.label.replace("\n", ": "),
            (0, place - 0.39),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=0.8 * size,
            annotation_clip=False,
        ).set_in_layout(False)


def tally(rows: Sequence[NumberPair]) -> str:
    """``12 well-known numbers: 1 reproduced here, 7 not reproduced here, 4 undecided``."""
    counts = Counter(row.judged.position for row in rows)
    found = [f"{counts[position]} {words}" for position, words in WORDS.items() if counts[position]]
    return f"{len(rows)} well-known numbers: {', '.join(found)}"


def label(row: NumberPair) -> str:
    """The claim's title and, if it has several readings, what is meant on a second line."""
    if len(row.claim.reading) == 1:
        return row.claim.title
    return f"{row.claim.title}\n{row.judged.reading.meant}"
