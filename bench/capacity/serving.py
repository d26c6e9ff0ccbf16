"""Advice for a server: what a rate of requests and so many idle connections need, per model.

The costs are those that ``serve`` and ``hold`` measured: a request at 100 connections, and an idle
connection. There is no queue and no delay in it: a server has as much to do as its clients ask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis.analysis import Analysis
from bench.capacity.model import Need
from bench.questions import hold, serve
from bench.questions.served import BARE
from bench.show.measured import Measured
from bench.text import KIB, MIB, count, markdown_table, significant

HEADS: Final = ("server", "µs per request", "processors", "connections", "with the program")


@dataclass(frozen=True, slots=True)
class Serving:
    """What one server needs; None where it was not measured."""

    server: str
    request_us: float  # of the processor
    processors: float | None  # for the rate, if one was asked for
    connections_mib: float | None  # of all connections, user and kernel
    memory_mib: float | None  # with the program of each process


def advise(analysis: Analysis, need: Need) -> list[Serving]:
    """Every server that was measured, the least processor time first."""
    asked, held = serve.measured(analysis), hold.measured(analysis)
    found = [_needs(name, asked, held, need) for name in asked.with_(serve.MAIN, asked.values)]
    return [one for one in reversed(found) if one.server != BARE]


def _needs(name: str, asked: Measured, held: Measured, need: Need) -> Serving:
    us = asked.median(name, serve.MAIN) + need.mean_work_us
    processors = None if need.rate is None else need.rate * us / 1e6 / need.load
    each = held.spread(name, hold.TLS if need.tls else hold.PLAIN)
    program = held.spread(name, "program")
    mib = each.median * need.connections * KIB / MIB if each else None
    processes = max(1, math.ceil(processors or 0))
    whole = mib + processes * program.median if mib is not None and program else None
    return Serving(name, us, processors, mib, whole)


def table(found: Sequence[Serving], need: Need) -> str:
    """For people: a row for each server."""
    rows = [
        [
            one.server,
            significant(one.request_us, 3),
            "–" if one.processors is None else significant(one.processors, 2),
            "–" if one.connections_mib is None else f"{count(one.connections_mib)} MiB",
            "–" if one.memory_mib is None else f"{count(one.memory_mib)} MiB",
        ]
        for one in found
    ]
    wire = "TLS" if need.tls else "plain HTTP"
    about = f"{count(need.connections)} connections over {wire}"
    about += f", {count(need.rate)} requests/s" if need.rate is not None else ""
    return "\n".join([f"{about}; server's side, medians.", "", *markdown_table(HEADS, rows, 4)])
