"""A question of columns about servers under load, as a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats, summary
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_REQUEST, Metric, Pair
from bench.questions.columns import Columns
from bench.questions.question import Headline, every_two, of_models
from bench.schema import TrialRecord
from bench.show.measured import Measured
from bench.store import Records
from bench.text import listing

BARE: Final = "bare"
"""The floor: a loop that accepts, receives and sends, and nothing else."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedColumns(Columns):
    """Of servers with a load each; the floor has a row and no bar."""

    point: str  # what headline and chart are about
    server: str  # a server that was faster than its load, as ``{label} at {at} connections``
    slow: str  # a warning where the load was slower than {servers}

    def trials(self, analysis: Analysis) -> list[TrialRecord]:
        return [t for name in self.workloads for t in stats.served(analysis.records, name)]

    def pairs(self, _: Records, metric: Metric) -> list[Pair]:
        return every_two(self.point) if metric is CPU_PER_REQUEST else []

    def headline(self, analysis: Analysis, measured: Measured) -> Headline | None:
        says = self.says.format_map(self.facts(analysis, measured))
        compared = analysis.family(CPU_PER_REQUEST).of(every_two(self.point))
        return of_models(measured, self.head, says, compared=compared)

    def facts(self, analysis: Analysis, _: Measured) -> Mapping[str, str]:
        trials = stats.served(analysis.records, self.workloads[0])
        return dict(zip(("serving", "where"), summary.servers_placed(trials), strict=True))

    def drawn(self, analysis: Analysis, measured: Measured) -> Measured:
        return measured.only(label for label in measured.values if label in analysis.labels)

    def hollow(self, analysis: Analysis) -> Collection[str]:
        return stats.limited_by_load([t for t in self.trials(analysis) if t.point == self.point])

    def warnings(self, analysis: Analysis) -> Sequence[str]:
        workload = self.workloads[0]
        trials = stats.served(analysis.records, workload)
        slow: dict[str, list[str]] = {}
        for point in sorted({t.point for t in trials}):
            for label in sorted(stats.limited_by_load([t for t in trials if t.point == point])):
                slow.setdefault(label, []).append(point.removeprefix(f"{workload}-"))
        servers = [self.server.format(label=label, at=listing(at)) for label, at in slow.items()]
        return [self.slow.format(servers=listing(servers))] if slow else []
