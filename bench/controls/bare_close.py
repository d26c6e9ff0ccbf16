"""What it takes to end a crawl at least: sockets that are closed, one after the other.

Each connection is opened and its request sent at the time that the job's schedule has for it.
Then the control waits, and looks for a signal once per tick as every backend does. There is no
exchange, no task and no frontier beside a socket. So the time until the server has seen the last
connection end is that of the system calls, and of the server.
"""

from __future__ import annotations

import socket
import time
from time import monotonic

from crawlers.job import CrawlReport, Job, PageResult
from crawlers.origins import make_origin, origin_prefix
from crawlers.sockets import new_socket
from crawlers.stop import Stop


def crawl(job: Job) -> CrawlReport:
    """Ask for every URL on a connection of its own, wait for the signal, close them all."""
    prefix = origin_prefix(job.urls[0])
    origin = make_origin(prefix, job)
    held: list[socket.socket] = []
    started = monotonic()
    with Stop(job) as stop:
        for number, url in enumerate(job.urls):
            due = started + job.schedule[number] if job.schedule else 0.0
            time.sleep(max(0.0, due - monotonic()))
            sock = new_socket(origin.addresses[0])
            sock.connect(origin.addresses[0].sockaddr)
            sock.sendall(b"GET " + url[len(prefix) :].encode("ascii") + origin.head_tail)
            held.append(sock)
        reason = None
        while reason is None:
            reason = stop.reason(monotonic())
            if reason is None:
                time.sleep(stop.tick_s)
        for sock in held:
            sock.close()
    rows = {url: PageResult(None, 0, 0) for url in job.urls}
    for row in rows.values():
        row.error = "cancelled"
    return CrawlReport(
        backend="bare_close",
        root=job.urls[0],
        concurrency=job.slots,
        elapsed_s=monotonic() - started,
        stopped=reason,
        rows=rows,
        mechanism={},
        prefix=prefix,
    )
