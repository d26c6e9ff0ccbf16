"""What a program has to do, and how people write it: 5k, 200ms, 10%."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

MOST: Final = 1e9
"""Connections, pages per second and pages per connection: more is a slip of the pen."""

MOST_S: Final = 86_400.0
MOST_LOAD: Final = 0.95
SCALES: Final = {"": 1.0, "k": 1e3, "m": 1e6}
UNITS: Final = {"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-zµμ%]*)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Need:
    """A load in steady state; times in seconds."""

    connections: int = 1000
    rate: float | None = None  # pages per second, over all processes; None: as many as they can
    delay_s: float = 0.1  # from the request to the answer, at the server and on the way
    tls: bool = False
    work_s: float = 0.0  # of the processor, on top of fetching and reading a page
    share: float = 1.0  # of the pages that need the work
    pages_per_connection: int | None = None  # None: connections are kept
    load: float = 0.7  # of what a processor can do, that you plan to use

    @property
    def mean_work_us(self) -> float:
        """The work of an average page, in microseconds."""
        return 1e6 * self.work_s * self.share


EXAMPLE: Final = Need(5000, 2000.0, 0.2, tls=True, work_s=0.001)
PLAIN: Final = Need(rate=1000.0)
"""The loads of first views: where TLS was measured, and elsewhere."""


def amount(text: str, units: dict[str, float]) -> float | None:
    """A number and its unit; None if it is not one."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found[2].lower() not in units:
        return None
    # In decimals: as a float, 95 times 0.01 is more than 0.95.
    value = float(Decimal(found[1]) * Decimal(str(units[found[2].lower()])))
    return value if math.isfinite(value) else None


def count(text: str) -> int:
    """A whole number above 0: ``5000``, ``5k``, ``1.5k``, ``1M``."""
    value = amount(text.replace(",", "").replace("_", ""), SCALES)
    if value is None or not 1 <= value <= MOST or not near_whole(value):
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to 1,000M, such as 5000 or 5k, not {text!r}"
        )
    return round(value)


def near_whole(value: float) -> bool:
    """Whether a product such as 1.1 times 1000 was meant as a whole number."""
    return abs(value - round(value)) < 1e-6


def rate(text: str) -> float:
    """Pages per second: ``2000``, ``2k``, ``0.5``."""
    value = amount(text.removesuffix("/s").replace(",", "").replace("_", ""), SCALES)
    if value is None or not 0 < value <= MOST:
        raise argparse.ArgumentTypeError(
            f"must be pages per second above 0, such as 2000 or 2k, not {text!r}"
        )
    return value


def duration(text: str) -> float:
    """A time in seconds: ``200ms``, ``1s``, ``250us``; 0 needs no unit."""
    value = amount(text, UNITS)
    if value is None and (plain := amount(text, {"": 1.0})) is not None:
        if plain == 0:
            return 0.0
        raise argparse.ArgumentTypeError(f"needs a unit: {text}us, {text}ms or {text}s")
    if value is None or value > MOST_S:
        raise argparse.ArgumentTypeError(
            f"must be a time of at most a day, such as 250us, 200ms or 1s, not {text!r}"
        )
    return value


def share(text: str) -> float:
    """A share above 0 and at most 1: ``10%`` or ``0.1``."""
    value = amount(text, {"": 1.0, "%": 0.01})
    if value is None or not 0 < value <= 1:
        raise argparse.ArgumentTypeError(
            f"must be a share above 0 and at most 1, such as 0.1 or 10%, not {text!r}"
        )
    return value


def load(text: str) -> float:
    """The share of a processor that you plan to use: a queue without room has no end."""
    value = share(text)
    if value > MOST_LOAD:
        raise argparse.ArgumentTypeError(f"must be at most {100 * MOST_LOAD:.0f}%, not {text!r}")
    return value
