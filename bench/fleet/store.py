"""Reads ``fleet.jsonl``, which is written like any campaign's records."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bench.fleet.schema import FLEET, FleetRecord, FleetTrialRecord, WorkerRecord
from bench.store import StoreError, load_lines

FILE_NAME = "fleet.jsonl"


@dataclass(slots=True)
class FleetRecords:
    """All records of one fleet, by kind."""

    fleet: FleetRecord
    trials: list[FleetTrialRecord] = field(default_factory=list)
    workers: list[WorkerRecord] = field(default_factory=list)

    def ok(self, workload: str) -> list[FleetTrialRecord]:
        """The trials of a workload that count."""
        return [t for t in self.trials if t.workload == workload and t.status == "ok"]


def load(path: Path) -> FleetRecords:
    """Read and validate the records in a folder or a file.

    Skips an incomplete last line, which a crash may leave. Raises
    :class:`bench.store.StoreError` for anything else that is not a record.
    """
    file = path / FILE_NAME if path.is_dir() else path
    found: FleetRecords | None = None
    for record in load_lines(file, FLEET)[0]:
        if found is None:
            if not isinstance(record, FleetRecord):
                raise StoreError(f"{file}: the first line is not a fleet record")
            found = FleetRecords(record)
        elif isinstance(record, FleetTrialRecord):
            found.trials.append(record)
        elif isinstance(record, WorkerRecord):
            found.workers.append(record)
        else:
            raise StoreError(f"{file}: two fleets in one file; keep each in its own folder")
    if found is None:
        raise StoreError(f"{file}: empty, so this fleet never started; run it again")
    return found
