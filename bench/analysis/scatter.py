"""How much of the scatter between equal backends does stolen time explain?

A hypervisor that gives the processor to another guest takes it from whoever has their turn.
If that were the cause of the scatter, one could subtract it. So each A/A pair is followed
through the log of turns: in a round both labels had two turns each, and the log ratio of what
they did is set against the difference of what was stolen from them, and of how long their
threads waited for a processor, where that was recorded. The share explained is R², the square
of the correlation: 1 if the scatter is all stolen time, 0 if it has nothing to do with it.

Steal is counted in ticks of 10 ms, as long as a turn, so a single round says little. The
shares of whole blocks do not have this limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from bench.analysis.stats import CPU_PER_1000, PAGES_PER_S, RESAMPLES, SEED, Metric
from bench.plan.labels import Label
from bench.schema import TurnsRecord

Floats = npt.NDArray[np.float64]
Level = Literal["round", "block"]
Cause = Literal["steal", "wait"]

LEVELS: Final[tuple[Level, ...]] = ("round", "block")
NAMES: Final[Mapping[Cause, str]] = {"steal": "stolen time", "wait": "waiting for a processor"}


@dataclass(frozen=True, slots=True)
class Explained:
    """The share of the A/A scatter by one metric that some causes explain together.

    ``low`` and ``high`` are a bootstrap interval over the pairs of all blocks.
    """

    metric: Metric
    level: Level
    causes: tuple[Cause, ...]
    share: float
    low: float
    high: float
    samples: int  # rounds or blocks
    seen: bool  # False: none of the causes ever differed, so they cannot explain anything


@dataclass(frozen=True, slots=True)
class Followed:
    """One A/A pair in one block, a row per round of it that counts.

    ``rates`` and ``costs`` are log ratios of the twin over the backend: exchanges per second,
    and processor time per exchange. The causes are differences of shares of the turns' time.
    """

    rates: Floats
    costs: Floats
    causes: Mapping[Cause, Floats]


def explained(log: Sequence[TurnsRecord]) -> list[Explained]:
    """What explains the scatter, by metric, level and cause; empty without an A/A pair."""
    found = []
    for level in LEVELS:
        pairs = [pair for record in log for pair in followed(record, level)]
        for causes in _combinations(pairs):
            kept = [pair for pair in pairs if all(cause in pair.causes for cause in causes)]
            for metric in (CPU_PER_1000, PAGES_PER_S):
                if one := _share(kept, metric, level, causes):
                    found.append(one)
    return found


def _combinations(pairs: Sequence[Followed]) -> list[tuple[Cause, ...]]:
    known: list[Cause] = [cause for cause in NAMES if any(cause in p.causes for p in pairs)]
    alone: list[tuple[Cause, ...]] = [(cause,) for cause in known]
    return [*alone, tuple(known)] if len(known) > 1 else alone


def followed(record: TurnsRecord, level: Level) -> list[Followed]:
    """Each A/A pair of a block: one row per counted round, or one for the whole block."""
    place = {label: index for index, label in enumerate(record.labels)}
    pairs = [
        (place[str(backend)], index)
        for name, index in place.items()
        if (label := Label.parse(name)).twin and (backend := label.backend) in place
    ]
    counted = np.array(record.counted, dtype=bool)
    if not counted.any():
        return []
    rounds = np.array(record.round) if level == "round" else np.zeros(len(counted), dtype=int)
    found = []
    for pair in pairs:
        one = _followed(record, pair, counted, rounds)
        if one is not None:
            found.append(one)
    return found


def _followed(
    record: TurnsRecord,
    pair: tuple[int, int],
    counted: npt.NDArray[np.bool_],
    rounds: npt.NDArray[np.int64],
) -> Followed | None:
    number = int(rounds.max()) + 1
    which = np.array(record.label)

    def sums(values: Sequence[float | None]) -> tuple[Floats, Floats]:
        """Of each round, for the backend and for its twin."""
        numbers = np.array([0.0 if value is None else value for value in values])
        base, twin = (
            np.bincount(
                rounds[counted & (which == index)],
                numbers[counted & (which == index)],
                minlength=number,
            )
            for index in pair
        )
        return base.astype(np.float64), twin.astype(np.float64)

    exchanges, wall, cpu = sums(record.exchanges), sums(record.wall_us), sums(record.cpu_us)
    whole = np.logical_and.reduce([part > 0 for both in (exchanges, wall, cpu) for part in both])
    if not whole.any():
        return None

    def per(part: tuple[Floats, Floats], of: tuple[Floats, Floats]) -> Floats:
        return np.asarray(np.log(part[1] / of[1]) - np.log(part[0] / of[0]))

    with np.errstate(divide="ignore", invalid="ignore"):
        rates, costs = per(exchanges, wall)[whole], per(cpu, exchanges)[whole]
    causes: dict[Cause, Floats] = {}
    of_pair = counted & np.isin(which, pair)
    columns: dict[Cause, tuple[Sequence[int | None], float]] = {
        "steal": (record.steal_ms, 1e3),
        "wait": (record.wait_us, 1.0),
    }
    for cause, (column, scale) in columns.items():
        # Another label of the block may have too many threads to read their waiting.
        known = [value is not None for value in column]
        if column and all(k for k, mine in zip(known, of_pair, strict=True) if mine):
            base, twin = sums(column)
            causes[cause] = scale * (twin[whole] / wall[1][whole] - base[whole] / wall[0][whole])
    return Followed(rates, costs, causes)


def _share(
    pairs: Sequence[Followed], metric: Metric, level: Level, causes: tuple[Cause, ...]
) -> Explained | None:
    """R² over all pairs, each centred on its own mean if it has many rounds."""
    moments = []
    samples = 0
    for pair in pairs:
        y = pair.costs if metric is CPU_PER_1000 else pair.rates
        table = np.stack([*(pair.causes[cause] for cause in causes), y])
        if level == "round":
            if table.shape[1] < 2:
                continue
            table = table - table.mean(axis=1, keepdims=True)
        samples += table.shape[1]
        moments.append(table @ table.T)
    if len(moments) < 2 or not any(moment[-1, -1] > 0 for moment in moments):
        return None
    every = np.stack(moments)
    rng = np.random.default_rng(SEED)
    drawn = rng.multinomial(len(every), [1 / len(every)] * len(every), RESAMPLES // 5)
    shares = [_r_squared(moment) for moment in np.tensordot(drawn, every, axes=1)]
    low, high = np.quantile(shares, (0.025, 0.975))
    share = _r_squared(every.sum(axis=0))
    seen = bool(np.trace(every.sum(axis=0)[:-1, :-1]) > 0)
    return Explained(metric, level, causes, share, float(low), float(high), samples, seen)


def _r_squared(moments: Floats) -> float:
    """From the sums of products of the causes and, last, of what they should explain."""
    inner, outer, total = moments[:-1, :-1], moments[:-1, -1], float(moments[-1, -1])
    if total <= 0:
        return 0.0
    fitted = float(outer @ np.linalg.pinv(inner) @ outer)
    return min(1.0, max(0.0, fitted / total))


def words(found: Sequence[Explained]) -> list[str]:
    """A sentence for each level: ``Stolen time explains 3 % (1 to 6 %) of ...``."""
    if found and not any(one.seen for one in found):
        return ["No time was stolen in the turns of the A/A pairs, so it explains no scatter."]
    lines = []
    for level in LEVELS:
        mine = [one for one in found if one.level == level and one.seen]
        parts = []
        for causes in dict.fromkeys(one.causes for one in mine):
            shares = [
                f"{100 * one.share:.0f} % of it by {one.metric.title} "
                f"({100 * one.low:.0f} to {100 * one.high:.0f} %)"
                for one in mine
                if one.causes == causes
            ]
            name = " and ".join(NAMES[cause] for cause in causes)
            verb = "explain" if len(causes) > 1 else "explains"
            parts.append(f"{name} {verb} {' and '.join(shares)}")
        if parts:
            where = "rounds" if level == "round" else "blocks"
            lines.append(f"A/A scatter between single {where}: {'; '.join(parts)}.")
    return lines
