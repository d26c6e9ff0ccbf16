"""Runs one backend: reads a job from each line of input, writes its outcome on a line.

Each backend gets its own process, because some change the process they are in, and so
that a hanging one can be killed.
"""

from __future__ import annotations

import json
import sys

from crawlers import frontier, registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder


def main(name: str) -> None:
    """Crawl until the input ends."""
    frontier.BACKOFF_S = 0.01  # with tenths of a second, ten thousand crawls would take hours
    backend = registry.load(name)
    for line in sys.stdin:
        settings = json.loads(line)
        settings["urls"] = tuple(settings["urls"])
        report = backend.crawl(Job(**settings), NullRecorder())
        rows = {
            url: [
                row.status,
                row.error,
                row.redirect,
                None if row.status is None else row.checksum,
            ]
            for url, row in sorted(report.rows.items())
        }
        found = {
            "rows": rows,
            "pages": report.pages,
            "redirects": report.redirects,
            "retries": report.retries,
            "statuses": {str(status): count for status, count in report.statuses.items()},
            "errors": report.errors,
            "digest": report.digest,
            "stopped": report.stopped,
            "left": report.left,
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
