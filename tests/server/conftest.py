"""One server for all tests that need none of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.fixture_server import PATIENCE, Running, running


@pytest.fixture(scope="session")
def shared() -> Iterator[Running]:
    """A server that other tests have used already."""
    with running("--site", "tree:120:5:2048", "--seed", "3") as server:
        yield server


@pytest.fixture(scope="session")
def shared_tls() -> Iterator[Running]:
    """A server with an ECDSA certificate, any version and tickets. It says nothing on stderr."""
    with running("--tls", "ecdsa", "--site", "tree:120:5:2048") as server:
        yield server
        server.process.terminate()
        assert server.process.communicate(timeout=PATIENCE) == ("", "")


def as_just_started(server: Running) -> Running:
    assert server.control("/reset", {"delay": "none", "hold": 0}) == (200, {})
    server.wait_for("/ledger?summary=1", lambda ledger: ledger["connections_open"] == 0)
    assert server.control("/reset", {}) == (200, {})
    return server


@pytest.fixture
def server(shared: Running) -> Running:
    """The shared server, as if it had just been started."""
    return as_just_started(shared)


@pytest.fixture
def secure(shared_tls: Running) -> Running:
    """The same over TLS."""
    return as_just_started(shared_tls)
