"""The model: a few lines, from costs that were measured to a load that was not.

A page takes processor time: what was measured for a crawled page, times a factor for the
number of exchanges in flight and one for a program alone on its processor, and what TLS, a new
connection and the reader's own work add. A page occupies a connection while it waits for the
answer and for the processor, so by Little's law the connections in use are the rate times that
time. :file:`templates/capacity.js` has the same formulas for the page of a campaign, and a test
compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

from bench.capacity.costs import Backend, Costs
from bench.capacity.need import Need

ROUNDS: Final = 4
"""Cost and exchanges in flight depend on each other; this many rounds settle them."""

ROUNDED: Final = 1.001
"""A process more than that is none: it comes from rounding."""

Limit = Literal["connections", "processor"]
LIMITS: Final[tuple[Limit, Limit]] = ("connections", "processor")


def factor_at(factors: Sequence[tuple[int, float]], in_flight: float) -> float:
    """The factor for a number of exchanges in flight, on a line over its logarithm.

    Outside of what was measured it stays as it is at the nearest end; the advice says so.
    """
    (first, value), *rest = factors
    if in_flight <= first:
        return value
    for slots, higher in rest:
        if in_flight <= slots:
            part = math.log(in_flight / first) / math.log(slots / first)
            return value + (higher - value) * part
        first, value = slots, higher
    return value


def added_us(backend: Backend, need: Need) -> float | None:
    """What TLS, new connections and work add to a page; None where that was not measured."""
    extra, total = backend.extra, need.mean_work_us
    parts: list[tuple[float | None, float]] = []
    if need.tls:
        parts.append((extra.tls, 1.0))
    if need.pages_per_connection:
        parts.append((extra.opening, 1.0 / need.pages_per_connection))
        if need.tls:
            parts.append((extra.handshake, 1.0 / need.pages_per_connection))
    for value, weight in parts:
        if value is None:
            return None
        total += value * weight
    return total


def page_us(costs: Costs, backend: Backend, in_flight: float) -> float:
    """Processor time of a crawled page without anything added; the backend must have one."""
    assert backend.page is not None
    return backend.page * factor_at(backend.factors, in_flight) * costs.alone


def settled(
    costs: Costs, backend: Backend, need: Need, added: float, processes: int
) -> tuple[float, float]:
    """What a page takes and the connections in use, with so many processes.

    By Little's law these are the rate times the time that a page occupies one.
    """
    assert need.rate is not None
    total, used = added, 1.0
    for _ in range(ROUNDS):
        total = page_us(costs, backend, used / processes) + added
        used = need.rate * (need.delay_s + total / 1e6)
    return total, used


def most_rate(costs: Costs, backend: Backend, need: Need, added: float) -> tuple[float, Limit]:
    """Pages per second that one process can do, and whether connections or processor end it."""
    rate, used, limit = 0.0, float(need.connections), LIMITS[0]
    for _ in range(ROUNDS):
        total = page_us(costs, backend, used) + added
        rate, limit = min(
            (need.connections / (need.delay_s + total / 1e6), LIMITS[0]),
            (need.load * 1e6 / total, LIMITS[1]),
        )
        used = rate * (need.delay_s + total / 1e6)
    return rate, limit


def processes_for(costs: Costs, backend: Backend, need: Need, added: float) -> int:
    """The fewest processes that carry the rate at the planned load.

    The interpreter's lock lets a process use about one processor. With more of them, each has
    fewer exchanges in flight, at which a page may cost less.
    """
    assert need.rate is not None
    rate = need.rate

    def carry(processes: int) -> bool:
        total, _ = settled(costs, backend, need, added, processes)
        return rate * total / 1e6 / need.load <= processes * ROUNDED

    few, many = 0, 1
    while not carry(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if carry(middle) else (middle, many)
    return many


def closed_loop(slots: int, delay_s: float, total_us: float) -> float:
    """Pages per second of so many slots that each ask again as soon as they are answered.

    Mean value analysis (M. Reiser and S. Lavenberg, J. ACM 27 (1980) 313) of one processor and
    a delay: with one more slot, a page finds the queue of the others before it.
    """
    cost, queue, rate = total_us / 1e6, 0.0, 0.0
    for number in range(1, slots + 1):
        response = cost * (1.0 + queue)
        rate = number / (delay_s + response)
        queue = rate * response
    return rate


def waiting_s(rate: float, page_s: float, work_s: float, share: float) -> float:
    """Mean time that a page waits for the processor, by Pollaczek and Khinchine (M/G/1).

    Pages come at random, ``share`` of them take ``work_s`` more, and none is interrupted. The
    processor must not be overloaded.
    """
    mean = page_s + share * work_s
    square = (1.0 - share) * page_s**2 + share * (page_s + work_s) ** 2
    return rate * square / (2.0 * (1.0 - rate * mean))
