"""async/await in a process whose malloc maps every receive: what one line cures.

Everything that waits and switches is the same as in ``async_await``. Changed against it:
the state of malloc. asyncio asks for 256 KiB with each receive; glibc's malloc maps that
much memory, moves it when the receive has shrunk it, and unmaps it, each time, until the
program frees a block as large. A small program may never do that, and then pays three
system calls and two page faults for each receive. Here malloc is made to stay so.
``b = bytes(4 << 20); del b`` would cure it, and a crawl of any other backend starts with
that (:mod:`crawlers.heap`).
"""

from __future__ import annotations

from crawlers import async_await
from crawlers.async_await import CANNOT_SEE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._mapped import crawl_mapped, ensure_mapped

__all__ = ["CANNOT_SEE", "crawl"]

NAME = "async_await_mapped"
ensure_mapped(NAME)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with ``async_await``, unchanged, while malloc maps every receive."""
    return crawl_mapped(NAME, async_await.crawl, job, recorder)
