"""async/await with small buffers below TLS: what asyncio's connections could cost.

Everything that waits and switches is the same as in ``async_await``. Changed against
it: the size of one buffer. ``asyncio.sslproto.SSLProtocol`` receives into 256 KiB of
its own for each connection, and makes and clears them with the connection. This
backend makes them 16 KiB, the largest record of TLS, by a class attribute that asyncio
does not document (``SSLProtocol.max_size``). So this is an experiment and no advice: it
shows what a connection costs without that buffer. Over plain HTTP nothing changes.

docs/upstream/asyncio-receive.md has the counts for CPython's developers.
"""

from __future__ import annotations

import asyncio
from asyncio import sslproto
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crawlers.async_await import CANNOT_SEE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run_model

__all__ = ["CANNOT_SEE", "crawl"]

SIZE = 16 * 1024
"""Bytes of the buffer, and the most that a read from TLS returns."""


@contextmanager
def small_buffers() -> Iterator[None]:
    """Connections over TLS that are made meanwhile have small buffers."""
    protocol: Any = sslproto.SSLProtocol
    usual = protocol.max_size
    protocol.max_size = SIZE
    try:
        yield
    finally:
        protocol.max_size = usual


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with ``async_await``, unchanged, over small buffers."""
    with small_buffers():
        report = run_model("asyncio_small_tls", job, recorder, asyncio.SelectorEventLoop)
    report.mechanism["tls_buffer"] = SIZE
    return report
