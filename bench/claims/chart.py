"""Then and now: what stands today over what was said, one row for each number that was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.charts.style import Plan, Skip, Slide, readable, significant
from bench.claims.definition import Claim, Range
from bench.claims.readings import Number
from bench.claims.verdict import Judged, Stand, Verdict

NAME = "then-and-now"
TITLE = "Famous numbers, then and now"
COLOURS: dict[str, dict[Stand, str]] = {
    "light": {"inside": "#009e73", "outside": "#d55e00", "undecided": "#5b636e"},
    "dark": {"inside": "#2ed3a0", "outside": "#ff8a3d", "undecided": "#a3abb5"},
}
MARKERS: dict[Stand, str] = {"inside": "o", "outside": "X", "undecided": "D"}
WORDS: dict[Stand, str] = {
    "inside": "holds",
    "outside": "no longer holds",
    "undecided": "undecided",
}
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Row:
    """One reading that has a number then, above 0, and one now."""

    claim: Claim
    judged: Judged
    then: Range
    now: Number

    @property
    def middle(self) -> float:
        """What was said, as one number: the geometric middle of a range."""
        return sqrt(self.then[0] * self.then[1])

    @property
    def text(self) -> str:
        """``50 KiB said, 21.1 now``."""
        said = "–".join(f"{value:g}" for value in dict.fromkeys(self.then))
        return f"{said} → {significant(self.now.value, 3)} {self.judged.reading.unit}"


def rows_of(verdicts: Sequence[Verdict]) -> list[Row]:
    """The rows that can be drawn, in the page's order."""
    rows = []
    for verdict in verdicts:
        for judged in verdict.judged:
            then, now = judged.reading.then_range, judged.now
            if then is not None and then[0] > 0 and isinstance(now, Number) and now.low > 0:
                rows.append(Row(verdict.claim, judged, then, now))
    return rows


def plan(verdicts: Sequence[Verdict]) -> Plan | Skip:
    """Now over then on a logarithmic axis, with the interval and the claim's bounds."""
    rows = rows_of(verdicts)
    if not rows:
        return Skip(NAME, TITLE, "no claim has a number then and a number now")
    finding = tally(rows) if len(rows) > 1 else None

    def draw(slide: Slide) -> None:
        size = slide.label_size(round(1.3 * len(rows)), 17.0 if slide.look.wide else 13.0)
        axes = slide.panels(right=slide.label_room([row.text for row in rows], size))[0]
        colours = COLOURS[slide.look.theme]
        # A square has no room beside the bars: there the claims stand above them.
        height = 0.62 if slide.look.wide else 0.34
        ends = [row.now.low / row.middle for row in rows] + [r.now.high / r.middle for r in rows]
        low, high = min(*ends, 0.45) / 1.15, max(*ends, 2.2) * 1.15
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.axvline(1.0, color=slide.palette.muted, linewidth=1.4, linestyle=(0, (3, 3)))
        for place, row in enumerate(rows):
            bounds = row.judged.reading.holds
            left = max(bounds[0] / row.middle, low)
            right = high if bounds[1] == inf else min(bounds[1] / row.middle, high)
            axes.barh(
                place, right - left, left=left, height=height, color=slide.palette.band, zorder=1
            )
            stand = row.judged.stand
            axes.plot(
                [row.now.low / row.middle, row.now.high / row.middle],
                [place, place],
                color=colours[stand],
                linewidth=4,
                solid_capstyle="butt",
                zorder=3,
            )
            axes.plot(
                [row.now.value / row.middle],
                [place],
                marker=MARKERS[stand],
                markersize=13 if slide.look.wide else 11,
                color=colours[stand],
                linestyle="none",
                zorder=4,
            )
            axes.annotate(
                row.text,
                (1.0, place),
                xycoords=("axes fraction", "data"),
                xytext=(12, 0),
                textcoords="offset points",
                va="center",
                fontsize=size,
                fontweight="bold",
                color=readable(colours[stand], slide.palette.background),
                annotation_clip=False,
            ).set_in_layout(False)
        small = slide.label_size(2 * len(rows), 15.0)
        if slide.look.wide:
            axes.set_yticks(range(len(rows)), [label(row) for row in rows])
            axes.tick_params(axis="y", labelsize=small, labelcolor=slide.palette.ink)
            axes.set_ylim(len(rows) - 0.5, -0.5)
        else:
            axes.set_yticks([])
            axes.set_ylim(len(rows) - 0.7, -0.75)
            for place, row in enumerate(rows):
                axes.annotate(
                    label(row).replace("\n", ": "),
                    (0, place - 0.39),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    fontsize=0.8 * small,
                    annotation_clip=False,
                ).set_in_layout(False)
        axes.xaxis.set_major_locator(FixedLocator([t for t in TICKS if low <= t <= high]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"×{v:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("now, as a multiple of what was said")

    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=(
            "Bars: 95 % interval; grey: where the sentence is called true; "
            "dashed: what was said (the middle of a range)"
        ),
        alt="Dot chart of claims, now over then. "
        + " ".join(
            f"“{row.claim.sentence}” ({row.judged.reading.meant}): {row.text}, "
            f"{WORDS[row.judged.stand]}."
            for row in rows
        ),
        draw=draw,
        notes=(
            "Round: holds. Cross: no longer holds. Diamond: the interval reaches over a bound.",
        ),
    )


def tally(rows: Sequence[Row]) -> str:
    """``12 famous numbers: 1 holds, 7 no longer hold, 4 undecided``."""
    counts = Counter(row.judged.stand for row in rows)
    words: dict[Stand, tuple[str, str]] = {
        "inside": ("holds", "hold"),
        "outside": ("no longer holds", "no longer hold"),
        "undecided": ("undecided", "undecided"),
    }
    said = [
        f"{counts[stand]} {words[stand][counts[stand] > 1]}" for stand in words if counts[stand]
    ]
    return f"{len(rows)} famous numbers: {', '.join(said)}"


def label(row: Row) -> str:
    """The claim in a few words and, where there is a choice, what is meant on a second line."""
    if len(row.claim.reading) == 1:
        return row.claim.title
    return f"{row.claim.title}\n{row.judged.reading.meant}"
