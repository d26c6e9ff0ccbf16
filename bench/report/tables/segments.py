"""What a page's processor time is made of, for each backend at each point with controls."""

from __future__ import annotations

from bench.analysis.analysis import Analysis
from bench.show.table import MISSING, Column, Table, name
from bench.text import listing, times


def segments(analysis: Analysis) -> Table:
    """One row per backend and point; no rows without the controls."""
    return Table(
        "What a page is made of",
        [
            name("backend"),
            name("point"),
            Column("CPU µs per page"),
            Column("sockets"),
            Column("shared parts"),
            Column("model, or stack"),
            Column("× sockets"),
        ],
        [
            [
                row.label,
                row.point,
                f"{row.total.median:.1f}",
                f"{row.sockets:.1f}",
                MISSING if row.shared is None else f"{row.shared:.1f}",
                f"{row.rest.median:.1f}",
                times(row.over_sockets),
            ]
            for row in analysis.segments
        ],
        about=(
            "Medians over blocks, measured in turns. Sockets: the control bare. Shared parts: the "
            "control shared. The rest is the model, colder caches included; a whole stack has no "
            "shared parts. It can be below 0 by noise, because the parts are measured apart."
        ),
        notes=not_split(analysis),
        grouped=True,
    )


def not_split(analysis: Analysis) -> list[str]:
    """Which backends are not in the table, although they took turns with the controls."""
    found = analysis.places
    if not analysis.segments or found is None or not found.shared:
        return []
    return [f"Not split, because the server slept for them: {listing(found.labels)}."]
