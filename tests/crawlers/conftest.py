"""The real fixture server, in its own process, for the crawlers' tests."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest


class FixtureServer:
    """``python -m server``, and its control plane."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "server", "--json", "--exit-with-parent", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.hello: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.url = f"http://{self.hello['listening']}/"
        self.digest: str = self.hello["digest"]

    def control(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the control plane: GET without a body, POST with one."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.hello['control']}{path}", data)
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(10)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


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
