"""How long an answer waits: delay distributions, and the specs that name them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist

_NORMAL = NormalDist()
_SIGMA = 0.5  # of the logarithm; p99 is then 3.2 times the median


class DelayError(ValueError):
    """The delay spec is wrong; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Delay:
    """How long an answer waits: a pure function of the seed and the target.

    ``kind`` is none, fixed or lognormal. ``scale_s`` is the fixed time or the median,
    and ``sigma`` the standard deviation of the logarithm. A server with processor time
    to spare keeps a delay to within about 2 ms.
    """

    kind: str = "none"
    scale_s: float = 0.0
    sigma: float = _SIGMA
    seed: int = 1

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        tail = f":{self.sigma:g}" if self.kind == "lognormal" else ""
        return f"{self.kind}:{self.scale_s * 1000:g}{tail}"

    def seconds(self, target: bytes) -> float:
        """The delay of one target."""
        if self.kind == "none":
            return 0.0
        if self.kind == "fixed":
            return self.scale_s
        chance = uniform(self.seed, target)
        return self.scale_s * math.exp(self.sigma * _NORMAL.inv_cdf(chance))


def uniform(seed: int, target: bytes) -> float:
    """A number between 0 and 1, both excluded, that depends only on seed and target."""
    mark = hashlib.blake2b(target, digest_size=8, salt=(seed & (2**64 - 1)).to_bytes(8, "big"))
    return ((int.from_bytes(mark.digest(), "big") >> 12) + 0.5) / 2**52


def parse_delay(spec: str, seed: int) -> Delay:
    """Read ``none``, ``fixed:MS`` or ``lognormal:MEDIAN_MS[:SIGMA]``.

    Raises :class:`DelayError`, which says what to change.
    """
    kind, *texts = spec.split(":")
    most = {"none": 0, "fixed": 1, "lognormal": 2}
    try:
        numbers = [float(text if text.isascii() else "") for text in texts]
    except ValueError:
        numbers = []
    if (
        kind not in most
        or len(numbers) != len(texts)
        or not min(most[kind], 1) <= len(numbers) <= most[kind]
    ):
        raise DelayError(
            f"{spec}: not a delay; write none, fixed:MS or lognormal:MEDIAN_MS[:SIGMA]"
        )
    if not all(0 <= number <= 3_600_000 for number in numbers):
        raise DelayError(f"{spec}: a delay is from 0 ms to an hour (3600000 ms)")
    if len(numbers) == 2 and numbers[1] > 5:
        raise DelayError(f"{spec}: sigma must be at most 5 (0.5 is usual)")
    if not numbers:
        return Delay(seed=seed)
    sigma = numbers[1] if len(numbers) == 2 else _SIGMA
    return Delay(kind, numbers[0] / 1000, sigma, seed)
