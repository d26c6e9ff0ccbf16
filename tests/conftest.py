"""Gives every test a time limit, and the same surroundings however pytest was started."""

from __future__ import annotations

import signal
from types import FrameType

import pytest
from hypothesis import settings

# Other programs share the machine, so the time of a single example says nothing.
settings.register_profile("full", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=30)

TIMEOUT_S = 600
"""Limit of a test without a ``timeout`` marker of its own, in seconds. It ends a test that hangs;
it must never end one that is slow because the machine is busy."""


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples of each property where slow tests are left out.

    ``nohup`` and shells that start a job in the background ignore SIGHUP and SIGINT. Children
    inherit that, and a test that sends them a signal would wait in vain. They inherit no handler.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _pass if number is signal.SIGHUP else signal.default_int_handler)
    settings.load_profile("quick" if config.getoption("markexpr") == "not slow" else "full")


def _pass(number: int, frame: FrameType | None) -> None:
    """Do nothing: ``nohup`` means that this process goes on."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the time limit of every test that has none."""
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))
