"""Crawls that were interrupted: how long it took until everything was closed, and what it cost.

Times count from the moment when the crawl noticed the interrupt. *Closed* is the later of two
moments: when the call of the crawl returned, and when the server had seen the last connection
end. The control ``bare_close`` closes the same number of sockets and does nothing else, so what
a backend takes beyond it is its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import Spread
from bench.schema import Cancelled, TrialRecord
from bench.store import Records

WORKLOAD: Final = "cancel"
CONTROL: Final = "bare_close"
MANY: Final = 100


@dataclass(frozen=True, slots=True)
class Ended:
    """One label at one number of exchanges in flight; times in seconds, over its trials."""

    label: str
    in_flight: int
    closed: Spread  # until everything was closed, at both ends
    returned: Spread  # until the call of the crawl returned
    client_cpu: Spread
    server_work: Spread

    @property
    def each_us(self) -> float:
        """The client's processor time for one exchange, in microseconds."""
        return 1e6 * self.client_cpu.median / self.in_flight

    @property
    def server_share(self) -> float | None:
        """For how much of the time the server was at work; None for few exchanges.

        It answers the harness as well, which takes it longer than to end a few of them.
        """
        if self.in_flight < MANY or not self.closed.median:
            return None
        return min(1.0, self.server_work.median / self.closed.median)


@dataclass(frozen=True, slots=True)
class Cancellations:
    """What a campaign knows about crawls that are interrupted; empty where none was."""

    rows: Sequence[Ended]  # in the campaign's order, the control's apart
    controls: Sequence[Ended]
    left: Sequence[str]  # labels whose trials are void because they left something behind

    @property
    def sizes(self) -> list[int]:
        """The numbers of exchanges in flight, ascending."""
        return sorted({row.in_flight for row in self.rows})

    def at(self, in_flight: int) -> list[Ended]:
        """The backends with so many exchanges in flight."""
        return [row for row in self.rows if row.in_flight == in_flight]

    def control(self, in_flight: int) -> Ended | None:
        """The control with so many connections."""
        return next((row for row in self.controls if row.in_flight == in_flight), None)


def cancellations(records: Records) -> Cancellations:
    """Every label at every number of exchanges."""
    trials = stats.trials_of(records, WORKLOAD, twins=False)
    controls = [t for t in records.controls if t.label == CONTROL and t.status == "ok"]
    return Cancellations(
        rows=_rows(trials, stats.labels_of(records)),
        controls=_rows(controls, [CONTROL]),
        left=sorted(
            {
                trial.label
                for trial in stats.trials_of(records, WORKLOAD, status="void")
                if trial.cancelled and (trial.cancelled.left or trial.cancelled.open_at_server)
            }
        ),
    )


def _rows(trials: Sequence[TrialRecord], labels: Sequence[str]) -> list[Ended]:
    groups: dict[tuple[int, str], list[Cancelled]] = defaultdict(list)
    for trial in trials:
        if trial.cancelled is not None:
            groups[trial.cancelled.in_flight, trial.label].append(trial.cancelled)
    sizes = sorted({size for size, _ in groups})
    return [
        row
        for size in sizes
        for label in labels
        if (row := _row(label, size, groups.get((size, label), [])))
    ]


def _row(label: str, size: int, found: Sequence[Cancelled]) -> Ended | None:
    def over(value: Callable[[Cancelled], float | None]) -> Spread | None:
        return stats.spread(map(value, found))

    closed = over(lambda one: max(one.returned_s, one.closed_s))
    returned = over(lambda one: one.returned_s)
    client = over(lambda one: one.client_cpu_s)
    server = over(lambda one: one.server_work_s)
    if closed is None or returned is None or client is None or server is None:
        return None
    return Ended(
        label=label,
        in_flight=size,
        closed=closed,
        returned=returned,
        client_cpu=client,
        server_work=server,
    )
