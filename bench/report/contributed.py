"""Campaigns of other machines, and what they confirm of ours: ratios only, never seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.report.comparison import METRICS, Agreement, agreements
from bench.text import markdown_table

NAME: Final = "contributed"
HEADS: Final = (
    *("campaign", "machine", "Python", "noise floor"),
    *("same direction", "opposite", "shown by one only", "shown by neither"),
)


def listed(reference: Analysis, contributed: Iterable[Analysis]) -> str:
    """A row for each campaign: on how many pairs of backends it agrees with the reference."""
    rows = [_row(reference, campaign) for campaign in contributed]
    if not rows:
        return "No campaign has been contributed yet."
    about = (
        "Pairs are backends against `callbacks` at one point, by "
        "pages per second, processor time per page and user memory per connection, where both "
        f"campaigns measured them. The reference is `{reference.campaign.campaign}`."
    )
    return "\n".join([*markdown_table(HEADS, rows, right=5), "", about])


def _row(reference: Analysis, other: Analysis) -> list[str]:
    found: Counter[Agreement] = Counter()
    for metric in METRICS:
        found.update(agreements(reference, other, metric).values())
    machine, floor = other.campaign.environment, other.floor(stats.CPU_PER_1000).log
    return [
        f"`{other.campaign.campaign}`",
        f"{machine.cpu_count} × {machine.cpu_model or machine.machine}",
        machine.python,
        stats.floor_words(floor) if floor else "no A/A pair",
        str(found["agree"]),
        str(found["opposite"]),
        str(found["A only"] + found["B only"]),
        str(found["neither"]),
    ]
