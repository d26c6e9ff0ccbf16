"""Memory per connection: a robust line over the number of connections held."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from bench.analysis.stats.records import LEVEL, Spread, labels_of, middle, trials_of
from bench.schema import MemoryParts, TrialRecord
from bench.store import Records
from bench.text import KIB

#: Fewest distinct numbers of connections for a memory fit.
MIN_CONNECTION_COUNTS: Final = 4


PART_FIELDS: Final[dict[str, str]] = {
    "user": "user_bytes",
    "page tables": "page_table_bytes",
    "kernel stacks": "kernel_stack_bytes",
    "kernel sockets": "kernel_socket_bytes",
    "send buffers": "send_buffer_bytes",
    "other": "kernel_other_bytes",
    "server sockets": "server_socket_bytes",
}
MEMORY_PARTS: Final = tuple(PART_FIELDS)[:-1]
"""Those of a connection's memory on the client's side, in the order they are stacked."""
#: Parts that belong to the process alone: what they held before the first connection
#: is its fixed cost. The other parts belong to the whole machine.
OWN_PARTS: Final = frozenset({"user", "page tables", "kernel stacks"})


OVER_TLS: Final = "tls-c10k"
"""The workload whose connections are held over TLS."""

CALCULATED: Final = "calculated"
"""How the source of a part begins that was not read."""


def _part(parts: MemoryParts, name: str) -> int | None:
    value = getattr(parts, PART_FIELDS[name])
    return None if value is None else int(value)


def memory_growth(trial: TrialRecord) -> dict[str, float | None] | None:
    """What holding the connections added, in bytes, by part (and "server sockets")."""
    if trial.memory is None or trial.memory.connections <= 0:
        return None
    growth: dict[str, float | None] = {}
    for name in PART_FIELDS:
        before, held = _part(trial.memory.before, name), _part(trial.memory.held, name)
        growth[name] = None if held is None or before is None else float(held - before)
    return growth


def kib_each(*names: str) -> Callable[[TrialRecord], float | None]:
    """KiB of a connection that these parts have together in a trial; None if one is unknown."""

    def value(trial: TrialRecord) -> float | None:
        growth, held = memory_growth(trial), trial.memory
        known = [part for name in names if growth and (part := growth[name]) is not None]
        return sum(known) / held.connections / KIB if held and len(known) == len(names) else None

    return value


@dataclass(frozen=True, slots=True)
class PartFit:
    """One part of a backend's memory as a straight line over connections."""

    name: str
    slope: float | None  # bytes per connection
    low: float | None  # interval of the slope
    high: float | None
    fixed: float | None  # bytes with no connection open: the intercept
    reason: str | None  # why there is no fit


def read_in_all(fits: Iterable[MemoryFit]) -> bool:
    """Whether all of these can be compared by all parts of the memory.

    Where a part of one was not read, only the user memory of all can be.
    """
    return all(fit.total is not None for fit in fits)


@dataclass(frozen=True, slots=True)
class MemoryFit:
    """A backend's memory by part, with the server's side of the sockets kept apart."""

    label: str
    connections: tuple[int, ...]
    trials: int
    blocks: int  # the fewest for any number of connections
    parts: dict[str, PartFit]
    server: PartFit
    sources: dict[str, str]
    #: Largest N: median bytes per connection by part, (held - before) / N.
    at_highest: dict[str, float | None]

    @property
    def fitted(self) -> bool:
        """Whether there are slopes: too few numbers of connections make none."""
        return any(part.slope is not None for part in self.parts.values())

    @property
    def each(self) -> dict[str, float]:
        """Bytes per connection of the parts that were read.

        Slopes, or what was read at the largest N. Below 0 is noise, and counts as 0.
        """
        sizes = {
            name: part.slope if self.fitted else self.at_highest[name]
            for name, part in self.parts.items()
        }
        return {name: max(value, 0.0) for name, value in sizes.items() if value is not None}

    @property
    def total(self) -> float | None:
        """All parts together; None if one was not read."""
        return sum(self.each.values()) if len(self.each) == len(self.parts) else None

    @property
    def user(self) -> float | None:
        return self.each.get("user")

    def spread(self, *, in_all: bool) -> Spread | None:
        """KiB per connection with their interval: of all parts, or of user memory alone."""
        value = self.total if in_all else self.user
        if value is None:
            return None
        low, high = (self.interval if in_all else self.user_interval) or (value, value)
        return Spread(value / KIB, low / KIB, high / KIB, self.trials)

    @property
    def server_side(self) -> float | None:
        """Bytes per connection of the server's sockets, which are in no total."""
        return self.server.slope if self.fitted else self.at_highest[self.server.name]

    @property
    def interval(self) -> tuple[float, float] | None:
        """All ends of the parts' intervals together; None without slopes or a part."""
        return self._ends(self.parts.values()) if self.total is not None else None

    @property
    def user_interval(self) -> tuple[float, float] | None:
        return self._ends([self.parts["user"]])

    def _ends(self, parts: Collection[PartFit]) -> tuple[float, float] | None:
        ends = [(part.low, part.high) for part in parts]
        known = [
            (max(low, 0.0), high) for low, high in ends if low is not None and high is not None
        ]
        if len(known) < len(ends):
            return None
        return sum(low for low, _ in known), sum(max(high, 0.0) for _, high in known)

    @property
    def calculated(self) -> tuple[str, ...]:
        """The parts that no counter of the system shows: a number of threads, multiplied."""
        return tuple(
            name
            for name in MEMORY_PARTS
            if self.sources.get(PART_FIELDS[name], "").startswith(CALCULATED)
        )

    @property
    def fixed(self) -> float | None:
        """Fixed bytes of the process: user, page tables and kernel stacks; None without one."""
        known = [v for name in OWN_PARTS if (v := self.parts[name].fixed) is not None]
        return sum(known) if len(known) == len(OWN_PARTS) else None


