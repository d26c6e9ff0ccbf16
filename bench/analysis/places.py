"""On how many processors backends with several threads ran, and whether the server slept."""

from __future__ import annotations

from dataclasses import dataclass

from bench.analysis import stats
from bench.plan.cast import FREE
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
    mine = [trial for trial in stats.trials_of(records, twins=False) if unpinned(trial)]
    if not mine:
        return None
    here = {trial.label for trial in mine}
    sides = [(processors(trial, "client"), processors(trial, "server")) for trial in mine]
    return Places(
        tuple(label for label in stats.labels_of(records) if label in here),
        max(len(client) for client, _ in sides),
        any(client & server for client, server in sides),
        records.campaign.base,
    )


def unpinned(trial: TrialRecord) -> bool:
    """Whether it ran on several processors because its backend has several threads."""
    return len(processors(trial, "client")) > 1 and "processors" not in trial.params


def processors(trial: TrialRecord, side: str) -> set[int]:
    """The processors of ``client`` or ``server``; none where nothing was pinned."""
    found = trial.pinning.get(side)
    return set(found) if isinstance(found, list) else set()
