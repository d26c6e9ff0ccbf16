"""Bytes of a waiting task as bars on a logarithmic axis, beside those of a connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from bench.micro.waiting.lines import Line, lines
from bench.micro.waiting.record import TasksRecord
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.text import KIB, count, significant

NAME = "tasks"
TITLE = "Memory of a waiting task"
ABOVE, BELOW, HEIGHT = -0.2, 0.2, 0.36
KIB_FROM = 1000


def design(record: TasksRecord, connections: Mapping[str, float], beside: str) -> Design | Skip:
    """One bar for each kind; below it, where ``connections`` has it, a connection's.

    ``beside`` says where the connections are from, or why there are none.
    """
    rows = [line for line in lines(record) if line.total is not None]
    if not rows:
        return Skip(NAME, TITLE, "no memory of waiting tasks was measured")
    told = []
    for row in rows:
        held = connections.get(row.kind.backend)
        more = "" if held is None else f" (with a connection {size(held)})"
        told.append(f"{row.kind.title} {size(row.total or 0.0)}{more}")
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle="Slope of memory over the number of tasks that wait without a connection, "
        "user space and kernel together",
        alt=f"Bar chart, bytes of a waiting task. {'; '.join(told)}.",
        draw=partial(_draw, rows, dict(connections)),
        notes=(f"The axis is logarithmic. Strokes: 95 % intervals of the slope. {beside}",),
    )


def finding(rows: Sequence[Line]) -> str | None:
    """A thread in tasks of asyncio, and in coroutines."""
    totals = {row.kind.name: row.total for row in rows}
    thread, task, coroutine = (totals.get(name) for name in ("thread", "asyncio", "coroutine"))
    if not thread or not task or not coroutine:
        return None
    return (
        f"A waiting thread takes the memory of {count(round(thread / task))} asyncio tasks, "
        f"or {count(round(thread / coroutine))} bare coroutines"
    )


def size(value: float) -> str:
    """Bytes, in KiB from a thousand on."""
    if value < KIB_FROM:
        return f"{count(round(value))} B"
    return f"{significant(value / KIB, 2)} KiB"


def _draw(rows: Sequence[Line], connections: Mapping[str, float], slide: Slide) -> None:
    palette = slide.palette
    faint = mix(palette.muted, palette.background, 0.45)
    both = any(row.kind.backend in connections for row in rows)
    if both:
        slide.swatches(
            [
                ("a waiting task (in colour)", palette.ink, ""),
                ("a connection held by its backend, task included", faint, ""),
            ]
        )
    axes = slide.panels()[0]
    text = slide.label_size((2 if both else 1) * len(rows), 15.0)
    values: list[float] = []
    for place, row in enumerate(rows):
        total = row.total or 0.0
        held = connections.get(row.kind.backend)
        height, shift = (HEIGHT, ABOVE) if both else (0.62, 0.0)
        colour = slide.look.of(row.kind.backend or row.kind.name).colour
        end = total / KIB
        axes.barh(place + shift, end, height=height, color=colour, zorder=2)
        if row.interval is not None and row.interval[0] > 0:
            low, end = (value / KIB for value in row.interval)
            bar_range(axes, low, end, place + shift, palette.ink)
        bar_label(axes, size(total), end, place + shift, text, bold=True)
        values += [total / KIB, end]
        if held is not None:
            axes.barh(place + BELOW, held / KIB, height=HEIGHT, color=faint, zorder=2)
            bar_label(axes, size(held), held / KIB, place + BELOW, text)
            values.append(held / KIB)
    value_axis(axes, [*values, max(values) * 2.2], axis="x", words=lambda v: f"{v:g} KiB")
    bar_rows(slide, axes, [row.kind.title for row in rows], text)
    axes.set_xlabel("memory of one")
