"""Throughput of a shared crawl against the number of workers."""

from __future__ import annotations

from statistics import median

from bench.charts.style import (
    EndLabel,
    Plan,
    Skip,
    Slide,
    markers,
    number,
    range_bar,
    times,
    value_axis,
)
from bench.fleet.store import FleetRecords
from bench.stats import Spread, spread

NAME = "fleet-throughput"
TITLE = "Throughput of a shared crawl against workers"
ENOUGH = 3
"""Trials of a point from which a difference is said: a single one is never a finding."""
BUSY = 0.9
"""A server that used so much of its processor was the limit."""


def plan(records: FleetRecords) -> Plan | Skip:
    """One line per backend; hollow where the one server was the limit."""
    rates: dict[str, dict[int, list[float]]] = {}
    shares: dict[tuple[str, int], list[float]] = {}
    for trial in records.ok("crawl"):
        if trial.pages_per_s:
            rates.setdefault(trial.backend, {}).setdefault(trial.workers, []).append(
                trial.pages_per_s
            )
            shares.setdefault((trial.backend, trial.workers), []).append(trial.server_share or 0.0)
    lines: dict[str, dict[int, Spread]] = {
        label: {n: found for n, v in sorted(by_size.items()) if (found := spread(v))}
        for label, by_size in rates.items()
    }
    if not lines:
        return Skip(NAME, TITLE, "no valid shared crawl")
    finding = None
    label, line = max(lines.items(), key=lambda item: max(item[1]))
    first, last = min(line), max(line)
    if first != last and min(line[first].count, line[last].count) >= ENOUGH:
        ratio = line[last].median / line[first].median
        if line[last].low > line[first].high or line[last].high < line[first].low:
            finding = f"{label}: {last} workers crawl {times(ratio)} times as fast as {first}"

    def limited(label: str, workers: int) -> bool:
        return median(shares[label, workers]) > BUSY

    def draw(slide: Slide) -> None:
        names = list(lines)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        ends: list[EndLabel] = []
        for label, line in lines.items():
            look = slide.look.of(label)
            xs, ys = list(line), [s.median for s in line.values()]
            for x, s in line.items():
                range_bar(axes, look, x, s)
            axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
            hollow = [limited(label, x) for x in xs]
            markers(axes, look, xs, ys, hollow, slide.palette.background)
            ends.append(EndLabel(label, xs[-1], ys[-1], look.colour))
        ticks = sorted({n for line in lines.values() for n in line})
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_xlim(min(ticks) - 0.3, max(ticks) + 0.2)
        value_axis(axes, [s.high for line in lines.values() for s in line.values()], words=number)
        axes.set_xlabel("worker processes")
        axes.set_title("pages per second", color=slide.palette.muted)
        slide.label_ends(axes, ends, size)

    processors = records.fleet.environment.cpu_count
    alt = "Line chart: pages per second against workers. " + "; ".join(
        f"{label} " + ", ".join(f"{number(s.median)} with {n}" for n, s in line.items())
        for label, line in lines.items()
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle="One frontier shared out by the hash of each URL; every page fetched once",
        alt=alt + ".",
        draw=draw,
        hollow=any(limited(label, n) for label, line in lines.items() for n in line),
        notes=(f"Workers and server share the {processors} processors of one machine.",)
        if len(records.fleet.hosts) == 1 or len({h.machine for h in records.fleet.hosts}) == 1
        else (),
    )
