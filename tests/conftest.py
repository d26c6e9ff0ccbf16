"""Gives every test a time limit."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Other programs share the machine, so the time of a single example says nothing.
settings.register_profile("full", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=30)

TIMEOUT_S = 120
"""Limit of a test without a ``timeout`` marker of its own, in seconds."""


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples of each property where slow tests are left out."""
    settings.load_profile("quick" if config.getoption("markexpr") == "not slow" else "full")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the time limit of every test that has none."""
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))