def theil_sen(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float, float]:
    """Robust line: slope, intercept, and the slope's interval.

    The slope is the median of all pairwise slopes (H. Theil 1950), which up to 29 % of outliers
    cannot move. Its interval is P. K. Sen's (JASA 63 (1968) 1379). The intercept is the median of
    the residuals. Where many y are equal, such as the kernel stacks of a one-thread crawler, the
    interval is the slope alone.
    """
    if len({*x}) < 2:
        raise ValueError("a line needs two different x")
    at, read = np.asarray(x, float), np.asarray(y, float)
    steps, rises = at[:, None] - at, read[:, None] - read
    slopes = np.sort(rises[steps > 0] / steps[steps > 0])
    slope = float(np.median(slopes))
    intercept = float(np.median(read - slope * at))
    ties = [*Counter(x).values(), *Counter(y).values()]
    variance = _variance(len(x)) - sum(map(_variance, ties))
    if variance < 0:
        return slope, intercept, slope, slope
    reach = -float(special.ndtri((1 - LEVEL) / 2)) * math.sqrt(variance / 18)
    low = max(round((len(slopes) - reach) / 2) - 1, 0)
    high = min(round((len(slopes) + reach) / 2), len(slopes) - 1)
    return slope, intercept, float(slopes[low]), float(slopes[high])


def _variance(count: int) -> int:
    """What so many values add to the variance in Sen's formula (2.6), or equal ones take away."""
    return count * (count - 1) * (2 * count + 5)


def _fit_part(name: str, trials: Sequence[TrialRecord]) -> PartFit:
    x: list[float] = []
    y: list[float] = []
    start: list[float] = []
    for trial in trials:
        growth = memory_growth(trial)
        value = growth[name] if growth else None
        if trial.memory and value is not None:
            x.append(trial.memory.connections)
            y.append(value)
            start.append(float(_part(trial.memory.before, name) or 0))
    if len(set(x)) < MIN_CONNECTION_COUNTS:
        reason = f"{len(set(x))} of at least {MIN_CONNECTION_COUNTS} connection counts"
        if not x:
            every = (t.memory.reasons.get(PART_FIELDS[name]) for t in trials if t.memory)
            reason = next(filter(None, every), "not measured")
        return PartFit(name, None, None, None, None, reason)
    slope, intercept, low, high = theil_sen(x, y)
    own = float(np.median(start)) if name in OWN_PARTS else 0.0
    return PartFit(name, slope, low, high, own + intercept, None)


def held_trials(records: Records, *, over_tls: bool) -> dict[str, list[TrialRecord]]:
    """Label -> its valid barrier trials on plain HTTP or over TLS, without the A/A twin.

    Of crawlers; what servers hold is a question of its own.
    """
    groups: dict[str, list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records, twins=False):
        if holds(trial) and "role" not in trial.params and (trial.workload == OVER_TLS) == over_tls:
            groups[trial.label].append(trial)
    return {label: groups[label] for label in labels_of(records) if label in groups}


def holds(trial: TrialRecord) -> bool:
    return trial.memory is not None and trial.memory.connections > 0


def fit_memory(records: Records, *, over_tls: bool = False) -> dict[str, MemoryFit]:
    """Memory per connection of every backend, by part, from its barrier trials.

    The fit is over what the connections *added* (held minus before, in the same
    process), so neither the interpreter's size nor other programs affect the
    slope. The memory before is added to the fixed part where it is the process's
    own. A part without a source is None with the recorded reason, never 0. The
    A/A twin's trials are left out.
    """
    groups = held_trials(records, over_tls=over_tls)
    return {label: fit_label(label, trials) for label, trials in groups.items()}


def fit_label(label: str, trials: Sequence[TrialRecord]) -> MemoryFit:
    """The memory of one backend or control, from its barrier trials; there must be one."""
    counts = sorted({t.memory.connections for t in trials if t.memory})
    top = [t for t in trials if t.memory and t.memory.connections == counts[-1]]
    at_highest: dict[str, float | None] = {}
    for name in PART_FIELDS:
        values = [g[name] for t in top if (g := memory_growth(t))]
        held = middle(values, "median")
        at_highest[name] = None if held is None else held / counts[-1]
    grown = [(memory_growth(trial) or {}).get("user") for trial in trials]
    if any(size is not None and size < 0 for size in grown):
        # What a free-threaded process gives back would count as memory of connections.
        at_highest["user"] = None
    return MemoryFit(
        label=label,
        connections=tuple(counts),
        trials=len(trials),
        blocks=min(Counter(t.memory.connections for t in trials if t.memory).values()),
        parts={name: _fit_part(name, trials) for name in MEMORY_PARTS},
        server=_fit_part("server sockets", trials),
        sources=dict(trials[-1].memory.sources) if trials[-1].memory else {},
        at_highest=at_highest,
    )
