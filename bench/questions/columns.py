"""A question as a value: its columns, and what is said, tabulated and drawn of them.

A row is a backend. A column is a number of each trial in one place, or follows from two others,
block by block. All else is words; those in braces are facts of the campaign. A question with a
rule of its own is a subclass with that method.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis, servers_placed
from bench.analysis.stats import CPU_PER_REQUEST, Blocks, Metric, Pair, per_exchange
from bench.questions.question import RANGES, Answer, Headline, bars, every_two, of_models
from bench.schema import TrialRecord
from bench.show.measured import Measure, Measured, Value, by_label, within
from bench.show.table import Table
from bench.store import Records
from bench.text import listing

ColumnRows = Mapping[str, Mapping[str, Blocks]]
"""Label -> column -> what was read."""


@dataclass(frozen=True, slots=True)
class Read(Measure):
    """A number of each trial: of all, or of those in one place or mode."""

    value: Value = per_exchange
    at: str = ""  # a workload, or one of its points
    mode: str = ""
    shown: bool = True  # if not, it is there for others to follow from

    def __call__(self, trial: TrialRecord) -> float | None:
        here = self.at in ("", trial.workload, trial.point)
        turn = self.mode in ("", trial.params.get("mode"))
        return self.value(trial) if here and turn else None

    def blocks(self, rows: ColumnRows, label: str, key: str) -> Blocks:
        return rows[label].get(key, {})


@dataclass(frozen=True, slots=True)
class Follows(Measure):
    """Two columns compared, in the blocks that have both: ``how(one, other)``."""

    how: Callable[[float, float], float]
    one: str
    other: str
    base: str = ""  # the label whose column the other is; empty: each label's own
    averaged: bool = False  # the other's average, where its blocks are not the same
    shown: bool = True

    def blocks(self, rows: ColumnRows, label: str, _: str) -> Blocks:
        first = rows[label].get(self.one, {})
        second = rows.get(self.base or label, {}).get(self.other, {})
        if self.averaged and second:
            second = dict.fromkeys(first, stats.average([*second.values()]))
        return within(first, second, self.how)


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """What a question reads, and its words."""

    workloads: Sequence[str]
    columns: Mapping[str, Measure]  # Read, Follows, or what a method of its own fills
    needs: Collection[str] = ()  # a row has one of these columns, or is left out
    head: str = ""  # the column of the headline
    says: str = ""  # its beginning, up to the number of the model with the most
    remedies: Sequence[str] = ()
    caption: str  # of the table
    about: str
    further: str = ""
    figure: str = ""  # the name of the chart; empty: that of the first workload
    title: str
    subtitle: str
    panels: Mapping[str, Sequence[str]]
    pair: tuple[str, str] = ("", "")
    notes: Sequence[str] = (RANGES,)
    prose: str
    paired: bool = True  # whether a label whose server slept is compared with no other

    def trials(self, analysis: Analysis) -> list[TrialRecord]:
        return stats.trials_of(analysis.records, *self.workloads, twins=False)

    def measured(self, analysis: Analysis) -> Measured:
        trials = self.trials(analysis)
        labels = dict.fromkeys([*analysis.labels, *(trial.label for trial in trials)])
        read = {key: column for key, column in self.columns.items() if isinstance(column, Read)}
        rows = by_label(trials, labels, read)
        values: dict[str, dict[str, Blocks]] = {}
        for label in rows:
            row = {
                key: blocks
                for key, column in self.columns.items()
                if isinstance(column, Read | Follows) and column.shown
                if (blocks := column.blocks(rows, label, key))
            }
            if row.keys() & (self.needs or row.keys()):
                values[label] = row
        filled = {key for row in values.values() for key in row}
        shown = {key: column for key, column in self.columns.items() if key in filled}
        return Measured(shown, values, stats.asleep(trials) if self.paired else frozenset())

    def facts(self, analysis: Analysis, measured: Measured, /) -> Mapping[str, str]:
        """What stands in place of the words in braces."""
        return {}

    def headline(self, analysis: Analysis, measured: Measured, /) -> Headline | None:
        says = self.says.format_map(self.facts(analysis, measured))
        return of_models(measured, self.head, says, self.remedies)

    def keys(self, measured: Measured, /) -> Mapping[str, Sequence[str]]:
        """The columns of each panel, as far as they were measured."""
        here = {
            axis: [k for k in keys if measured.blocks([k])] for axis, keys in self.panels.items()
        }
        return {axis: keys for axis, keys in here.items() if keys}

    def drawn(self, analysis: Analysis, measured: Measured, /) -> Measured:
        return measured

    def hollow(self, analysis: Analysis, /) -> Collection[str]:
        """The labels that something else limited."""
        return ()

    def warnings(self, analysis: Analysis, /) -> Sequence[str]:
        return ()

    def table(self, analysis: Analysis, measured: Measured, /) -> Table:
        about = self.about.format_map(self.facts(analysis, measured))
        return measured.table(self.caption, about, self.further)

    def answer(self, analysis: Analysis) -> Answer | None:
        measured = self.measured(analysis)
        if not measured.values:
            return None
        facts, head = self.facts(analysis, measured), self.headline(analysis, measured)
        drawn = self.drawn(analysis, measured)
        panels = self.keys(drawn)
        chart = bars(
            drawn,
            head,
            self.figure or self.workloads[0],
            self.title,
            self.subtitle.format_map(facts),
            panels,
            self.pair if any(len(keys) > 1 for keys in panels.values()) else ("", ""),
            notes=[*filter(None, (note.format_map(facts) for note in self.notes))],
            hollow=self.hollow(analysis),
        )
        return Answer(
            head,
            self.prose.format_map(facts),
            tables=[self.table(analysis, measured)],
            figures=[chart],
            warnings=self.warnings(analysis),
        )


BARE: Final = "bare"
"""The floor: a loop that accepts, receives and sends, and nothing else."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedColumns(Columns):
    """Of servers with a load each; the floor has a row and no bar."""

    point: str  # what headline and chart are about
    server: str  # a server that was faster than its load, as ``{label} at {at}``
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
        return dict(zip(("serving", "where"), servers_placed(trials), strict=True))

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
        servers = [
            self.server.format(label=label, at=f"{listing(at)} connection{'s' * (at != ['1'])}")
            for label, at in slow.items()
        ]
        return [self.slow.format(servers=listing(servers))] if slow else []
