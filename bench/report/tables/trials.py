"""The trials that no figure counts."""

from __future__ import annotations

from bench.show.table import Column, Table, name, words
from bench.store import Records


def unusable(records: Records) -> Table:
    """Void, failed and refused trials, each with its reason."""
    return Table(
        "Trials that no figure counts",
        [name("backend"), name("point"), Column("block"), name("status"), words("reason")],
        [
            [t.label, t.point, str(t.block + 1), t.status, t.reason or "no reason given"]
            for t in records.trials
            if t.status != "ok"
        ],
    )
