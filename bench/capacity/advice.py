"""Advice: each backend weighed against a need, in order, with what nothing tells apart together.

Every sentence is made here and once more in :file:`templates/capacity.js`; a test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from bench.analysis.stats.ratios import MARGINS
from bench.capacity import model
from bench.capacity.costs import Backend, Costs
from bench.capacity.need import Need
from bench.capacity.validation import Check, Validation
from bench.machine.doctor.limits import MAPS_PER_THREAD, SPARE_DESCRIPTORS, SPARE_MAPS
from bench.text import count, duration, listing, plural, times

Can = Literal["yes", "left out", "no"]
Limiter = Literal["connections", "processor"]

SMALLEST: Final = math.log1p(max(MARGINS))
"""A smaller difference in processor time is no reason to choose, as a log ratio."""

BEYOND: Final = 1.05
"""What is this many times beyond the measured range is said."""


@dataclass(frozen=True, slots=True)
class Row:
    """One backend for one need; what is not known is None, and ``notes`` say why."""

    name: str
    can: Can
    reason: str
    stack: bool = False
    total_us: float | None = None  # of the processor, for a page
    processors: float | None = None
    low: float | None = None  # 95 % interval of the processors, over blocks
    high: float | None = None
    processes: int | None = None
    in_use: float | None = None  # connections
    most_rate: float | None = None  # pages per second that these processes can do
    limiter: Limiter | None = None
    user_bytes: float | None = None
    user_low: float | None = None  # by the 95 % interval of the slope over connections
    user_high: float | None = None
    kernel_bytes: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    wait_ms: float | None = None  # mean, for the processor; calculated
    checked: str | None = None  # the nearest point at which the prediction was checked
    error: float | None = None  # of the prediction there
    group: int | None = None  # backends of a group cannot be told apart in processor time
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """Every backend for one need, the cheapest group first."""

    campaign: str
    machine: str
    need: Need
    rows: Sequence[Row]
    notes: Sequence[str]  # what holds for every row


def advise(costs: Costs, validation: Validation, need: Need) -> Advice:
    """Weigh every backend of a campaign."""
    rows = [weigh(costs, validation, backend, need) for backend in costs.backends]
    able = [row for row in rows if row.can == "yes"]
    rest = [row for can in ("left out", "no") for row in rows if row.can == can]
    return Advice(
        costs.campaign, costs.machine, need, [*grouped(costs, need, able), *rest],
        remarks(costs, need),
    )  # fmt: skip


def weigh(costs: Costs, validation: Validation, backend: Backend, need: Need) -> Row:
    """One backend: whether it can, and what it needs."""

    def no(can: Can, reason: str) -> Row:
        return Row(backend.name, can, reason, backend.stack)

    if need.tls and backend.no_tls:
        return no("no", f"It refuses TLS: {backend.no_tls}.")
    if backend.most is not None and backend.most < need.connections:
        return no("no", f"A process of it holds at most {count(backend.most)} connections.")
    most_threads = threads_of(costs)
    if backend.threaded and most_threads is not None and need.connections > most_threads:
        return no(
            "no",
            f"The settings of the measured machine allow {count(most_threads)} threads at most: "
            "see python -m bench doctor.",
        )
    if backend.page is None:
        return no("left out", "What a page takes was not measured in at least two blocks.")
    added = model.added_us(backend, need)
    if added is None:
        return no("left out", f"{_what(need)} was not measured.")
    processes = model.processes_for(costs, backend, need, added)
    total, in_flight = model.settled(costs, backend, need, added, processes)
    if in_flight > need.connections:
        return no(
            "no",
            f"{_plural(math.ceil(in_flight), 'connection')} in use at this rate and delay, more "
            f"than {count(need.connections)}.",
        )
    load = need.rate / processes * total / 1e6
    check = validation.nearest(backend.name, in_flight / processes, load)
    if check and not (check.holds and validation.good(check.kind)):
        return no("left out", _wrong(check, validation))
    blocks = _blocks(costs, backend, need, in_flight / processes)
    half = half_width(costs, [math.log(value) for value in blocks.values()])
    processors = need.rate * total / 1e6 / need.load
    most, limiter = _most(need, total, processes)
    row = Row(
        backend.name,
        "yes",
        _why(need, total, in_flight, processes, most, limiter),
        backend.stack,
        total_us=total,
        processors=processors,
        low=None if half is None else processors * math.exp(-half),
        high=None if half is None else processors * math.exp(half),
        processes=processes,
        in_use=in_flight,
        most_rate=most,
        limiter=limiter,
        checked=check.point if check else None,
        error=check.error if check else None,
        notes=tuple(_beyond(costs, backend, need, in_flight / processes, processes, check)),
    )
    row = _with_queue(row, validation, backend, need)
    row = _with_memory(row, validation, backend, need, processes)
    return _with_response(row, backend, need, load)


# --- one row -----------------------------------------------------------------------------


def _most(need: Need, total: float, processes: int) -> tuple[float, Limiter]:
    """Pages per second that so many processes can do, and what limits them."""
    by_connections = need.connections / (need.delay_s + total / 1e6)
    by_processor = processes * need.load * 1e6 / total
    if by_connections < by_processor:
        return by_connections, "connections"
    return by_processor, "processor"


def _what(need: Need) -> str:
    """What a need asks for beyond a page on a kept connection of plain HTTP."""
    asked = [
        *(["TLS"] if need.tls else []),
        *(["opening a connection"] if need.pages_per_connection else []),
    ]
    return f"What {listing(asked)} adds to a page"


def _wrong(check: Check, validation: Validation) -> str:
    if check.holds:
        error = validation.median_error(check.kind) or 0.0
        return (
            f"Predictions like this one are off by {100 * error:.0f} % in the median, too much "
            "to advise on."
        )
    return f"At {check.point}, the nearest point that was checked, the prediction is {check.far}."


def _why(
    need: Need, total: float, in_flight: float, processes: int, most: float, limiter: str
) -> str:
    work = f", {duration(need.mean_work_us / 1000, 3)} of it your work" if need.work_s else ""
    several = f"{count(processes)} processes" if processes > 1 else "One process"
    ends = "its connections" if processes == 1 else "their connections"
    if limiter == "processor":
        ends = "its processor" if processes == 1 else "their processors"
    return (
        f"A page takes {duration(total / 1000, 3)} of a processor{work}; "
        f"{_plural(math.ceil(in_flight), 'connection')} in use at a time. {several} can do "
        f"{count(most)} pages/s, limited by {ends}."
    )


def _plural(value: float, word: str) -> str:
    """A count and its noun; the count decides, as it is shown."""
    return plural(round(value), word)


def _with_queue(row: Row, validation: Validation, backend: Backend, need: Need) -> Row:
    """Mean time in the queue for the processor; with work, only as far as that was right."""
    if need.work_s:
        if backend.threaded or backend.in_turn:
            return row
        check = validation.queue_of(backend.name)
        if check and not (check.holds and validation.good(check.kind)):
            return replace(row, notes=(*row.notes, _wrong_queue(check, validation)))
    page_s = ((row.total_us or 0.0) - need.mean_work_us) / 1e6
    rate = need.rate / (row.processes or 1)
    return replace(row, wait_ms=1e3 * model.waiting_s(rate, page_s, need.work_s, need.share))


def _wrong_queue(check: Check, validation: Validation) -> str:
    median = f"such predictions are {100 * (validation.median_error(check.kind) or 0.0):.0f} % off"
    why = f"{median} in the median" if check.holds else f"at {check.point} it is {check.far}"
    return f"its queue is left out: {why}"


def _with_memory(
    row: Row, validation: Validation, backend: Backend, need: Need, processes: int
) -> Row:
    held = backend.encrypted if need.tls else backend.plain
    over = " over TLS" if need.tls else ""
    if held is None:
        return replace(row, notes=(*row.notes, f"its memory{over} was not measured"))
    check = validation.memory_of(backend.name, tls=need.tls)
    if check and not (check.holds and validation.good(check.kind)):
        note = f"its memory is left out: at {check.point} the prediction is {check.far}"
        return replace(row, notes=(*row.notes, note))
    notes = list(row.notes)
    share = need.connections / processes
    if share >= BEYOND * held.highest:
        notes.append(
            f"{count(share)} connections in a process, measured up to {count(held.highest)}: "
            f"{times(share / held.highest)} times as many"
        )
    if held.missing:
        notes.append(f"without {listing(held.missing)}, which could not be read")
    return replace(
        row,
        user_bytes=processes * held.fixed_user + need.connections * held.user,
        user_low=processes * held.fixed_user + need.connections * held.low,
        user_high=processes * held.fixed_user + need.connections * held.high,
        kernel_bytes=processes * held.fixed_kernel + need.connections * held.kernel,
        notes=tuple(notes),
    )


def _with_response(row: Row, backend: Backend, need: Need, load: float) -> Row:
    """Response times of the open loop at the next higher load that was measured."""
    if need.tls or need.work_s or need.pages_per_connection:
        return row
    found = next((a for a in backend.answered if a.load >= load), None)
    if found is None:
        if not backend.answered:
            return row
        top = max(a.load for a in backend.answered)
        note = f"response time was measured up to {100 * top:.0f} % of a processor"
        return replace(row, notes=(*row.notes, note))
    delay = 1e3 * need.delay_s
    return replace(row, p50_ms=delay + found.p50_ms, p99_ms=delay + found.p99_ms)


def _beyond(
    costs: Costs,
    backend: Backend,
    need: Need,
    in_flight: float,
    processes: int,
    check: Check | None,
) -> list[str]:
    """What was not measured, and by how much the need is beyond it."""
    notes = []
    fewest, most = backend.factors[0][0], backend.factors[-1][0]
    at = f"{count(fewest)} to {count(most)}" if fewest != most else f"{count(most)} only"
    in_flight = max(in_flight, 1.0)
    ratio = max(in_flight / most, fewest / in_flight)
    if ratio >= BEYOND:
        more = f": {times(ratio)} times as many" if in_flight > most else ""
        notes.append(
            f"{_plural(in_flight, 'exchange')} in flight in a process, measured with {at}{more}"
        )
    if processes > costs.processors:
        notes.append(
            f"{count(processes)} processors, measured with at most {count(costs.processors)}: "
            "calculated as so many times one"
        )
    if (need.tls or need.pages_per_connection) and backend.extra.source != backend.name:
        notes.append(f"what TLS and new connections add is that of {backend.extra.source}")
    if check is None:
        notes.append("no prediction of its rate was checked")
    return notes


def threads_of(costs: Costs) -> int | None:
    """How many threads the settings of the measured machine allow; None if they are unknown."""
    known = [costs.limits[name] for name in ("threads_max", "pid_max") if name in costs.limits]
    if "max_map_count" in costs.limits:
        known.append((costs.limits["max_map_count"] - SPARE_MAPS) // MAPS_PER_THREAD)
    return min(known, default=None)


def remarks(costs: Costs, need: Need) -> list[str]:
    """What holds for every row of an advice."""
    notes = [
        f"A page is 2 KB, parsed, its links followed, as at {costs.point}. Processes are planned "
        f"to use {100 * need.load:.0f} % of what a processor of the measured machine can do."
    ]
    if need.delay_s and 1e3 * need.delay_s >= BEYOND * costs.longest_delay_ms:
        far = (
            f": {times(1e3 * need.delay_s / costs.longest_delay_ms)} times as long"
            if costs.longest_delay_ms
            else ""
        )
        notes.append(
            f"The delay is {duration(1e3 * need.delay_s)}, measured up to "
            f"{duration(costs.longest_delay_ms)}{far}."
        )
    if need.tls and costs.tls_slots is not None:
        notes.append(
            f"What TLS adds to a page was measured at {count(costs.tls_slots)} slots, and is not "
            "validated elsewhere."
        )
    if need.work_s:
        notes.append(
            "Your work is added as you give it, and response times with it were not measured. "
            "Queue is the mean wait for the processor, calculated (M/G/1); threads that work, and "
            "what works elsewhere than in its loop, take turns, which that does not describe."
        )
    descriptors = costs.limits.get("nofile_hard")
    if descriptors is not None and need.connections + SPARE_DESCRIPTORS > descriptors:
        notes.append(
            f"One process of the measured machine opens at most {count(descriptors)} files: "
            f"run ulimit -n {need.connections + SPARE_DESCRIPTORS} as root."
        )
    return notes


# --- all rows ----------------------------------------------------------------------------

Blocks = Mapping[int, float]
"""Block -> microseconds of a page, everything added."""


def grouped(costs: Costs, need: Need, rows: Sequence[Row]) -> list[Row]:
    """The rows by what a page takes, then by memory within what cannot be told apart.

    The cheapest backend leads a group. The first that is told apart from it leads the next.
    """
    found: list[Row] = []
    leader: Row | None = None
    number = 0
    for row in sorted(rows, key=lambda row: row.total_us or 0.0):
        if leader is None or apart(costs, leader, row, need):
            leader, number = row, number + 1
        found.append(replace(row, group=number))
    return sorted(found, key=lambda row: (row.group or 0, _memory(row), row.total_us or 0.0))


def _memory(row: Row) -> float:
    if row.user_bytes is None or row.kernel_bytes is None:
        return math.inf
    return row.user_bytes + row.kernel_bytes


def apart(costs: Costs, one: Row, other: Row, need: Need) -> bool:
    """Whether the other takes more: by its interval, the noise floor, and enough to matter.

    The floor is that of a page in turns, so work that both do alike makes it smaller. Where a
    page of either was measured at one number of slots only, they are compared there: what more
    exchanges in flight cost the one would count as a difference to the other.
    """
    pair = [costs.of(row.name) for row in (one, other)]
    single = any(len(backend.factors) == 1 for backend in pair)
    first, second = (
        _blocks(costs, backend, need, costs.slots if single else _in_flight(row))
        for backend, row in zip(pair, (one, other), strict=True)
    )
    logs = [math.log(second[b] / first[b]) for b in sorted(first.keys() & second.keys())]
    half = half_width(costs, logs)
    if half is None or one.total_us is None:
        return False
    measured = 1.0 - need.mean_work_us / one.total_us
    mean = sum(logs) / len(logs)
    return mean - half > 0 and mean > max(costs.floor * measured, SMALLEST)


def _in_flight(row: Row) -> float:
    """Exchanges in flight in a process."""
    return (row.in_use or 0.0) / (row.processes or 1)


def half_width(costs: Costs, logs: Sequence[float]) -> float | None:
    """Half the width of Student's 95 % interval of a mean; None with fewer than two values."""
    quantile = costs.quantiles.get(len(logs))
    if quantile is None:
        return None
    mean = sum(logs) / len(logs)
    variance = sum((value - mean) ** 2 for value in logs) / (len(logs) - 1)
    return quantile * math.sqrt(variance / len(logs))


def _blocks(costs: Costs, backend: Backend, need: Need, in_flight: float) -> Blocks:
    """What a page takes in all, block by block of the reference point."""
    scale = model.factor_at(backend.factors, in_flight) * costs.alone
    added = model.added_us(backend, need) or 0.0
    return {block: value * scale + added for block, value in backend.blocks.items()}
