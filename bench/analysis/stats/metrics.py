"""The numbers of a trial that backends are compared by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.analysis.stats.memory import memory_growth
from bench.analysis.stats.records import number_param
from bench.histograms import MIN_BEYOND
from bench.schema import Fairness, Latency, TrialRecord


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


def _pages_per_s(trial: TrialRecord) -> float | None:
    return trial.pages_per_s


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


def _cpu_total(trial: TrialRecord) -> float | None:
    parts = cpu_ms_per_1000(trial)
    return sum(parts) if parts else None


def per_exchange(trial: TrialRecord) -> float | None:
    """Microseconds of processor time per exchange in the counted turns; None without any."""
    turns = trial.turns
    return 1e6 * turns.cpu_s / turns.exchanges if turns and turns.exchanges else None


def page_faults_per_page(trial: TrialRecord) -> float | None:
    """Page faults of the client for each page; None where they were not read."""
    if trial.page_faults is None or not trial.pages:
        return None
    return trial.page_faults / trial.pages


#: Workloads that run as fast as they can, so their ratios mean something. A schedule
#: sets the rate of an open loop, a barrier trial waits for the barrier, and a
#: recorder-cost trial measures the recorder and not the backend.
CLOSED: Final = ("fetch", "throughput", "whole", "waiting", "real", "ladder", "regime")
COVERED: Final = 0.8
"""A clock that covers less of a slot's round than this does not say how long a request takes."""
EDGES: Final = 3
"""Rounds of a slot that do not count: slots fill up, and at the end some have no work."""


def round_ms(trial: TrialRecord) -> float | None:
    """What an exchange takes with everything around it: slots ÷ rate, by Little's law."""
    exchanges, slots = sum(trial.statuses.values()), number_param(trial, "slots")
    if trial.workload not in (*CLOSED, "crossover"):
        return None
    if not exchanges or not trial.elapsed_s or not slots:
        return None
    return 1000 * slots * trial.elapsed_s / exchanges


def clock_share(trial: TrialRecord) -> float | None:
    """The share of a slot's round that the service time covers; None in a crawl of few rounds.

    The rest of a round is spent waiting for the frontier, or for the interpreter's lock, and on
    reading the page.
    """
    each = round_ms(trial)
    if each is None or trial.service_time is None:
        return None
    rounds = sum(trial.statuses.values()) / (number_param(trial, "slots") or 1.0)
    if rounds <= EDGES:
        return None
    return min(1.0, trial.service_time.mean_ms / each * rounds / (rounds - EDGES))


def covered(trial: TrialRecord) -> bool:
    """Whether the service times say how long a request takes."""
    share = clock_share(trial)
    return share is None or share >= COVERED


def _latency(trial: TrialRecord) -> Latency | None:
    # In turns, only the exchanges that no stop fell into have a service time: the short ones.
    return trial.service_time if not trial.turns and covered(trial) else None


def _service_p50(trial: TrialRecord) -> float | None:
    latency = _latency(trial)
    return latency.p50_ms if latency else None


def _service_p99(trial: TrialRecord) -> float | None:
    latency = _latency(trial)
    return latency.p99_ms if latency and latency.count >= 100 * MIN_BEYOND else None


def _user_per_connection(trial: TrialRecord) -> float | None:
    growth = memory_growth(trial)
    if growth is None or growth["user"] is None or not trial.memory:
        return None
    return growth["user"] / trial.memory.connections


PAGES_PER_S: Final = Metric(
    "pages_per_s", "throughput", "pages/s", "faster", "slower", CLOSED, _pages_per_s
)
CPU_PER_1000: Final = Metric(
    "cpu_ms_per_1000", "CPU per 1000 pages", "ms", "more CPU", "less CPU", CLOSED, _cpu_total
)
SERVICE_P50: Final = Metric(
    "service_p50_ms", "median service time", "ms", "longer", "shorter", CLOSED, _service_p50
)
SERVICE_P99: Final = Metric(
    "service_p99_ms", "p99 service time", "ms", "longer", "shorter", CLOSED, _service_p99
)
USER_PER_CONNECTION: Final = Metric(
    "user_per_connection",
    "user memory per connection",
    "bytes",
    "more memory",
    "less memory",
    ("c10k",),
    _user_per_connection,
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
    SERVICE_P50,
    SERVICE_P99,
    USER_PER_CONNECTION,
    CPU_PER_REQUEST,
)


def least_served(run: Fairness) -> float:
    """Completions of the least served slot over those of the median slot."""
    least, middle = run.completions[0], run.completions[len(run.quantiles) // 2]
    return least / middle if middle else 0.0
