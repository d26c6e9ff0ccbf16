"""Where the backends of a campaign ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis import stats
from bench.analysis.stats import processors
from bench.plan.participants import FREE
from bench.schema import TrialRecord
from bench.store import Records
from bench.text import listing, plural


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
