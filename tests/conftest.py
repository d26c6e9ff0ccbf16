"""What all tests share: no test runs for ever."""

from __future__ import annotations

import pytest

TIMEOUT_S = 120
"""For a test that does not say itself how long it may take."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test an end."""
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))
