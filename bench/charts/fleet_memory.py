"""Memory per connection against how many are held: flat or not?"""

from __future__ import annotations

from statistics import median

from bench.charts.style import (
    EndLabel,
    Plan,
    Skip,
    Slide,
    count,
    count_axis,
    markers,
    number,
    size_words,
    value_axis,
)
from bench.fleet.schema import FleetTrialRecord
from bench.fleet.store import FleetRecords

NAME = "fleet-memory"
TITLE = "Memory per connection against connections held"
KIB = 1024.0
CLIENT = (
    *("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes"),
    *("kernel_socket_bytes", "kernel_other_bytes"),
)
FLAT = 0.1
"""A line that stays within a tenth of itself is called flat."""


def client_bytes(trial: FleetTrialRecord) -> float | None:
    """The client's memory for one connection, its half of the kernel's included."""
    if trial.growth is None:
        return None
    values = [getattr(trial.growth, name) for name in CLIENT]
    if any(value is None for value in values):
        return None
    return float(sum(values)) / trial.connections


def plan(records: FleetRecords) -> Plan | Skip:
    """One line per backend, from the smallest fleet to the largest."""
    data: dict[str, dict[int, list[float]]] = {}
    for trial in records.ok("hold"):
        value = client_bytes(trial)
        if value is not None and value > 0:
            data.setdefault(trial.backend, {}).setdefault(trial.connections, []).append(value)
    lines = {
        label: {n: median(values) for n, values in sorted(sizes.items())}
        for label, sizes in data.items()
    }
    if not lines:
        return Skip(NAME, TITLE, "no valid trial with memory by owner (that needs root)")
    finding = None
    label, line = max(lines.items(), key=lambda item: max(item[1]))
    if len(line) > 1:
        first, last = min(line), max(line)
        spread = max(line.values()) / min(line.values()) - 1
        ends = f"{size_words(line[first], 2)} at {count(first)}, {size_words(line[last], 2)}"
        finding = (
            f"A connection of {label} costs {'the same' if spread <= FLAT else ends + ' each'} "
            + (f"from {count(first)} to {count(last)}" if spread <= FLAT else f"at {count(last)}")
        )

    def draw(slide: Slide) -> None:
        names = list(lines)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        labels: list[EndLabel] = []
        for label, line in lines.items():
            look = slide.look.of(label)
            xs, ys = list(line), [value / KIB for value in line.values()]
            axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
            markers(axes, look, xs, ys, [False] * len(xs), slide.palette.background)
            labels.append(EndLabel(label, xs[-1], ys[-1], look.colour))
        ticks = sorted({n for line in lines.values() for n in line})
        count_axis(axes, ticks)
        axes.set_xlim(min(ticks) / 1.3, max(ticks) * 1.3)
        value_axis(axes, [v / KIB for line in lines.values() for v in line.values()], words=number)
        axes.set_xlabel("connections held at once by the whole fleet")
        axes.set_title("KiB per connection", color=slide.palette.muted)
        slide.label_ends(axes, labels, size)

    alt = "Line chart: memory per connection. " + "; ".join(
        f"{label} " + ", ".join(f"{size_words(v, 2)} at {count(n)}" for n, v in line.items())
        for label, line in lines.items()
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle="The client’s side: its processes and its half of the kernel, added over workers",
        alt=alt + ".",
        draw=draw,
        notes=("What the processes take before their first connection is not in it.",),
    )
