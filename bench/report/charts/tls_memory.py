"""Memory per connection on plain HTTP and over TLS, one under the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes

from bench.analysis.analysis import Analysis
from bench.analysis.encryption import HeldConnection
from bench.analysis.encryption_words import SMALL
from bench.analysis.wording import prose
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_rows
from bench.report.charts.memory import CLEAR
from bench.report.charts.slide import Slide
from bench.show.words import described
from bench.text import KIB, count, number, size_words
from crawlers.registry import MODELS

NAME = "tls-memory"
TITLE = "Memory per connection, plain and over TLS"

ABOVE, BELOW, HEIGHT = -0.2, 0.2, 0.36

COLOURS = {
    "light": {"plain": "#9aa1aa", "openssl": "#0072b2", "library": "#d55e00", "kernel": "#e69f00"},
    "dark": {"plain": "#7b838d", "openssl": "#4aa3df", "library": "#e8743b", "kernel": "#f3c14b"},
}
"""One colour for each part of a bar, as in the chart of memory by owner."""

NAMES = {
    "plain": "user memory, as on plain HTTP",
    "openssl": "OpenSSL",
    "library": "what the library adds to it",
    "kernel": "kernel",
}

Bar = Sequence[tuple[str, float]]
"""Part -> bytes, from the left."""


def design(analysis: Analysis) -> Design | Skip:
    """Two bars for each backend that was held at the largest number of connections."""
    rows = charted(analysis)
    if not rows:
        return Skip(NAME, TITLE, "no valid trial of tls-c10k with memory readings")
    told = {row.label: words(row) for row in rows}
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle=how(rows) + ": above on plain HTTP, below over TLS 1.3",
        alt=f"Paired bar chart: memory per connection. {described(analysis, told)}",
        draw=partial(_draw, rows),
        notes=(
            "OpenSSL: the control bare_tls, which holds connections with OpenSSL and little else. "
            "The library’s part is the rest of what TLS adds to the process.",
        ),
    )


def charted(analysis: Analysis) -> list[HeldConnection]:
    """The main backends held at the largest number of connections, in the campaign's order.

    The table has every backend; :data:`SMALL` is here to show what a buffer makes of asyncio.
    """
    held = analysis.encryption.held
    top = max((row.highest for row in held), default=0)
    return [row for row in held if row.highest == top and row.label in (*analysis.main, SMALL)]


def how(rows: Sequence[HeldConnection]) -> str:
    """How the bars were read."""
    at = sorted({row.connections for row in rows if row.connections is not None})
    top = max(row.highest for row in rows)
    if not at:
        return f"Slope over the numbers of connections up to {count(top)}"
    numbers = " or ".join(map(count, at))
    slopes = "" if all(row.connections is not None for row in rows) else "Slopes, or "
    return f"{slopes}{'a' if slopes else 'A'}t {numbers} connections, divided by their number"


def words(row: HeldConnection) -> str:
    """A backend in the alt text."""
    plain = "" if row.plain_total is None else f"{size_words(row.plain_total)} plain, "
    parts = f"user {size_words(row.user)}"
    if row.openssl is not None:
        parts += f", of which OpenSSL {size_words(row.openssl)}"
    return f"{plain}{size_words(row.total)} over TLS ({parts})"


def finding(rows: Sequence[HeldConnection]) -> str | None:
    """The models that need most and least over TLS, with what they need on plain HTTP."""
    models = [row for row in rows if row.label in MODELS]
    if len(models) < 2:
        return None
    most, least = (pick(models, key=lambda row: row.total) for pick in (max, min))
    if most.total <= CLEAR * least.total:
        return None

    def told(row: HeldConnection) -> str:
        plain = "" if row.plain_total is None else f" (plain {size_words(row.plain_total, 2)})"
        return f"{size_words(row.total, 2)} with {prose(row.label)}{plain}"

    return f"Over TLS an idle connection takes {told(most)} and {told(least)}"


def bars(row: HeldConnection) -> tuple[Bar, Bar]:
    """The bar on plain HTTP, empty if that was not measured, and the bar over TLS."""
    above: Bar = []
    if row.plain_user is not None and row.plain_total is not None:
        above = [("plain", row.plain_user), ("kernel", row.plain_total - row.plain_user)]
    base = min(row.plain_user or 0.0, row.user)
    openssl = min(row.openssl or 0.0, row.user - base)
    below = [
        ("plain", base),
        ("openssl", openssl),
        ("library", row.user - base - openssl),
        ("kernel", row.kernel),
    ]
    return above, below


def _draw(rows: Sequence[HeldConnection], slide: Slide) -> None:
    colours = COLOURS[slide.look.theme]
    slide.swatches([(NAMES[name], colour, "") for name, colour in colours.items()])
    axes = slide.panels()[0]
    size = slide.label_size(2 * len(rows), 15.0)
    for place, row in enumerate(rows):
        above, below = bars(row)
        _bar(axes, place + ABOVE, above, colours, size)
        _bar(axes, place + BELOW, below, colours, size)
    widest = max(max(row.total, row.plain_total or 0.0) for row in rows)
    value_axis(axes, [widest / KIB * 1.16], axis="x", words=number)
    bar_rows(slide, axes, [row.label for row in rows], size)
    axes.set_xlabel("KiB per connection, the client’s side")


def _bar(axes: Axes, place: float, bar: Bar, colours: dict[str, str], size: float) -> None:
    left = 0.0
    for name, value in bar:
        width = max(value, 0.0) / KIB
        axes.barh(place, width, left=left, height=HEIGHT, color=colours[name], zorder=2)
        left += width
    if bar:
        bar_label(axes, size_words(left * KIB), left, place, size, bold=True)
