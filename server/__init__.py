"""The fixture server: one process that stands in for the web.

It serves a *site* (a deterministic page graph, a list of equal pages, or a
directory of real HTML) as fast as one core allows. It knows the outcome of a
full, correct crawl of that site. It records every request in the *ledger*. And
it can delay or hold its answers, so that a harness can look at a crawler
with thousands of requests in flight. It knows nothing of the crawlers or of the
harness, which both talk to it over HTTP. ``python -m server --help`` explains
how to run it.

Imports point down this list:

==========================  ==================================================
``__main__``                the command line: this server, or one of the models
``models_cli``, ``models``  the four concurrency models as servers of their own
``cli``                     options of the fixture server
``serving``                 the process while it serves
``control``                 the control plane: JSON over HTTP
``polling``                 an event loop that does not sleep
``faulty``                  connections to a fault site
``traps``                   ports of a fault site that no client may trust
``encrypted``               connections over TLS
``connection``              every other connection: the hot path
``request``                 one request head, for this server and the models
``certificates``            who the server is, to clients that use TLS
``addresses``               ``HOST:PORT`` texts and the sockets bound to them
``ledger``                  the record of what was requested
``behaviour``, ``delays``   when an answer leaves
``signals``, ``output``     how it is stopped, and what it prints
``sites``                   what there is to request
==========================  ==================================================
"""

from __future__ import annotations
