"""Memory per connection by owner, with the fixed cost of the process apart."""

from __future__ import annotations

from bench import stats
from bench.charts.facts import Facts
from bench.charts.style import Plan, Skip, Slide, number, size_words, swatches, value_axis

NAME = "memory"
TITLE = "Memory per connection, by owner"
KIB = 1024.0
MIB = 1024.0**2

# One colour per part, not per backend: here the parts are what is compared.
PART_COLOURS = {
    "light": {
        "user": "#0072b2",
        "page tables": "#56b4e9",
        "kernel stacks": "#d55e00",
        "kernel sockets": "#e69f00",
        "send buffers": "#cc79a7",
        "other": "#9aa1aa",
    },
    "dark": {
        "user": "#4aa3df",
        "page tables": "#a8dcf7",
        "kernel stacks": "#e8743b",
        "kernel sockets": "#f3c14b",
        "send buffers": "#e39ac4",
        "other": "#7b838d",
    },
}


def plan(facts: Facts) -> Plan | Skip:
    """Stacked bars of the fitted slopes; the intercepts in a panel of their own."""
    rows: list[tuple[str, dict[str, float], tuple[float, float] | None, float | None]] = []
    sloped = 0
    missing: dict[str, str] = {}
    for label, fit in facts.memory.items():
        if label not in facts.main:
            continue
        parts: dict[str, float] = {}
        low = high = 0.0
        fitted = any(p.slope is not None for p in fit.parts.values())
        for name, part in fit.parts.items():
            value = part.slope if fitted else fit.at_highest[name]
            if value is None:
                missing[name] = part.reason or "not measured"
                continue
            parts[name] = max(value, 0.0)
            low += max(part.low or 0.0, 0.0)
            high += max(part.high or 0.0, 0.0)
        if parts:
            sloped += fitted
            rows.append((label, parts, (low, high) if fitted else None, fit.fixed))
    if not rows:
        return Skip(NAME, TITLE, "no valid trial of the c10k workload with memory readings")
    finding = None
    bounded = [(label, sum(p.values()), i) for label, p, i, _ in rows if i]
    if len(bounded) > 1:
        most = max(bounded, key=lambda r: r[1])
        least = min(bounded, key=lambda r: r[1])
        if most[2][0] > least[2][1] > 0 and most[1] / least[1] > 1.05:
            finding = (
                f"A connection costs {most[0]} {size_words(most[1], 2)}, {least[0]} "
                f"{size_words(least[1], 2)}"
            )
    counts = sorted({n for label, *_ in rows for n in facts.memory[label].connections})
    notes = [f"Not in the bars: {n} ({why})." for n, why in sorted(missing.items())]
    if finding is None and len(bounded) > 1:
        notes.insert(0, "No difference shown: the intervals of the totals overlap.")
    how = (
        f"Slope of a robust (Theil–Sen) line over {len(counts)} connection counts up to "
        f"{counts[-1]:,}; bars are 95 % intervals of the total"
        if sloped
        else f"At {counts[-1]:,} connections, divided by their number: too few counts for a slope"
    )

    def draw(slide: Slide) -> None:
        fixed = [f for *_, f in rows]
        two = any(f is not None for f in fixed)
        colours = PART_COLOURS[slide.look.theme]
        panels = slide.panels(2 if two else 1, widths=[3.1, 1.0] if two else None)
        axes = panels[0]
        size = min(16.0, slide.label_size(len(rows), 17.0))
        for place, (_, parts, interval, _) in enumerate(rows):
            left = 0.0
            for name in stats.MEMORY_PARTS:
                value = parts.get(name, 0.0) / KIB
                axes.barh(place, value, left=left, height=0.62, color=colours[name], zorder=2)
                left += value
            edge = left
            if interval:
                low, high = interval[0] / KIB, interval[1] / KIB
                axes.plot(
                    [low, high], [place] * 2, color=slide.palette.ink, linewidth=1.8, zorder=5
                )
                edge = max(left, high)
            axes.annotate(
                size_words(left * KIB),
                (edge, place),
                xytext=(10, 0),
                textcoords="offset points",
                va="center",
                fontsize=size,
                fontweight="bold",
            )
        widest = max(max(sum(p.values()), i[1] if i else 0.0) for _, p, i, _ in rows) / KIB
        value_axis(axes, [widest * 1.2], axis="x", words=number)
        axes.set_xlabel("KiB per connection")
        axes.set_yticks(range(len(rows)), [r[0] for r in rows])
        axes.tick_params(axis="y", labelsize=size, labelcolor=slide.palette.ink)
        names = [n for n in stats.MEMORY_PARTS if any(r[1].get(n, 0.0) > 0 for r in rows)]
        swatches(slide, axes, [(n, colours[n], "") for n in names])
        if two:
            other = panels[1]
            for place, known in enumerate(fixed):
                if known is None:
                    continue
                other.barh(place, known / MIB, height=0.62, color=slide.palette.muted, zorder=2)
                other.annotate(
                    f"{known / MIB:.0f}",
                    (known / MIB, place),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=size,
                )
            value_axis(
                other, [max(f for f in fixed if f is not None) / MIB * 1.3], axis="x", words=number
            )
            other.locator_params(axis="x", nbins=3)
            other.set_xlabel("MiB fixed")
            other.set_yticks([])
        for panel in panels:
            panel.set_ylim(len(rows) - 0.45, -0.55)
            panel.grid(axis="x")
            panel.grid(visible=False, axis="y")
            panel.spines["bottom"].set_visible(False)

    alt = (
        "Stacked bar chart: memory per connection by owner. "
        + "; ".join(
            f"{label} {size_words(sum(parts.values()))} ("
            + ", ".join(f"{n} {size_words(v)}" for n, v in parts.items() if v >= 50)
            + ")"
            for label, parts, *_ in rows[:8]
        )
        + "."
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=how,
        alt=alt,
        draw=draw,
        notes=(
            *notes,
            "The server’s side of the sockets is not counted. Fixed: the process with no "
            "connection open.",
        ),
    )
