"""What a connection for each page costs, in sentences: a finding with its cause and command."""

from __future__ import annotations

from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.churn import Churn, dearest
from bench.text import count, plural, significant, times
from crawlers.registry import MODELS

COMMANDS: Final = (
    "`python -m bench run --only churn`; `python -m bench costs --workload churn` counts "
    "instructions and system calls"
)

CAUSE: Final = (
    "All pay the kernel for `socket`, `connect` and `close`. A loop also watches the socket until "
    "it is connected and forgets it at the end; streams make a transport, a protocol, a reader and "
    "a writer for each connection as well."
)


def finding(analysis: Analysis) -> str | None:
    """What a new connection costs, in pages of the same backend; models first."""
    rows = dearest(analysis.churn)
    models = [row for row in rows if row.label in MODELS]
    if not models:
        return None
    others = [row for row in rows if row.label not in MODELS]
    blocks = max(row.pages.count for row in models if row.pages)
    parts = [
        f"**A new connection costs as much processor time as {_range(models)} pages.** What "
        f"opening and closing it adds to a page, at {count(models[0].slots)} slots on plain HTTP, "
        "in pages of the same backend on a kept connection (in µs), median of "
        f"{plural(blocks, 'block')}: {', '.join(map(_each, models))}."
    ]
    if others:
        parts.append(f"Variants: {', '.join(map(_each, others))}.")
    return " ".join([*parts, CAUSE, f"To measure it: {COMMANDS}."])


def _each(row: Churn) -> str:
    assert row.pages is not None
    assert row.opening is not None
    return f"`{row.label}` {times(row.pages.median)} ({significant(row.opening.median, 3)})"


def _range(rows: list[Churn]) -> str:
    """``1.4 to 2.1``, the least first."""
    values = [row.pages.median for row in rows if row.pages]
    low, high = times(min(values)), times(max(values))
    return low if low == high else f"{low} to {high}"
