"""The numbers of a trial that backends are compared by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.analysis.stats.memory import kib_each
from bench.analysis.stats.records import Average, pages_per_s
from bench.schema import TrialRecord
from bench.text import KIB


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a trial, and the words for more and for less of it."""

    name: str
    title: str
    unit: str
    more: str
    less: str
    workloads: tuple[str, ...] = ()  # where the metric may be compared between backends
    value: Callable[[TrialRecord], float | None] = lambda _: None
    average: Average = "geometric mean"  # what stands for all blocks


def cpu_ms_per_1000(trial: TrialRecord) -> tuple[float, float] | None:
    """The client's processor time per 1000 pages: (user, system) in milliseconds.

    In turns the time is that of the counted turns, per exchange completed in them. The
    kernel splits time into user and system for the whole crawl only, so that split is
    the crawl's. A page is a URL answered 200; redirects and errors count to the pages.
    """
    cpu, turns = trial.cpu, trial.turns
    if cpu is None or not trial.pages:
        return None
    user, system = cpu.client_user_s, cpu.client_system_s
    scale = 1e6 / trial.pages
    if turns is not None and turns.exchanges and user + system > 0:
        answered = sum(trial.statuses.values())
        scale *= turns.cpu_s / turns.exchanges * answered / (user + system)
    return user * scale, system * scale


def per_exchange(trial: TrialRecord) -> float | None:
    """Microseconds of processor time per exchange in the counted turns; None without any."""
    turns = trial.turns
    return 1e6 * turns.cpu_s / turns.exchanges if turns and turns.exchanges else None


#: Workloads that run as fast as they can, so their ratios mean something. A schedule
#: sets the rate of an open loop, a barrier trial waits for the barrier, and a
#: recorder-cost trial measures the recorder and not the backend.
CLOSED: Final = ("fetch", "throughput", "whole", "waiting", "real", "ladder", "regime")


USER_KIB: Final = kib_each("user")
PAGES_PER_S: Final = Metric(
    "pages_per_s",
    "throughput",
    "pages/s",
    "faster",
    "slower",
    CLOSED,
    pages_per_s,
)
CPU_PER_1000: Final = Metric(
    "cpu_ms_per_1000",
    "CPU per 1000 pages",
    "ms",
    "more CPU",
    "less CPU",
    CLOSED,
    lambda trial: sum(parts) if (parts := cpu_ms_per_1000(trial)) else None,
)
USER_PER_CONNECTION: Final = Metric(
    "user_per_connection",
    "user memory per connection",
    "bytes",
    "more memory",
    "less memory",
    ("c10k",),
    lambda trial: None if (each := USER_KIB(trial)) is None else each * KIB,
)
CPU_PER_REQUEST: Final = Metric(
    "cpu_us_per_request",
    "CPU per request served",
    "µs",
    "more CPU",
    "less CPU",
    ("serve", "accept"),
    per_exchange,
)
METRICS: Final[tuple[Metric, ...]] = (
    PAGES_PER_S,
    CPU_PER_1000,
    USER_PER_CONNECTION,
    CPU_PER_REQUEST,
)
