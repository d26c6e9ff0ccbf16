"""The trials as one flat table, for your own plots and questions.

One row for each trial, void ones included, and one column for each number:
``cpu_client_user_s``, ``service_time_p99_ms``, ``memory_held_user_bytes``. Units are
in the names, as in the records; an empty cell was not measured. Histograms,
time series and the kernel's counters stay in ``trials.jsonl``.
"""

from __future__ import annotations

import csv
import io
from typing import Final

from bench.analysis import stats
from bench.schema import (
    Cancelled,
    Cpu,
    Handshakes,
    HostNoise,
    Latency,
    Ledger,
    MemoryParts,
    Record,
    TrialRecord,
)
from bench.store import Records

Scalar = float | int | str | None

FIELDS: Final = """
trial block position workload point backend label family rung status reason started trial_s
elapsed_s pages bytes pages_per_s offered_per_s achieved_per_s late_starts redirects limiter
"""
"""The columns that are fields of a trial, in their order."""
PARAMS: Final = """
slots connections rate warmup delay site urls ramp_per_s recorder server processors work_ms role
rounds tls mode
"""
"""Those that are its parameters."""
NESTED: Final = ("hdr", "handshakes", "left")
"""Fields that are no numbers."""
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

PARTS: Final[dict[str, type[Record]]] = {
    "cpu": Cpu,
    "service_time": Latency,
    "response_time": Latency,
    "ledger": Ledger,
    "host": HostNoise,
}


def table(records: Records) -> list[dict[str, Scalar]]:
    """One row for each trial; every row has the same columns in the same order."""
    campaign = records.campaign.campaign
    return [{"campaign": campaign, **row(trial)} for trial in records.trials]


def row(trial: TrialRecord) -> dict[str, Scalar]:
    """One trial as a row."""
    cells: dict[str, Scalar] = {name: getattr(trial, name) for name in FIELDS.split()}
    cells["pages_per_s"] = stats.pages_per_s(trial)
    cells |= {name: trial.params.get(name) for name in PARAMS.split()}
    client, polls = trial.pinning.get("client"), trial.server_polls
    cells["client_processors"] = len(client) if isinstance(client, list) else None
    cells["server_polls"] = None if polls is None else int(polls)
    for prefix, kind in PARTS.items():
        cells |= columns(prefix, kind, getattr(trial, prefix))
    cells |= columns("handshakes", Handshakes, trial.ledger and trial.ledger.handshakes)
    memory = trial.memory
    for when in ("before", "held"):
        part = getattr(memory, when) if memory else None
        cells |= columns(f"memory_{when}", MemoryParts, part)
    cells |= columns("cancelled", Cancelled, trial.cancelled)
    cells["memory_machine_drop_bytes"] = memory.machine_drop_bytes if memory else None
    return cells


def columns(prefix: str, kind: type[Record], part: Record | None) -> dict[str, Scalar]:
    """The numbers of one part of a record; each is None if the record has no such part."""
    return {
        f"{prefix}_{name}": None if part is None else getattr(part, name)
        for name in kind.model_fields
        if name not in NESTED
    }


def to_csv(records: Records) -> str:
    """The table as CSV (RFC 4180, except for the line ends)."""
    rows = table(records)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: inert(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def inert(cell: Scalar) -> Scalar:
    """A cell that no spreadsheet takes for a formula: a text that begins like one gets a quote."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
