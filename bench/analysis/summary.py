"""The campaign in rows, one per backend and point; and where the backends ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

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
    trials: Sequence[TrialRecord]  # valid ones
    unusable: int  # void, failed or refused
    ratio: Ratio | None  # against the base; None for the base itself
    ceiling_share: Spread | None  # of the server's ceiling, by requests/s
    base: bool  # whether ratios are against it

    @property
    def pages_per_s(self) -> Spread | None:
        return stats.spread(trial.pages_per_s for trial in self.trials)

    @property
    def limiter(self) -> Limiter | None:
        return stats.limiter_of(self.trials)

    @property
    def twin(self) -> bool:
        """Whether this is the second label of the A/A pair."""
        return "#" in self.label

    def cpu_ms(self, place: int) -> float | None:
        """User (0) or system time (1) of the client per 1000 pages, median."""
        read = map(stats.cpu_ms_per_1000, self.trials)
        return stats.middle(parts[place] for parts in read if parts)


def summary_rows(records: Records, comparisons: Iterable[Comparison]) -> list[SummaryRow]:
    """One row per point and label of closed loops, in the campaign's order, twin included."""
    ratios = {(c.point, c.label): c.ratio for c in comparisons}
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in records.trials:
        if trial.workload in stats.CLOSED:
            groups[trial.point, trial.label].append(trial)
    rows = []
    places = product(stats.points_of(records, status=None), stats.labels_of(records, twins=True))
    for point, label in places:
        if every := groups.get((point, label)):
            ok = [trial for trial in every if trial.status == "ok"]
            share, ratio = stats.share_of_ceiling(records, ok), ratios.get((point, label))
            base = label == records.campaign.base
            rows.append(SummaryRow(point, label, ok, len(every) - len(ok), ratio, share, base))
    return rows


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
    # Because its backend has several threads, and not because its point is about processors.
    wide = [t for t in trials if len(processors(t, "client")) > 1 and "processors" not in t.params]
    # A base whose server sleeps, too, and every backend at few slots have several processors there:
    # a word about where a backend ran is for those that never have one where another has several.
    points = {trial.point for trial in wide}
    alone = {t.label for t in trials if t.point in points and len(processors(t, "client")) == 1}
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
    return "On one processor, serving", "Every server ran on one processor, threads as well."


def processors(trial: TrialRecord, side: str) -> set[int]:
    """The processors of ``client`` or ``server``; none where nothing was pinned."""
    cores = trial.pinning.get(side)
    return set(cores) if isinstance(cores, list) else set()
