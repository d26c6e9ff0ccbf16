"""A crawl that ends just when a handshake is complete: its task has not heard of it yet."""

from __future__ import annotations

import gc
import warnings
from asyncio import sslproto
from collections.abc import Callable
from contextlib import suppress
from socket import socket
from typing import TYPE_CHECKING

import pytest

from crawlers import async_await
from crawlers.conformance.scripted import ScriptedServer, Wire
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from crawlers.stop import Stop
from tests.crawlers.backends import load

if TYPE_CHECKING:
    from crawlers.conformance.authority import Authority

ON_ASYNCIO = ("async_await", "asyncio_protocol", "aiohttp")


@pytest.mark.parametrize("name", ON_ASYNCIO)
def test_nothing_is_left_open(
    name: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio would wait half a minute for the goodbye of a server that nobody talks to."""
    backend = load(name)
    watched: list[tuple[async_await.Shared, Stop]] = []
    watch = async_await.watch
    complete: Callable[..., None] = sslproto.SSLProtocol._on_handshake_complete

    def noting(shared: async_await.Shared, stop: Stop) -> None:
        watched.append((shared, stop))
        watch(shared, stop)

    def at_its_end(protocol: object, error: Exception | None) -> None:
        complete(protocol, error)
        monkeypatch.setattr(Stop, "reason", lambda stop, now: "deadline")
        watch(*watched[0])

    monkeypatch.setattr(async_await, "watch", noting)
    monkeypatch.setattr(sslproto.SSLProtocol, "_on_handshake_complete", at_its_end)

    def deaf(sock: socket) -> Wire:
        encrypted = authority.greeting(sock)
        with suppress(OSError):
            while socket.recv(encrypted, 65536):  # type: ignore[arg-type]
                pass  # the goodbye of the client is one of these bytes
        return encrypted

    with (
        ScriptedServer(deaf, authority.cafile) as server,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        job = Job((server.url,), slots=1, cafile=authority.cafile, timeout_s=300.0)
        report = backend.crawl(job, NullRecorder())
        gc.collect()
    assert report.stopped == "deadline"
    assert [str(each.message) for each in caught if each.category is ResourceWarning] == []
