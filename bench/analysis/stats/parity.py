"""Whether all backends did the same to the server, by its ledger."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from bench.analysis.stats.records import labels_of, number_param, points_of, trials_of
from bench.schema import TrialRecord
from bench.store import Records


@dataclass(frozen=True, slots=True)
class ParityRow:
    """What the server saw of one backend at one point (worst case over trials)."""

    point: str
    label: str
    connections_opened: int
    peak_in_flight: int
    requests_per_connection_max: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Parity:
    """Whether all backends did the same to the server, by its ledger."""

    rows: tuple[ParityRow, ...]
    differing: dict[str, tuple[str, ...]]  # point -> fields that differ

    @property
    def equal(self) -> bool:
        """No point differs."""
        return not self.differing

    @property
    def words(self) -> str:
        """The result in one sentence."""
        points = len({r.point for r in self.rows})
        if not self.rows:
            return "The server's ledger is missing, so parity is unknown."
        if self.equal:
            return (
                f"Equal at the server: connections opened, peak in flight and repeats agree "
                f"between all backends at {'all ' if points > 1 else ''}{points} "
                f"point{'s' if points != 1 else ''}."
            )
        return (
            f"Not equal at the server at {len(self.differing)} of {points} points: "
            + "; ".join(f"{p} ({', '.join(f)})" for p, f in self.differing.items())
            + "."
        )


def parity(records: Records) -> Parity:
    """Compare the server's ledger between backends, point by point.

    Peak in flight may stay below the number of slots on a short trial, so it may
    differ by 10 %; connections opened and repeated requests must agree exactly.
    Requests per connection depend on the order in which slots happen to be
    served, and are shown but not judged. A backend that declares a limit below
    the number of slots is left out at that point. Points with modes are left out: the
    number of connections there depends on the mode.
    """
    most = {rung.name: rung.most for rung in records.campaign.rungs if rung.most}
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records, twins=False):
        bound = most.get(trial.backend)
        if trial.params.get("mode"):  # each mode differs from the others on purpose
            continue
        if trial.ledger and (bound is None or bound >= (number_param(trial, "slots") or 0)):
            groups[trial.point, trial.label].append(trial)
    rows: list[ParityRow] = []
    differing: dict[str, tuple[str, ...]] = {}
    for point in points_of(records):
        mine: list[ParityRow] = []
        for label in labels_of(records):
            ledgers = [t.ledger for t in groups.get((point, label), []) if t.ledger]
            if ledgers:
                mine.append(
                    ParityRow(
                        point,
                        label,
                        int(np.median([x.connections_opened for x in ledgers])),
                        int(np.median([x.peak_in_flight for x in ledgers])),
                        int(np.median([x.requests_per_connection_max for x in ledgers])),
                        max(x.repeated for x in ledgers),
                    )
                )
        rows += mine
        fields: list[str] = []
        opened = [r.connections_opened for r in mine]
        peaks = [r.peak_in_flight for r in mine]
        if opened and min(opened) != max(opened):
            fields.append("connections opened")
        if peaks and max(peaks) - min(peaks) > 0.1 * max(peaks):
            fields.append("peak in flight")
        if any(r.repeated for r in mine):
            fields.append("repeated requests")
        if fields:
            differing[point] = tuple(fields)
    return Parity(tuple(rows), differing)
