"""The ledger: the server's own record of what it was asked for.

What a harness believes about a trial (each page fetched once, so many
connections, so many requests in flight at once) is checked against this, not
against what the crawler says of itself.

The hot path must not pay for it, so the counts are kept where they are
cheapest (``Resource.hits``, ``Connection.requests``) and gathered here when
someone asks. Only what happens once per connection, or off the hot path, is
counted here at once.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol, TypedDict

from server.site import Site

STRAYS = 100_000  # distinct targets without a resource that are told apart
OTHERS = "(other)"  # the rest of them, together


class Summary(TypedDict, total=False):
    """What ``GET /ledger`` answers; ``requests`` is left out of summaries."""

    requests: dict[str, int]
    total: int
    distinct: int
    repeated: int
    unknown: int
    connections_opened: int
    connections_open: int
    peak_connections: int
    peak_in_flight: int
    requests_per_connection: dict[str, int]


class Counted(Protocol):
    """A connection, as far as the ledger cares."""

    requests: int


class Ledger:
    """Counts since the last reset.

    ``in_flight`` is the number of requests received and not yet answered. An
    answer without delay is written before the next request is read, so that it
    never counts as more than one in flight (pipelined requests do: they are
    received together).
    """

    __slots__ = (
        "_closed",
        "_peak_in_flight",
        "_site",
        "_strays",
        "connections",
        "in_flight",
        "opened",
        "peak_connections",
    )

    def __init__(self, site: Site) -> None:
        self._site = site
        self._strays: dict[str, int] = {}
        self._closed: Counter[int] = Counter()
        self._peak_in_flight = 0
        self.connections: set[Counted] = set()
        self.in_flight = 0
        self.opened = 0
        self.peak_connections = 0

    def connected(self, connection: Counted) -> None:
        """A connection was accepted."""
        connections = self.connections
        connections.add(connection)
        self.opened += 1
        if len(connections) > self.peak_connections:
            self.peak_connections = len(connections)

    def disconnected(self, connection: Counted) -> None:
        """A connection is gone."""
        self.connections.discard(connection)
        if connection.requests:
            self._closed[connection.requests] += 1

    def stray(self, target: bytes) -> None:
        """A request for what the site does not have (answered 404)."""
        strays = self._strays
        path = target.decode("latin-1")
        if path not in strays and len(strays) >= STRAYS:
            path = OTHERS
        strays[path] = strays.get(path, 0) + 1

    def received(self, count: int = 1) -> None:
        """So many requests came in and wait for their answers."""
        self.in_flight += count
        if self.in_flight > self._peak_in_flight:
            self._peak_in_flight = self.in_flight

    def answered(self, count: int = 1) -> None:
        """So many answers were written, or given up with their connection."""
        self.in_flight -= count

    def passed(self, count: int) -> None:
        """So many requests were received together and answered at once."""
        if self.in_flight + count > self._peak_in_flight:
            self._peak_in_flight = self.in_flight + count

    def reset(self) -> None:
        """Forget the past. What is open or in flight stays so and counts as peak."""
        self._site.reset()
        self._strays.clear()
        self._closed.clear()
        self._peak_in_flight = self.in_flight
        self.opened = 0
        self.peak_connections = len(self.connections)
        for connection in self.connections:
            connection.requests = 0

    def summary(self, requests: bool) -> Summary:
        """All counts; ``requests`` adds those per target.

        ``distinct`` counts targets, ``repeated`` those asked for more than
        once, ``unknown`` requests answered 404. Connections without a request
        since the reset are not in ``requests_per_connection``.
        """
        total = distinct = repeated = unknown = 0
        per_target: dict[str, int] = {}
        strays = ((target, 404, count) for target, count in self._strays.items())
        for source in (self._site.hits(), strays):
            for target, status, count in source:
                total += count
                distinct += 1
                repeated += count > 1
                if status == 404:
                    unknown += count
                if requests:
                    per_target[target] = count
        histogram = self._closed + Counter(
            connection.requests for connection in self.connections if connection.requests
        )
        answer = Summary(
            total=total,
            distinct=distinct,
            repeated=repeated,
            unknown=unknown,
            connections_opened=self.opened,
            connections_open=len(self.connections),
            peak_connections=self.peak_connections,
            # The fast path does not count: what it answers was in flight alone.
            peak_in_flight=max(self._peak_in_flight, 1 if total else 0),
            requests_per_connection={str(key): histogram[key] for key in sorted(histogram)},
        )
        if requests:
            answer["requests"] = per_target
        return answer
