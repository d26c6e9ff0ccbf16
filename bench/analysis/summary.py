"""The campaign in rows, one per backend and point; and where the backends ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analysis import stats
from bench.analysis.stats import Comparison, Ratio, Spread
from bench.plan.participants import FREE
from bench.schema import Limiter, TrialRecord
from bench.store import Records
from bench.text import listing, plural


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One label at one point of a closed loop, over the blocks."""

    point: str
    label: str
    trials: int  # valid ones
    unusable: int  # void, failed or refused
    pages_per_s: Spread | None
    ratio: Ratio | None  # against the base; None for the base itself
    cpu_user_ms: float | None  # client, per 1000 pages, median
    cpu_system_ms: float | None
    ceiling_share: Spread | None  # of the server's ceiling, by requests/s
    limiter: Limiter | None
    base: bool  # whether ratios are against it

    @property
    def counted(self) -> str:
        """``10 (+1 unusable)``."""
        return str(self.trials) + (f" (+{self.unusable} unusable)" if self.unusable else "")

    @property
    def twin(self) -> bool:
        """Whether this is the second label of the A/A pair."""
        return "#" in self.label


def summary_rows(records: Records, comparisons: Iterable[Comparison]) -> list[SummaryRow]:
    """One row per point and label of closed loops, in the campaign's order, twin included."""
    ratios = {(c.point, c.label): c.ratio for c in comparisons}
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in records.trials:
        if trial.workload in stats.CLOSED:
            groups[trial.point, trial.label].append(trial)
    return [
        _row(records, groups[point, label], ratios.get((point, label)))
        for point in stats.points_of(records, status=None)
        for label in stats.labels_of(records, twins=True)
        if (point, label) in groups
    ]


def _row(records: Records, everything: Sequence[TrialRecord], ratio: Ratio | None) -> SummaryRow:
    first = everything[0]
    trials = [t for t in everything if t.status == "ok"]
    cpu = [parts for t in trials if (parts := stats.cpu_ms_per_1000(t))]
    return SummaryRow(
        point=first.point,
        label=first.label,
        trials=len(trials),
        unusable=len(everything) - len(trials),
        pages_per_s=stats.spread(t.pages_per_s for t in trials),
        ratio=ratio,
        cpu_user_ms=stats.middle(user for user, _ in cpu),
        cpu_system_ms=stats.middle(system for _, system in cpu),
        ceiling_share=stats.share_of_ceiling(records, trials),
        limiter=stats.limiter_of(trials),
        base=first.label == records.campaign.base,
    )


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


def places(records: Records) -> Places | None:
    """The labels with several processors; None in campaigns where all had one."""
    trials = stats.trials_of(records, twins=False)
    unpinned_trials = [trial for trial in trials if unpinned(trial)]
    if not unpinned_trials:
        return None
    # A base whose server sleeps, too, and every backend at few slots have several processors there:
    # a word about where a backend ran is for those that never have one where another has several.
    points = {trial.point for trial in unpinned_trials}
    alone = {t.label for t in trials if t.point in points and len(processors(t, "client")) == 1}
    here = {trial.label for trial in unpinned_trials} - alone
    if not here:
        return None
    sides = [
        (processors(trial, "client"), processors(trial, "server")) for trial in unpinned_trials
    ]
    return Places(
        tuple(label for label in stats.labels_of(records) if label in here),
        max(len(client) for client, _ in sides),
        any(client & server for client, server in sides),
        records.campaign.base,
    )


def unpinned(trial: TrialRecord) -> bool:
    """Whether it ran on several processors because its backend has several threads."""
    return len(processors(trial, "client")) > 1 and "processors" not in trial.params


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
    return "On one processor, serving", "Every server ran on one processor, threads as well."


def processors(trial: TrialRecord, side: str) -> set[int]:
    """The processors of ``client`` or ``server``; none where nothing was pinned."""
    cores = trial.pinning.get(side)
    return set(cores) if isinstance(cores, list) else set()
