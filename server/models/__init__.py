"""The four concurrency models as HTTP/1.1 servers, and the variants that people run.

``threads``, ``callbacks``, ``generators`` and ``async_await`` have the same sections with the same
names, in the same order, as the crawlers have. What they share takes bytes and times, and knows
no socket and no clock.

Imports point down this list:

================  ============================================================
``catalogue``     every server by its name, and what it changes against which
``stacks``        whole servers that people deploy, over ``apps``, their application
the servers       the four models, then ``variants``
``sockets``       accepting, TLS and shutting down, for those with sockets
``loop``          the event loop, Future and Task, for callbacks and generators
``conversation``  what one client asks on one connection, and the answers
``body``          the body of a request
``service``       site, limits, the tally, and the signals that stop a server
================  ============================================================
"""

from __future__ import annotations
