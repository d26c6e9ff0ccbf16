"""Total memory against connections held open."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts, apart
from bench.charts.style import (
    EndLabel,
    Plan,
    Skip,
    Slide,
    count,
    count_axis,
    markers,
    memory_axis,
    range_bar,
    size_words,
)
from bench.schema import TrialRecord

NAME = "memory-total"
TITLE = "Total memory against connections held open"


def total_bytes(trial: TrialRecord) -> float | None:
    """Memory of the whole crawler: its own parts as held, plus what the kernel's parts grew by."""
    growth = stats.memory_growth(trial)
    if growth is None or trial.memory is None:
        return None
    held = trial.memory.held
    own = [held.user_bytes, held.page_table_bytes, held.kernel_stack_bytes]
    if own[0] is None:
        return None
    kernel = [growth[name] for name in stats.MEMORY_PARTS if name not in stats.OWN_PARTS]
    return float(sum(v for v in own if v is not None)) + sum(v for v in kernel if v is not None)


def plan(facts: Facts) -> Plan | Skip:
    """One line per backend, medians over blocks with their range."""
    data: dict[str, dict[float, stats.Spread]] = {}
    partial: set[str] = set()
    for label, sizes in facts.by_size("c10k", "connections").items():
        if label not in facts.main:
            continue
        for connections, trials in sizes.items():
            found = stats.spread(total_bytes(t) for t in trials)
            if found:
                data.setdefault(label, {})[connections] = found
            for trial in trials:
                growth = stats.memory_growth(trial) or {}
                partial |= {n for n in stats.MEMORY_PARTS if growth.get(n) is None}
    if not data:
        return Skip(NAME, TITLE, "no valid trial of the c10k workload with memory readings")
    top = max(n for s in data.values() for n in s)
    at_top = {label: s[top] for label, s in data.items() if top in s}
    finding = None
    if len(at_top) > 1:
        most = max(at_top.items(), key=lambda i: i[1].median)
        least = min(at_top.items(), key=lambda i: i[1].median)
        # Memory hardly scatters, so three blocks and a tenth are asked for here.
        if apart(most[1], least[1], 3) and most[1].median > 1.1 * least[1].median:
            finding = (
                f"{count(top)} connections take {most[0]} {size_words(most[1].median)}, "
                f"{least[0]} {size_words(least[1].median)}"
            )
    blocks = max(s.count for sizes_ in data.values() for s in sizes_.values())
    notes = (f"Without {', '.join(sorted(partial))}: not measured.",) if partial else ()

    def draw(slide: Slide) -> None:
        names = list(data)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        ticks = sorted({n for s in data.values() for n in s})
        count_axis(axes, ticks)
        everything: list[float] = []
        ends: list[EndLabel] = []
        for label, points in data.items():
            look = slide.look.of(label)
            xs, ys = list(points), [s.median for s in points.values()]
            for x, s in points.items():
                everything += [s.low, s.high]
                range_bar(axes, look, x, s)
            axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
            markers(axes, look, xs, ys, [False] * len(xs), slide.palette.background)
            ends.append(EndLabel(label, xs[-1], ys[-1], look.colour, look.width > 2))
        memory_axis(axes, everything)
        axes.set_xlim(min(ticks) / 1.3, max(ticks) * 1.15)
        axes.set_xlabel("connections held open at once")
        slide.label_ends(axes, ends, size)

    alt = (
        f"Line chart: memory against connections. At {count(top)} connections: "
        + "; ".join(f"{a} {size_words(s.median)}" for a, s in list(at_top.items())[:8])
        + "."
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=(
            "The crawler’s process and its share of the kernel, at the barrier; "
            + (
                f"median of {blocks} blocks, bars from lowest to highest"
                if blocks > 1
                else "one block, no spread"
            )
        ),
        alt=alt,
        draw=draw,
        notes=notes,
    )
