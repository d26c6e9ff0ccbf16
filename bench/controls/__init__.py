"""Controls: programs that are measured beside the backends, and are clearly no backends.

A control has no error handling and no timeouts, so it is not a crawler. It shows a part of what a
page costs. A control runs in a worker process (:mod:`bench.controls.programs`) and takes turns
like a backend, and its requests are checked at the server's ledger. Its records are kept apart
(``kind: control``), so no table or chart can mistake it for a backend.
"""

from __future__ import annotations

from crawlers.backend import Backend

FAMILY = "control"

REPEATS = 4
"""How often a control goes through its job: it must not be done long before the backends."""

CONTROLS = {
    name: Backend(name, summary, changes, FAMILY)
    for name, summary, changes in (
        (
            "bare",
            "a selector, send, receive, count bytes: the least that Python can do",
            "no backend: sockets alone, for lists",
        ),
        (
            "stripped",
            "callbacks with a list for a frontier, and nothing that reads an answer",
            "no backend: callbacks without what all models share",
        ),
        (
            "bare_tls",
            "blocking sockets and OpenSSL: the least memory of a connection over TLS",
            "no backend: OpenSSL alone, for held connections",
        ),
        (
            "bare_close",
            "sockets that are closed one after the other: the least that ends a crawl",
            "no backend: the system call alone, for crawls that are interrupted",
        ),
    )
}
"""Every control by its name, described like a backend."""
