"""Everything computed from one campaign's records, each number once.

Build one :class:`Analysis` per campaign and pass it to whatever shows numbers:
tables, charts, page, findings, claims. Nothing below this class caches, and
nothing above it computes a statistic of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar, cast

from bench.analysis import stats
from bench.analysis.stats import Comparison, Metric, Pair, processors
from bench.analysis.stats.comparisons import Family
from bench.plan.participants import FREE
from bench.plan.workloads import REFERENCE_SLOTS
from bench.schema import TrialRecord
from bench.store import Records
from bench.text import listing, plural
from crawlers.registry import MODELS

Found = TypeVar("Found")

PairsOf = Callable[[Records, Metric], Iterable[Pair]]
"""The pairs that are compared in a campaign by one metric."""

#: The family of whole HTTP stacks: no concurrency models, so they stand apart.
STACK = "stack"


def from_records(make: Callable[[Records], Found]) -> cached_property[Found]:
    """What a function finds in the records, computed when it is first asked for."""
    return cached_property(lambda analysis: make(analysis.records))


@dataclass(frozen=True, slots=True)
class Places:
    """The labels that had more than one processor where every other label had one."""

    labels: tuple[str, ...]
    processors: int
    shared: bool  # with the server, which slept
    base: str

    @property
    def brief(self) -> str:
        """For a chart: ``threads: 2 processors, shared with the server``."""
        first = FREE if FREE in self.labels else self.labels[0]
        who = first if len(self.labels) == 1 else f"{first} and all with several threads"
        return f"{who}: {self._where}."

    @property
    def words(self) -> str:
        """For a table, with what that does to ratios."""
        text = f"{listing(self.labels)}: {self._where}; every other backend: one."
        if self.shared:
            text += (
                " The server slept for them, and their ratios are to trials whose server slept, "
                f"too: {self.base} has further ones for that, which no other figure has in it."
            )
        return text

    @property
    def _where(self) -> str:
        shared = ", shared with the server" if self.shared else ""
        return f"{plural(self.processors, 'processor')}{shared}"


def places_of(records: Records) -> Places | None:
    """The labels with several processors; None in campaigns where all had one."""
    trials = stats.trials_of(records, twins=False)
    one = [t for t in trials if len(processors(t, "client")) == 1]
    apart = {trial.point for trial in one}
    # Because its backend has several threads, and not because its point is about processors, or one
    # of few slots, where every backend has several.
    places = [t for t in trials if t.point in apart and "processors" not in t.params]
    wide = [t for t in places if len(processors(t, "client")) > 1]
    # A base whose server sleeps, too, has several processors:
    # a word about where a backend ran is for those that never have one where another has several.
    points = {trial.point for trial in wide}
    alone = {t.label for t in one if t.point in points}
    here = {trial.label for trial in wide} - alone
    if not here:
        return None
    client, server = ([processors(trial, side) for trial in wide] for side in ("client", "server"))
    return Places(
        tuple(label for label in stats.labels_of(records) if label in here),
        max(map(len, client)),
        any(map(set.intersection, client, server)),
        records.campaign.base,
    )


def servers_placed(trials: Sequence[TrialRecord]) -> tuple[str, str]:
    """How a sentence about servers begins, and one about how many processors they had.

    As a client ``threads`` runs on two processors where as a server it has one.
    """
    numbers = {trial.label: len(processors(trial, "server")) for trial in trials}
    several = [f"{label} on {n} processors" for label, n in numbers.items() if n > 1]
    if several:
        return "Serving", f"Every server ran on one processor, but {listing(several)}."
    if not all(numbers.values()):
        return "Serving", "Servers were not pinned to processors."
    threads = ", threads as well" if FREE in numbers else ""
    return "On one processor, serving", f"Every server ran on one processor{threads}."


class Analysis:
    """The numbers of one campaign, complete or not, each computed when first needed.

    Labels and backends are in the campaign's order everywhere. Trials are the
    valid ones unless a method says otherwise.
    """

    def __init__(self, records: Records, pairs: PairsOf) -> None:
        """Take the records of one campaign; they must not change afterwards.

        ``pairs`` are those that are compared beside those with the base: a family without them
        would be corrected for too few comparisons, and its verdicts could contradict another's.
        """
        self._pairs = pairs
        self.records = records
        self.campaign = records.campaign
        self._families: dict[Metric, Family] = {}
        self._floors: dict[Metric, stats.NoiseFloor] = {}
        self._made: dict[Callable[[Analysis], object], object] = {}

    def once(self, make: Callable[[Analysis], Found]) -> Found:
        """What a function finds in this campaign, computed when it is first asked for."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("Found", self._made[make])

    # --- which backends and points ------------------------------------------------------

    @cached_property
    def labels(self) -> list[str]:
        """Labels that have trials, the A/A twin left out."""
        return stats.labels_of(self.records)

    @cached_property
    def main(self) -> list[str]:
        """The models, and what was measured at many slots; others stand among variants alone.

        All of them where no throughput was measured.
        """
        crawls = stats.trials_of(self.records, "throughput", status=None, twins=False)
        measured = {trial.label for trial in crawls}
        return [name for name in self.labels if name in measured or name in MODELS or not measured]

    @cached_property
    def backends(self) -> list[str]:
        """Every backend, in the order in which charts hand out colours.

        :attr:`main` come first, because they share most charts and must get the
        colours that differ most.
        """
        named = list(self.campaign.backends)
        everyone = named + [label for label in self.labels if label not in named]
        return sorted(everyone, key=lambda label: label not in self.main)

    @cached_property
    def stacks(self) -> frozenset[str]:
        return frozenset(rung.name for rung in self.campaign.rungs if rung.family == STACK)

    @property
    def base(self) -> str:
        """The backend that ratios are taken against."""
        return self.campaign.base

    def by_size(self, workload: str, param: str) -> dict[str, dict[float, list[TrialRecord]]]:
        """Label -> value of a numeric parameter -> its trials, without the twin."""
        by_label: dict[str, dict[float, list[TrialRecord]]] = {label: {} for label in self.labels}
        for trial in stats.trials_of(self.records, workload, twins=False):
            value = stats.number_param(trial, param)
            if value is not None:
                by_label[trial.label].setdefault(value, []).append(trial)
        return {label: dict(sorted(sizes.items())) for label, sizes in by_label.items() if sizes}

    def reference_point(self, *workloads: str) -> str | None:
        """The point that stands for the first of the workloads with data: 100 slots or most."""
        for workload in workloads:
            slots: dict[str, float] = {}
            for trial in stats.trials_of(self.records, workload, twins=False):
                slots[trial.point] = stats.number_param(trial, "slots") or 0.0
            if slots:
                exact = [p for p, s in slots.items() if s == REFERENCE_SLOTS]
                return exact[0] if exact else max(slots, key=lambda p: slots[p])
        return None

    def at_point(self, point: str) -> dict[str, list[TrialRecord]]:
        """Label -> its trials at one point, without the twin."""
        by_label: dict[str, list[TrialRecord]] = defaultdict(list)
        for trial in stats.trials_of(self.records, twins=False):
            if trial.point == point:
                by_label[trial.label].append(trial)
        return {label: by_label[label] for label in self.labels if label in by_label}

    # --- comparisons --------------------------------------------------------------------

    def family(self, metric: Metric) -> Family:
        """Each backend with the base, and every pair that a question declares, by one metric.

        Across interpreters, whose builds differ, nothing is compared with one base.
        """
        if metric not in self._families:
            across = self.campaign.interpreters
            star = [] if across else stats.star(self.records, metric, self.base)
            pairs = [*star, *self._pairs(self.records, metric)]
            self._families[metric] = Family(self.records, metric, pairs)
        return self._families[metric]

    def compare(self, metric: Metric, base: str | None = None) -> list[Comparison]:
        """Every backend against the base at every point by one metric.

        Pairs of another base than the campaign's that no table asks about are a family of
        their own.
        """
        pairs = stats.star(self.records, metric, base or self.base)
        family = self.family(metric)
        others = [] if base in (None, self.base) else [p for p in pairs if not family.get(p)]
        apart = stats.compare_pairs(self.records, others, metric) if others else []
        return [*family.of(pairs), *apart]

    def floor(self, metric: Metric = stats.PAGES_PER_S) -> stats.NoiseFloor:
        if metric not in self._floors:
            self._floors[metric] = stats.aa_noise_floor(self.records, metric)
        return self._floors[metric]

    # --- figures ------------------------------------------------------------------------

    memory = from_records(stats.fit_memory)  # label -> its fit
    memory_over_tls = from_records(partial(stats.fit_memory, over_tls=True))
    places = from_records(places_of)

    # --- can it be trusted? -------------------------------------------------------------

    aa = from_records(stats.aa_check)
    host = from_records(stats.host_spread)
    equal_work = from_records(stats.equal_work)
    instrument_cost = from_records(stats.instrument_cost)
