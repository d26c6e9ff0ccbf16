"""Eager tasks: ``async_await``, where a new task runs to its first wait at once.

Everything that waits, switches and costs is the same as in ``async_await``.
Changed against it: the loop's task factory, so that a task that never waits never
goes through the loop. A slot is one task for a whole crawl, so this should change
nothing measurable: it is a control.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from crawlers.async_await import CANNOT_SEE
from crawlers.backend import BackendError
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run_model

__all__ = ["CANNOT_SEE", "crawl"]

EAGER: Any = getattr(asyncio, "eager_task_factory", None)
if EAGER is None:
    raise BackendError(
        "backend asyncio_eager needs Python 3.12 or later, for asyncio.eager_task_factory; "
        f"this is {sys.version_info.major}.{sys.version_info.minor}"
    )


def make_loop() -> asyncio.AbstractEventLoop:
    """asyncio's loop, starting its tasks eagerly."""
    loop = asyncio.SelectorEventLoop()
    loop.set_task_factory(EAGER)
    return loop


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one eager task for each slot, on asyncio's loop."""
    return run_model("asyncio_eager", job, recorder, make_loop)
