"""gevent: ``threads``, not a line changed, with the standard library patched under it.

What waits: a greenlet, a C stack that is set aside while it waits. What
switches: gevent's hub, in one thread, where a patched call would block. What
a connection costs: a greenlet and the used part of its stack, copied to the
heap. Changed against ``threads``: who switches (the hub and not the kernel).

Loading this module patches the process, so it belongs into one of its own:
the harness, the command line and the conformance suite see to that.
"""

from __future__ import annotations

import gevent
from gevent import monkey

# No TLS is spoken here, and patching ssl late warns. Names are looked up
# once, before the crawl begins; gevent would start native threads for it.
monkey.patch_all(ssl=False, dns=False)

from crawlers import threads  # noqa: E402 - after the patches
from crawlers.job import CrawlReport, Job  # noqa: E402
from crawlers.recorder import Recorder  # noqa: E402


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one greenlet for each slot; the main greenlet keeps the time."""
    report = threads.crawl(job, recorder)
    report.backend = "gevent"
    loop = type(gevent.get_hub().loop)
    greenlets = report.mechanism["threads"]
    report.mechanism = {
        "threads": 1,
        "greenlets": greenlets,
        "loop": f"{loop.__module__}.{loop.__qualname__}",
    }
    return report
