"""The numbers of a trial that backends are compared by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.schema import Fairness, TrialRecord
from bench.stats.latency import MIN_BEYOND
from bench.stats.memory import memory_growth


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a trial, and the words for more and for less of it."""

    name: str
    title: str
    unit: str
    more: str
    less: str
    workloads: tuple[str, ...]  # where the metric may be compared between backends
    value: Callable[[TrialRecord], float | None]


def _pages_per_s(trial: TrialRecord) -> float | None:
    return trial.pages_per_s


def cpu_ms_per_1000(trial: TrialRecord) -> tuple[float, float] | None:
    """The client's processor time per 1000 pages: (user, system) in milliseconds."""
    if trial.cpu is None or not trial.pages:
        return None
    scale = 1e6 / trial.pages
    return trial.cpu.client_user_s * scale, trial.cpu.client_system_s * scale


def _cpu_total(trial: TrialRecord) -> float | None:
    parts = cpu_ms_per_1000(trial)
    return sum(parts) if parts else None


def _service_p50(trial: TrialRecord) -> float | None:
    return trial.service_time.p50_ms if trial.service_time else None


def _service_p99(trial: TrialRecord) -> float | None:
    latency = trial.service_time
    return latency.p99_ms if latency and latency.count >= 100 * MIN_BEYOND else None


def _user_per_connection(trial: TrialRecord) -> float | None:
    growth = memory_growth(trial)
    if growth is None or growth["user"] is None or not trial.memory:
        return None
    return growth["user"] / trial.memory.connections


#: Workloads that run as fast as they can and may be compared by ratio. An open
#: loop's rate is set by its schedule, a barrier trial waits for the barrier, and
#: a recorder-cost trial is no backend's.
CLOSED: Final = ("throughput", "waiting", "real", "ladder", "regime")

PAGES_PER_S: Final = Metric(
    "pages_per_s", "throughput", "pages/s", "faster", "slower", CLOSED, _pages_per_s
)
CPU_PER_1000: Final = Metric(
    "cpu_ms_per_1000", "CPU per 1000 pages", "ms", "dearer", "cheaper", CLOSED, _cpu_total
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
METRICS: Final[tuple[Metric, ...]] = (
    PAGES_PER_S,
    CPU_PER_1000,
    SERVICE_P50,
    SERVICE_P99,
    USER_PER_CONNECTION,
)


def least_served(run: Fairness) -> float:
    """What the least served slot completed, as a share of what the median slot did."""
    least, middle = run.completions[-1][0], run.completions[-1][len(run.quantiles) // 2]
    return least / middle if middle else 0.0
