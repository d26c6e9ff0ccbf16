"""What TLS adds: memory per connection, processor time per page, and who resumes a session."""

from __future__ import annotations

from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.encryption import HeldConnection
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name
from bench.text import KIB, MIB, count, times

RESUMES: Final = {True: "yes", False: "no", None: MISSING}


def memory(analysis: Analysis) -> Table:
    """One row per backend, in KiB per connection."""
    found = analysis.encryption
    control = ""
    if found.openssl is not None:
        control = (
            f" The control’s connection takes {found.openssl / KIB:.1f} KiB at its largest number."
        )
    return Table(
        "Memory per connection over TLS, KiB",
        [
            name("backend"),
            Column("user, plain", drop=1),
            Column("user, TLS"),
            Column("OpenSSL", drop=2),
            Column("library", drop=2),
            Column("kernel", drop=3),
            Column("total, plain"),
            Column("total, TLS"),
            Column("TLS / plain"),
            Column("fixed MiB", drop=4),
            Column("read at", drop=5),
        ],
        [_held(row) for row in found.held],
        about=(
            "Slopes over the numbers of connections, or what was read at one number, divided by "
            "it. OpenSSL: the control bare_tls. Library: the rest of the user memory that TLS "
            f"adds.{control}"
        ),
        notes=[f"Refused: {label}: {reason}" for label, reason in sorted(found.refused.items())],
    )


def _held(row: HeldConnection) -> Row:
    ratio = None if not row.plain_total else row.total / row.plain_total
    return [
        row.label,
        _kib(row.plain_user),
        _kib(row.user),
        _kib(row.openssl),
        _kib(row.library),
        _kib(row.kernel),
        _kib(row.plain_total),
        _kib(row.total),
        MISSING if ratio is None else times(ratio),
        cells.tenths(None if row.fixed is None else row.fixed / MIB),
        "slope" if row.connections is None else count(row.connections),
    ]


def _kib(value: float | None) -> str:
    return cells.tenths(None if value is None else value / KIB)
