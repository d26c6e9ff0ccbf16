"""A fixed pool of threads: ``threads``, with fewer threads than connections.

Changed against ``threads``: there are never more than 32, which is the upper bound of
``ThreadPoolExecutor``'s default. A client keeps its thread until it goes; later ones wait.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from server.models.service import Service
from server.models.threads import Connection, Shared, run, work

POOL = 32
"""Largest number of threads."""


def serve(service: Service) -> None:
    """Serve with :data:`POOL` threads."""
    with ThreadPoolExecutor(POOL) as pool:

        def start(shared: Shared, connection: Connection) -> None:
            pool.submit(work, shared, connection)

        run(service, start)
