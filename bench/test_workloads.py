"""The campaign as tests: one for each backend at each workload point.

The measuring has been done when these run; each hands its trials over to
pytest-benchmark and fails when one of them was wrong. See :mod:`bench.plugin`.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("replay")


def test_throughput(entry: tuple[str, str]) -> None:
    """Closed loop without delay: what a page costs."""


def test_waiting(entry: tuple[str, str]) -> None:
    """Closed loop behind a delay of 50 ms: what waiting costs."""


def test_c10k(entry: tuple[str, str]) -> None:
    """Connections held open at a barrier: what one costs in memory."""


def test_openloop(entry: tuple[str, str]) -> None:
    """Requests due on a schedule: what a user would wait."""


def test_real(entry: tuple[str, str]) -> None:
    """Real HTML documentation."""


def test_cost(entry: tuple[str, str]) -> None:
    """What keeping times costs: the same crawl without it is beside it in the records."""
