"""Controls: programs that are measured beside the backends, and are clearly no backends.

A control has no error handling and no timeouts, so it is not a crawler. It shows a
part of what a page costs: :mod:`bench.controls.bare` the sockets alone,
:mod:`bench.controls.shared` the code that all models share, without a socket, and
:mod:`bench.controls.bare_tls` what a connection over TLS takes in OpenSSL, and
:mod:`bench.controls.bare_close` how long it takes to close connections. A
control runs in a worker process and takes turns like a backend, and its requests are
checked at the server's ledger. Its records are kept apart (``kind: control``), so no
table or chart can mistake it for a backend.
"""

from __future__ import annotations

from crawlers.backend import Backend

FAMILY = "control"

REPEATS = 4
"""How often a control goes through its job: it must not be done long before the backends."""

CONTROLS = {
    control.name: control
    for control in (
        Backend(
            "bare",
            FAMILY,
            -1,
            "a selector, send, receive, count bytes: the least that Python can do",
            "no backend: sockets alone, for lists",
        ),
        Backend(
            "shared",
            FAMILY,
            -1,
            "frontier, exchange and links, fed from memory",
            "no backend: what all models share, without a socket",
        ),
        Backend(
            "bare_tls",
            FAMILY,
            -1,
            "blocking sockets and OpenSSL: the least memory of a connection over TLS",
            "no backend: OpenSSL alone, for held connections",
        ),
        Backend(
            "bare_close",
            FAMILY,
            -1,
            "sockets that are closed one after the other: the least that ends a crawl",
            "no backend: the system call alone, for crawls that are interrupted",
        ),
    )
}
"""Every control by its name, described like a backend."""
