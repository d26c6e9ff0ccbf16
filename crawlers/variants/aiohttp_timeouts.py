"""aiohttp with a timeout for each request: ``aiohttp.ClientTimeout``.

Everything that waits, switches and costs is the same as in ``aiohttp``. Changed
against it: the session has a total timeout, as aiohttp's documentation has it. That is
a timer in the loop for each request, from the wait for a connection to the last byte.
aiohttp rounds a timer of more than five seconds up to a whole second of the loop's
clock. ``aiohttp`` has a sweep over all slots four times a second instead. The sweep
remains, because it also ends a crawl that must stop. The server sees the same as with
``aiohttp``.
"""

from __future__ import annotations

import aiohttp

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants import aiohttp as plain
from crawlers.variants._asyncio import Slot, run


class Shared(plain.Shared):
    """The state that the slots of one crawl share, and a session that limits requests."""

    def timeout(self) -> aiohttp.ClientTimeout:
        """The whole request, reading its body included."""
        return aiohttp.ClientTimeout(total=self.job.timeout_s)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with aiohttp and its timeouts."""
    return run("aiohttp_timeouts", job, recorder, plain.fetch, Shared, Slot)
