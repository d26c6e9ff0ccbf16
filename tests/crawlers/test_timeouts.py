"""A timeout for each exchange ends a late one by itself, without the sweep over all slots."""

from __future__ import annotations

import pytest

from crawlers import async_await, registry
from crawlers.conformance.crawling import outcomes
from crawlers.conformance.scripted import Connection, ScriptedServer, page
from crawlers.job import Job
from crawlers.recorder import NullRecorder

ON_ASYNCIO = ("async_await_timeouts", "uvloop_timeouts", "aiohttp_timeouts")


@pytest.mark.parametrize("name", ON_ASYNCIO)
def test_the_timer_of_an_exchange_needs_no_sweep(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_await, "watch", lambda shared, stop: None)

    def stalls(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        connection.hang()

    with ScriptedServer() as server:
        server.script["/"] = page("/silent", "/stalls")
        server.script |= {"/silent": Connection.hang, "/stalls": stalls}
        job = Job((server.url,), slots=2, timeout_s=1.0, max_tries=1)
        report = registry.load(name).crawl(job, NullRecorder())
        found = outcomes(report)
    # On a busy machine even the first page may be late.
    assert found in (
        {"/": 200, "/silent": "timeout", "/stalls": "timeout"},
        {"/": "timeout"},
    )
