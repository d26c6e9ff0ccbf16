"""Throughput of a shared crawl against the number of workers."""

from __future__ import annotations

from statistics import median

from bench.analysis.stats import Spread, spread
from bench.analysis.wording import against
from bench.fleet.charts import line
from bench.fleet.store import FleetRecords
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import range_bar
from bench.report.charts.slide import EndLabel, Slide
from bench.text import number

NAME = "fleet-throughput"
TITLE = "Throughput of a shared crawl against workers"
ENOUGH = 3
"""Trials per point required for a finding: a single trial never is one."""
BUSY = 0.9
"""A server that used this much of its processor was the limiter."""


def design(records: FleetRecords) -> Design | Skip:
    """One line per backend; hollow where the server was the limiter."""
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
    label, longest = max(lines.items(), key=lambda item: max(item[1]))
    first, last = min(longest), max(longest)
    if first != last and min(longest[first].count, longest[last].count) >= ENOUGH:
        ratio = longest[last].median / longest[first].median
        if longest[last].low > longest[first].high or longest[last].high < longest[first].low:
            much = against(ratio, "fewer", "pages per second", str(first))
            finding = f"{label}: {last} workers crawl {much}"

    def limited(label: str, workers: int) -> bool:
        return median(shares[label, workers]) > BUSY

    def draw(slide: Slide) -> None:
        names = list(lines)
        size = slide.label_size(len(names))
        axes = slide.panels(right=slide.label_room(names, size))[0]
        ends: list[EndLabel] = []
        for label, spreads in lines.items():
            for x, s in spreads.items():
                range_bar(axes, slide.look.of(label), x, s)
            ys = [s.median for s in spreads.values()]
            hollow = [limited(label, x) for x in spreads]
            ends.append(line(slide, axes, label, list(spreads), ys, hollow))
        ticks = sorted({n for spreads in lines.values() for n in spreads})
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_xlim(min(ticks) - 0.3, max(ticks) + 0.2)
        value_axis(
            axes, [s.high for spreads in lines.values() for s in spreads.values()], words=number
        )
        axes.set_xlabel("worker processes")
        axes.set_title("pages per second", color=slide.palette.muted)
        slide.label_ends(axes, ends, size)

    processors = records.fleet.environment.cpu_count
    alt = "Line chart: pages per second against workers. " + "; ".join(
        f"{label} " + ", ".join(f"{number(s.median)} with {n}" for n, s in spreads.items())
        for label, spreads in lines.items()
    )
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle="One crawl, divided by the hash of each URL; every page is fetched once",
        alt=alt + ".",
        draw=draw,
        hollow=any(limited(label, n) for label, spreads in lines.items() for n in spreads),
        notes=(f"Workers and server share the {processors} processors of one machine.",)
        if len({h.machine for h in records.fleet.hosts}) == 1
        else (),
    )
