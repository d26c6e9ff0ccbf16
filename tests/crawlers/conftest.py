"""The real fixture server, in its own process, for the tests of the crawlers; certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.fixture_server import running

if TYPE_CHECKING:
    from crawlers.conformance.authority import Authority


class FixtureServer:
    """``python -m server``, up until it is stopped."""

    def __init__(self, *arguments: str) -> None:
        self._stack = ExitStack()
        self._server = self._stack.enter_context(running(*arguments))
        self.process = self._server.process
        self.hello = self._server.ready
        self.url = f"http://{self.hello['listening']}/"
        self.digest: str = self.hello["digest"]

    def control(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the control plane: GET without a body, POST with one."""
        status, found = self._server.control(path, body)
        assert status == 200, found
        assert isinstance(found, dict)
        return found

    def stop(self) -> None:
        """End the server; once more does no harm."""
        self._stack.close()


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., FixtureServer]]:
    """Start fixture servers that live until the end of the session."""
    running: list[FixtureServer] = []

    def start(*arguments: str) -> FixtureServer:
        server = FixtureServer(*arguments)
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="session")
def tree(start_server: Callable[..., FixtureServer]) -> FixtureServer:
    """A tree site of 500 pages."""
    return start_server("--site", "tree:500:6:2048", "--seed", "7")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Signs the certificates of the test's servers."""
    pytest.importorskip("trustme", reason="TLS needs certificates: pip install trustme")
    from crawlers.conformance.authority import Authority

    return Authority(tmp_path)
