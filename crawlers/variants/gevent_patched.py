"""gevent, patched: ``threads``, with not a line changed, on a patched standard library.

What waits: a greenlet, a C stack that is moved away while it waits. What
switches: gevent's hub, in one thread, wherever a patched call would block. What
a connection costs: a greenlet and the used part of its stack, copied to the heap.
Changed against ``gevent``: it runs the lock, the condition and the promises of
``threads``, which greenlets do not need.

Loading this module patches the whole process, so it needs a process of its own.
The harness, the command line and the conformance suite give it one.
"""

from __future__ import annotations

import warnings

import gevent
from gevent import monkey

LOOP = gevent.config.loop
"""The class of the event loop; looked up before the patches, which need one to exit."""

# Names are looked up once, before the crawl begins, and gevent would start native threads
# for that. gevent warns about modules that have taken SSLContext from ssl before; they are
# libraries that this crawl does not use.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", monkey.MonkeyPatchWarning)
    monkey.patch_all(dns=False)

from crawlers import threads  # noqa: E402 - after the patches
from crawlers.job import CrawlReport, Job  # noqa: E402
from crawlers.recorder import Recorder  # noqa: E402


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one greenlet for each slot; the main greenlet watches the time."""
    report = threads.crawl(job, recorder)
    report.backend = "gevent_patched"
    loop = type(gevent.get_hub().loop)
    greenlets = report.mechanism["threads"]
    report.mechanism = {
        "threads": 1,
        "greenlets": greenlets,
        "loop": f"{loop.__module__}.{loop.__qualname__}",
    }
    return report
