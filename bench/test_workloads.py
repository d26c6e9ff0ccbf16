"""The campaign as tests: one for each backend at each workload point.

The measuring has been done when these run; each hands its trials over to
pytest-benchmark and fails when one of them was wrong. See :mod:`bench.plugin`.
"""

from __future__ import annotations

from collections.abc import Callable

Replay = Callable[[], None]


def test_throughput(replay: Replay) -> None:
    """Closed loop without delay: what a page costs."""
    replay()


def test_waiting(replay: Replay) -> None:
    """Closed loop behind a delay of 50 ms: what waiting costs."""
    replay()


def test_ladder(replay: Replay) -> None:
    """Every backend there is: what each changes, and what a page costs it."""
    replay()


def test_regime(replay: Replay) -> None:
    """Slots by delay: which model wins where."""
    replay()


def test_fairness(replay: Replay) -> None:
    """A thousand slots: whether any of them is left behind."""
    replay()


def test_c10k(replay: Replay) -> None:
    """Connections held open at a barrier: what one costs in memory."""
    replay()


def test_openloop(replay: Replay) -> None:
    """Requests due on a schedule: what a user would wait."""
    replay()


def test_real(replay: Replay) -> None:
    """Real HTML documentation."""
    replay()


def test_cost(replay: Replay) -> None:
    """What keeping times costs: the same crawl without it is beside it in the records."""
    replay()
