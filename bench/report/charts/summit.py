"""The C10K summit: connections alive and memory against time, up the ramp and down again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.report.charts.axes import memory_axis, value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.memory_total import takes
from bench.report.charts.slide import Slide
from bench.schema import Ramp, TrialRecord
from bench.show.words import described, of_blocks
from bench.text import KIB, count, duration, size_words

NAME = "summit"
TITLE = "The summit: connections and memory against time"


def at_barrier(ramp: Ramp) -> float | None:
    """Bytes of the crawler's own memory when the barrier opened."""
    before = [
        own
        for at, own in zip(ramp.at_ms, ramp.own_kib, strict=True)
        if own is not None and (ramp.opened_ms is None or at <= ramp.opened_ms)
    ]
    return before[-1] * KIB if before else None


def typical(trials: Sequence[TrialRecord]) -> Ramp | None:
    """The ramp of the trial whose barrier opened at the median time; the one drawn."""
    ramps = [t.ramp for t in trials if t.ramp is not None and t.ramp.opened_ms is not None]
    ramps.sort(key=lambda ramp: ramp.opened_ms or 0)
    return ramps[(len(ramps) - 1) // 2] if ramps else None


def design(analysis: Analysis) -> Design | Skip:
    """Two panels over one time axis, one line per backend: its median trial."""
    climbs = {
        label: {n: ts for n, mine in sizes.items() if (ts := [t for t in mine if t.ramp])}
        for label, sizes in analysis.by_size("c10k", "connections").items()
        if label in analysis.main
    }
    top = max((n for sizes in climbs.values() for n in sizes), default=0.0)
    at_top = {label: sizes[top] for label, sizes in climbs.items() if top in sizes}
    lines = {label: ramp for label, mine in at_top.items() if (ramp := typical(mine))}
    if not lines:
        return Skip(NAME, TITLE, "no valid trial of the c10k workload was watched over time")
    own = {
        label: found
        for label in lines
        if (found := stats.spread(at_barrier(t.ramp) for t in at_top[label] if t.ramp))
    }
    told = {
        label: f"open after {duration(float(ramp.opened_ms or 0))}"
        + (f" with {size_words(own[label].median)}" if label in own else "")
        for label, ramp in lines.items()
    }
    blocks = [len({t.block for t in at_top[label]}) for label in lines]
    pace = {t.params.get("ramp_per_s") for label in lines for t in at_top[label]}
    paced = f" at {count(float(pace.pop() or 0))} a second" if len(pace) == 1 and all(pace) else ""
    return Design(
        name=NAME,
        title=TITLE,
        finding=takes(top, own, " of user memory and stacks"),
        subtitle=(
            f"Connections are opened{paced}; the server answers once all {count(top)} are open; "
            "markers: it starts to answer"
        ),
        alt=f"Line chart over time: connections climb to {count(top)}, then fall as the server "
        f"answers. {described(analysis, told)}",
        draw=partial(_draw, lines, top),
        notes=(
            f"Each line is one of {of_blocks(blocks)}: the one that had all connections open at "
            "the median time."
            if max(blocks) > 1
            else f"Each line is {of_blocks(blocks)}.",
            *_interval(trial for label in lines for trial in at_top[label]),
        ),
    )


def _interval(trials: Iterable[TrialRecord]) -> list[str]:
    """That threads wait longer for the lock than Python has them, which changes the times."""
    found = {t.params.get("switch_interval_s") for t in trials} - {None}
    if not found:
        return []
    longest = max(float(value or 0) for value in found)
    return [
        f"Switch interval {longest:g} s for every backend (Python's own is 5 ms): with threads it "
        "changes the times, and hardly the memory."
    ]


def _draw(lines: Mapping[str, Ramp], top: float, slide: Slide) -> None:
    slide.key(list(lines))
    alive, memory = slide.panels(rows=2, sharex=True)
    values: list[float] = []
    for label, ramp in lines.items():
        look = slide.look.of(label)
        line: dict[str, Any] = {
            "color": look.colour,
            "linewidth": look.width,
            "linestyle": look.line,
            "zorder": look.order,
        }
        seconds = [at / 1000 for at in ramp.at_ms]
        alive.plot(seconds, ramp.connections, **line)
        known = [(s, k * KIB) for s, k in zip(seconds, ramp.own_kib, strict=True) if k is not None]
        memory.plot([s for s, _ in known], [v for _, v in known], **line)
        values += [v for _, v in known]
        level = at_barrier(ramp)
        opened = (ramp.opened_ms or 0) / 1000
        for axes, height in ((alive, float(max(ramp.connections))), (memory, level)):
            if height is not None:
                axes.plot(
                    [opened],
                    [height],
                    marker=look.marker,
                    markersize=11,
                    color=look.colour,
                    markeredgecolor=slide.palette.background,
                    markeredgewidth=1.5,
                    zorder=look.order + 1,
                    clip_on=False,
                )
    alive.set_title("open connections, counted by the server", color=slide.palette.muted)
    memory.set_title(
        "the crawler’s user memory, page tables and kernel stacks", color=slide.palette.muted
    )
    value_axis(alive, [top], words=count)
    if values:
        memory_axis(memory, values)
    memory.set_xlim(0, max(ramp.at_ms[-1] for ramp in lines.values()) / 1000 * 1.02)
    memory.set_xlabel("seconds since the crawl began")
