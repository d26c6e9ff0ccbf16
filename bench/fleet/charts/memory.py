"""Memory per connection against the number of connections."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from statistics import median

from bench.fleet.charts import line
from bench.fleet.schema import told
from bench.fleet.sentence import per_connection
from bench.fleet.store import FleetRecords
from bench.report.charts.axes import count_axis, value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import EndLabel, Slide
from bench.text import KIB, count, number, size_words

NAME = "fleet-memory"
TITLE = "Memory per connection against connections held"
CLIENT = (
    *("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes"),
    *("kernel_socket_bytes", "kernel_other_bytes"),
)
"""The parts of the client's side, including its half of the kernel memory."""
FLAT = 0.1
"""A line that varies by less than a tenth counts as flat."""


ROOM = 0.12
"""The share of the logarithmic axis that the label of a size takes."""


def spaced(sizes: Sequence[int]) -> list[int]:
    """The sizes to label so that no two labels touch: the ends, then powers of ten, then others."""
    low, high = min(sizes), max(sizes)
    least = ROOM * log10(high / low)
    kept: list[int] = []
    for size in sorted(set(sizes), key=lambda n: (n != high, n != low, log10(n) % 1 != 0, -n)):
        if all(abs(log10(size / other)) >= least for other in kept):
            kept.append(size)
    return sorted(kept)


def design(records: FleetRecords) -> Design | Skip:
    """One line per backend, from the smallest fleet to the largest."""
    data: dict[str, dict[int, list[float]]] = {}
    for trial in records.ok("hold"):
        value = per_connection(trial, CLIENT)
        if value is not None and value > 0:
            data.setdefault(trial.label, {}).setdefault(trial.connections, []).append(value)
    lines = {
        label: {n: median(values) for n, values in sorted(sizes.items())}
        for label, sizes in data.items()
    }
    if not lines:
        return Skip(NAME, TITLE, "no valid trial with memory by owner, which requires root")
    finding = None
    label, longest = max(lines.items(), key=lambda item: max(item[1]))
    if len(longest) > 1:
        first, last = min(longest), max(longest)
        spread = max(longest.values()) / min(longest.values()) - 1
        if spread <= FLAT:
            takes = f"as much memory with {count(last)} open as with {count(first)}"
        else:
            takes = (
                f"{size_words(longest[first], 2)} with {count(first)} open, "
                f"{size_words(longest[last], 2)} with {count(last)}"
            )
        finding = f"A connection of {told(label)} takes {takes}"

    def draw(slide: Slide) -> None:
        names = [told(label) for label in lines]
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        labels: list[EndLabel] = []
        for label, values in lines.items():
            ys = [value / KIB for value in values.values()]
            labels.append(line(slide, axes, label, list(values), ys, [False] * len(ys)))
        ticks = sorted({n for values in lines.values() for n in values})
        count_axis(axes, spaced(ticks))
        axes.set_xlim(min(ticks) / 1.3, max(ticks) * 1.3)
        value_axis(
            axes, [v / KIB for values in lines.values() for v in values.values()], words=number
        )
        axes.set_xlabel("connections that the whole fleet holds at once")
        axes.set_title("KiB per connection", color=slide.palette.muted)
        slide.label_ends(axes, labels, size)

    alt = "Line chart: memory per connection. " + "; ".join(
        f"{told(label)} "
        + ", ".join(f"{size_words(v, 2)} at {count(n)}" for n, v in values.items())
        for label, values in lines.items()
    )
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle="The client’s side: all worker processes and their half of the kernel memory",
        alt=alt + ".",
        draw=draw,
        notes=("Without the memory of the processes before their first connection.",),
    )
