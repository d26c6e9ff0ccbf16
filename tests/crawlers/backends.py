"""Backends by name, for tests of many: loaded or skipped, the usual ones in the default tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from crawlers import registry
from crawlers.catalogue import tagged
from crawlers.conformance.scripted import ScriptedServer, page
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder

HERE = [name for name in registry.names() if not registry.about(name).alone]
STACKS = [name for name in HERE if registry.about(name).family == "stack"]
LIBRARIES = [name for name in STACKS if "_" not in name]
"""One for each library that is a whole stack, on the loop that it comes with."""
IN_CHILDREN = [name for name in tagged("spreads") if not registry.about(name).several_threads]
"""Those that fetch in processes or interpreters of their own, where nothing is patched."""
OTHERS = ("uvloop", "asyncio_protocol", "trio", "tornado", "processes")
USUAL = (*registry.MODELS, *OTHERS, "aiohttp", "httpx", "requests", "urllib3")
"""The models, and one of each way to be different: the others repeat what these do."""


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    """One test for each of these backends; the unusual ones are slow."""
    slow = pytest.mark.slow
    return pytest.mark.parametrize(
        "name", [name if name in USUAL else pytest.param(name, marks=slow) for name in names]
    )


models = pytest.mark.parametrize("name", registry.MODELS)


def load(name: str) -> registry.Backend:
    """A backend, or a skip that says why it cannot run here."""
    try:
        return registry.load(name)
    except registry.BackendError as error:
        pytest.skip(str(error))


def crawl(name: str, *urls: str, **settings: Any) -> CrawlReport:
    """Crawl with a backend by name."""
    return load(name).crawl(Job(urls, **settings), NullRecorder())


def outcomes(report: CrawlReport, prefix: str = "") -> dict[str, int | str | None]:
    """URL, without what it begins with -> error kind or status."""
    return {url.removeprefix(prefix): row.error or row.status for url, row in report.rows.items()}


def link(server: ScriptedServer, *paths: str) -> None:
    """A page that leads to pages that lead nowhere."""
    server.script["/"] = page(*paths)
    server.script |= dict.fromkeys(paths, page())
