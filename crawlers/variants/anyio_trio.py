"""anyio on trio: ``anyio``, the same source on the other loop.

Changed against ``trio``: anyio's streams and scopes on top of it.
"""

from __future__ import annotations

import trio  # imported here, because anyio imports it only when it runs on it

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.anyio import crawl_on


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with anyio on trio's loop."""
    report = crawl_on("anyio_trio", job, recorder, "trio")
    report.mechanism["loop"] = f"trio {trio.__version__}"
    return report
