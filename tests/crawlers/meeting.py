"""A site whose first page links to as many as there are slots, none answered before all asked."""

from __future__ import annotations

import threading
from typing import Protocol

from crawlers.conformance.scripted import Connection, ScriptedServer, page
from crawlers.job import CrawlReport


class Crawl(Protocol):
    """Crawls from a URL with these settings."""

    def __call__(self, url: str, /, *, slots: int, timeout_s: float) -> CrawlReport: ...


def slots_meet(crawl: Crawl, slots: int, *, wait_s: float, timeout_s: float) -> None:
    """All slots must be used at once, or the answers wait for ``wait_s`` and are missing."""
    met = threading.Barrier(slots, timeout=wait_s)

    def answer(connection: Connection) -> None:
        met.wait()
        connection.send(page())

    with ScriptedServer() as server:
        paths = [f"/{number}" for number in range(slots)]
        server.script["/"] = page(*paths)
        server.script.update(dict.fromkeys(paths, answer))
        report = crawl(server.url, slots=slots, timeout_s=timeout_s)
    assert report.errors == {}
    assert report.pages == slots + 1
