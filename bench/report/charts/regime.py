"""The regime map: which model wins, by slots and delay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.regime import Cell
from bench.analysis.wording import says
from bench.palette import mix
from bench.report.charts.design import Design, Skip
from bench.report.charts.look import MODEL_MARKERS
from bench.report.charts.slide import Slide
from bench.show.words import sentence
from bench.text import count, listing, times

NAME = "regime"
TITLE = "Which model wins, by slots and delay"
METRICS = (
    (stats.PAGES_PER_S, "most pages per second"),
    (stats.CPU_PER_1000, "least CPU per page"),
)

Maps = Sequence[tuple[str, Sequence[Cell]]]
"""What a map shows, and its cells."""


def design(analysis: Analysis) -> Design | Skip:
    """One map by rate and one by CPU, as the delay sets the rate of half the cells."""
    maps = [(words, analysis.regime(metric)) for metric, words in METRICS]
    if not maps[0][1]:
        return Skip(NAME, TITLE, "no valid trial of the regime workload")
    slots = sorted({c.slots for _, cells in maps for c in cells})
    delays = sorted({c.delay_ms for _, cells in maps for c in cells})
    # A number of slots that was measured at one delay only is no row of a map.
    slots = [n for n in slots if len({c.delay_ms for c in maps[0][1] if c.slots == n}) > 1]
    if not slots:
        return Skip(NAME, TITLE, "no number of slots was measured at two delays")
    maps = [(words, [c for c in cells if c.slots in slots]) for words, cells in maps]
    winners = [Counter(c.best[0] for c in cells if c.won) for _, cells in maps]
    limited = any(c.server_limited for _, cells in maps for c in cells)
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(winners[0], winners[1], len(maps[0][1])),
        subtitle=(
            "Coloured: that model beats each of the other three, by paired 95 % intervals beyond "
            "the noise floor. Plain: the models named are equivalent. Hatched: undecided between "
            "them"
        ),
        alt=_alt(maps),
        draw=partial(_draw, maps, slots, delays),
        notes=(
            "×: the winner’s lead on the next model. Where the delay sets the rate, all models "
            "have the same rate, and the CPU decides. ~: blocks in all that would decide a cell, "
            "if they scatter like these.",
            *(("○: limited by the server; a winner is at least that far ahead.",) * limited),
        ),
    )


def _draw(maps: Maps, slots: Sequence[int], delays: Sequence[float], slide: Slide) -> None:
    panels = slide.panels(2) if slide.look.wide else slide.panels(1, 2)
    for axes, (words, cells) in zip(panels, maps, strict=True):
        for cell in cells:
            _cell(slide, axes, cell, delays.index(cell.delay_ms), slots.index(cell.slots))
        axes.set_xlim(-0.5, len(delays) - 0.5)
        axes.set_ylim(-0.5, len(slots) - 0.5)
        axes.set_xticks(range(len(delays)), [f"{d:g} ms" if d else "none" for d in delays])
        axes.set_yticks(range(len(slots)), [count(n) for n in slots])
        axes.grid(visible=False)
        axes.spines["bottom"].set_visible(False)
        axes.set_xlabel("delay of the server (median)")
        axes.set_title(words, fontweight="bold")
    panels[0].set_ylabel("slots")


def _cell(slide: Slide, axes: Axes, cell: Cell, x: int, y: int) -> None:
    palette = slide.palette
    won = cell.won
    decided = won or cell.shared
    fill = mix(palette.models[cell.best[0]], palette.background, 0.45) if won else palette.band
    axes.add_patch(
        Rectangle(
            (x - 0.48, y - 0.48),
            0.96,
            0.96,
            facecolor=fill,
            edgecolor=fill if won else mix(palette.muted, palette.background, 0.65),
            hatch=None if decided else "//",
            linewidth=0,
        )
    )
    if not cell.enough:
        lines = ["too few", "blocks"]
    elif won:
        lines = [cell.best[0], f"×{times(cell.lead or 1)}"]
    elif len(cell.best) == len(MODEL_MARKERS):
        lines = [f"all ±{100 * (cell.margin or 0):.0f} %"] if cell.shared else ["undecided"]
    else:
        lines = list(cell.best)
    if cell.enough and not decided:
        needed = cell.blocks_to_settle
        lines.append(f"(~{count(needed or stats.MOST_BLOCKS)} blocks)")
    if cell.server_limited:
        lines.append("○")
    axes.annotate(
        "\n".join(lines),
        (x, y),
        ha="center",
        va="center",
        fontsize=12.0 if won else 11.0,
        fontweight="bold" if won else "normal",
        color=palette.ink,
    )


def _finding(speed: Counter[str], cpu: Counter[str], cells: int) -> str | None:
    """Who wins most of the cells by each metric; a tie is no winner."""
    first, second = _most(speed), _most(cpu)
    if first is None and second is None:
        return None
    if first == second and first is not None:
        won = f"{speed[first]} of {cells} regimes by speed and {cpu[first]} by CPU"
        return sentence(f"{says(first, 'win')} {won}")
    parts = [
        f"by {what} {says(name, 'win')} {won[name]}" if name else f"none wins most by {what}"
        for name, won, what in ((first, speed, "speed"), (second, cpu, "CPU"))
    ]
    return f"Of {cells} regimes, {listing(parts)}"


def _most(winners: Counter[str]) -> str | None:
    ranked = [*winners.most_common(2), ("", 0), ("", 0)]
    return ranked[0][0] if ranked[0][1] > ranked[1][1] else None


def _alt(maps: Maps) -> str:
    parts = []
    for words, cells in maps:
        found = "; ".join(
            f"{c.slots} slots, {c.delay_ms:g} ms: " + (c.best[0] if c.won else _level(c))
            for c in cells
        )
        parts.append(f"{words}: {found}")
    return f"Two maps of slots by delay. {'. '.join(parts)}."


def _level(cell: Cell) -> str:
    return f"{'equivalent' if cell.shared else 'undecided between'} {listing(cell.best)}"
