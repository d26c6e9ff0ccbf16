"""asyncio in Python alone: ``async_await`` without the C versions of Task and Future.

Everything that waits, switches and costs is the same as in ``async_await``.
Changed against it: Task and Future are the Python versions that asyncio has for
interpreters without its C module. So the difference to ``native_coroutines`` is
asyncio's own loop, and the difference to ``async_await`` is the gain from C.
"""

from __future__ import annotations

import asyncio
from asyncio import futures, tasks
from typing import Any

from crawlers.async_await import CANNOT_SEE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run_model

__all__ = ["CANNOT_SEE", "crawl"]

PyFuture: Any = futures._PyFuture  # type: ignore[attr-defined]
PyTask: Any = tasks._PyTask  # type: ignore[attr-defined]


class PureLoop(asyncio.SelectorEventLoop):
    """asyncio's loop with the Task and Future that are written in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.set_task_factory(make_task)

    def create_future(self) -> asyncio.Future[Any]:
        """Make a Future in Python."""
        future: asyncio.Future[Any] = PyFuture(loop=self)
        return future


def make_task(
    loop: asyncio.AbstractEventLoop, coroutine: object, **settings: object
) -> asyncio.Task[Any]:
    """Make a Task in Python."""
    task: asyncio.Task[Any] = PyTask(coroutine, loop=loop, **settings)
    return task


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one Python-made task for each slot, on asyncio's loop."""
    return run_model("asyncio_pure", job, recorder, PureLoop)
