"""``fleet.jsonl``: written like any campaign's records, and read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from bench.fleet.schema import FLEET, FleetRecord, FleetTrialRecord, WorkerRecord
from bench.store import StoreError

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

    A last line without its end, as a crash leaves it, is left out. Raises
    :class:`bench.store.StoreError` for anything else that is no record.
    """
    file = path / FILE_NAME if path.is_dir() else path
    try:
        data = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from None
    found: FleetRecords | None = None
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            record = FLEET.validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            raise StoreError(f"{file}:{number}: not a fleet's record: {first['msg']}") from None
        if found is None:
            if not isinstance(record, FleetRecord):
                raise StoreError(f"{file}: the first line is no fleet record")
            found = FleetRecords(record)
        elif isinstance(record, FleetTrialRecord):
            found.trials.append(record)
        elif isinstance(record, WorkerRecord):
            found.workers.append(record)
        else:
            raise StoreError(f"{file}:{number}: two fleets in one file")
    if found is None:
        raise StoreError(f"{file}: empty; this fleet never started, run it anew")
    return found
