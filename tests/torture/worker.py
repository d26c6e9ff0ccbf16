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

COUNTED = ("pages", "redirects", "retries", "errors", "digest", "stopped", "left")


def main(name: str) -> None:
    frontier.BACKOFF_S = 0.01  # with tenths of a second, ten thousand crawls would take hours
    backend = registry.load(name)
    for line in sys.stdin:
        settings = json.loads(line)
        settings["urls"] = tuple(settings["urls"])
        report = backend.crawl(Job(**settings), NullRecorder())
        rows = {
            url: [row.status, row.error, row.redirect, row.checksum if row.status else None]
            for url, row in sorted(report.rows.items())
        }
        found = {name: getattr(report, name) for name in COUNTED}
        found["statuses"] = {str(status): count for status, count in report.statuses.items()}
        found["rows"] = rows
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
