"""The campaign as tests: one for each backend at each workload point of the profile.

By the time these run, everything is measured. Each test hands its trials to pytest-benchmark
and fails if one of them was wrong. See :mod:`bench.cli.pytest_front`.
"""

from __future__ import annotations

from collections.abc import Callable


def test_trials(replay: Callable[[], None]) -> None:
    """Named ``test_trials[throughput-callbacks-100]``: so -k finds workload, backend and size."""
    replay()
