"""A figure over blocks, with its whole range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

#: Confidence level of every interval.
LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over blocks: its median and its whole range, outliers included."""

    median: float
    low: float
    high: float
    count: int


def spread(values: Iterable[float | None]) -> Spread | None:
    """Median, minimum and maximum of the values that exist; None without any."""
    kept = [float(v) for v in values if v is not None and math.isfinite(v)]
    if not kept:
        return None
    return Spread(float(np.median(kept)), min(kept), max(kept), len(kept))
