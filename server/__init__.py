"""The fixture server: one process that plays the web for the crawlers.

It serves a *site* (a deterministic page graph, a list of equal pages, or a
directory of real HTML) as fast as one core allows, knows which outcome a full
correct crawl of it must have, writes down what was asked for (the *ledger*),
and can delay, hold or stall its answers so that a harness can look at a
crawler with thousands of requests in flight. It knows nothing of the crawlers
or of the harness; both talk to it over HTTP only. ``python -m server --help``
tells how to run it.
"""

from __future__ import annotations
