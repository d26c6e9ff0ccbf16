"""Crawls that the conformance tests run, and their outcomes in short."""

from __future__ import annotations

from crawlers.conformance.scripted import ScriptedServer
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder, Recorder
from crawlers.registry import Backend


def crawl(
    backend: Backend,
    server: ScriptedServer,
    recorder: Recorder | None = None,
    **settings: object,
) -> CrawlReport:
    """Crawl from the root with short timeouts."""
    settings.setdefault("urls", (server.url,))
    settings.setdefault("timeout_s", 30.0)
    settings.setdefault("cafile", server.cafile)
    return backend.crawl(Job(**settings), recorder or NullRecorder())  # type: ignore[arg-type]


def outcomes(report: CrawlReport) -> dict[str, int | str | None]:
    """Path -> status or error kind."""
    return {"/" + url.split("/", 3)[3]: row.error or row.status for url, row in report.rows.items()}
