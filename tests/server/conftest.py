"""One fixture server for all tests that do not need a server of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.fixture_server import Running, running


@pytest.fixture(scope="session")
def shared() -> Iterator[Running]:
    """A server that other tests have used already."""
    with running("--site", "tree:120:5:2048", "--seed", "3") as server:
        yield server


@pytest.fixture
def server(shared: Running) -> Running:
    """The shared server, as if it had just been started."""
    assert shared.control("/reset", {"delay": "none", "hold": 0}) == (200, {})
    shared.wait_for("/ledger?summary=1", lambda ledger: ledger["connections_open"] == 0)
    assert shared.control("/reset", {}) == (200, {})
    return shared
