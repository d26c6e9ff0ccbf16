"""The campaign as tests: one for each backend at each workload point.

By the time these run, everything is measured. Each test hands its trials to pytest-benchmark
and fails if one of them was wrong. See :mod:`bench.cli.pytest_front`.
"""

from __future__ import annotations

from collections.abc import Callable

Replay = Callable[[], None]


def test_throughput(replay: Replay) -> None:
    """Closed loop without delay: the cost of a page."""
    replay()


def test_fetch(replay: Replay) -> None:
    """A list of pages without links: what a model costs."""
    replay()


def test_whole(replay: Replay) -> None:
    """The crawl again in whole trials: whether the turns agree with them."""
    replay()


def test_waiting(replay: Replay) -> None:
    """Closed loop with a delay of 50 ms: the cost of waiting."""
    replay()


def test_ladder(replay: Replay) -> None:
    """Every backend: what each changes, and what that costs per page."""
    replay()


def test_regime(replay: Replay) -> None:
    """Slots by delay: where each model wins."""
    replay()


def test_fairness(replay: Replay) -> None:
    """A thousand slots: does any of them fall behind?"""
    replay()


def test_c10k(replay: Replay) -> None:
    """Connections held open at a barrier: the memory of one."""
    replay()


def test_openloop(replay: Replay) -> None:
    """Requests due on a schedule: how long a user would wait."""
    replay()


def test_churn(replay: Replay) -> None:
    """A connection for each page: what opening one costs."""
    replay()


def test_crossover(replay: Replay) -> None:
    """Many slots behind long delays: where threads stop being fine."""
    replay()


def test_cancel(replay: Replay) -> None:
    """Crawls that are interrupted with every exchange in flight: how long they take to end."""
    replay()


def test_tls_fetch(replay: Replay) -> None:
    """The list over TLS, on kept connections: what encryption adds to a page."""
    replay()


def test_tls_handshake(replay: Replay) -> None:
    """The list over TLS, with a connection for each page: what a handshake costs."""
    replay()


def test_tls_c10k(replay: Replay) -> None:
    """Connections held open over TLS: the memory of one."""
    replay()


def test_processors(replay: Replay) -> None:
    """Every processor: what the backends that can use them gain."""
    replay()


def test_awake(replay: Replay) -> None:
    """The crawl from a server that polls; the records have the same from one that sleeps."""
    replay()


def test_pinning(replay: Replay) -> None:
    """The crawl on one processor; the records have the same on all of them."""
    replay()


def test_mixed(replay: Replay) -> None:
    """One page in ten needs the processor: how long the other nine wait."""
    replay()


def test_real(replay: Replay) -> None:
    """A crawl of real HTML documentation."""
    replay()


def test_cost(replay: Replay) -> None:
    """The cost of keeping times; the records have the same crawl without it."""
    replay()
