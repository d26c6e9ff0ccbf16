"""The ledger: the server's own record of the requests it received.

A harness checks a trial against this and not against what the crawler reports:
was each page fetched once, over how many connections, with how many requests
in flight?

The hot path must not pay for it. So each count lives where counting is cheapest
(``Resource.hits``, ``Connection.requests``), and the ledger gathers them on
demand. It counts by itself only what happens once per connection or off the hot
path.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Protocol, TypedDict

from server.sites.site import Site

STRAYS = 100_000  # distinct targets without a resource that are counted one by one
OTHERS = "(other)"  # the rest of them


class Summary(TypedDict, total=False):
    """The answer to ``GET /ledger``; a summary leaves out ``requests``."""

    requests: dict[str, int]
    total: int
    distinct: int
    repeated: int
    unknown: int
    connections_opened: int
    connections_open: int
    peak_connections: int
    peak_in_flight: int
    pipelined: int
    requests_per_connection: dict[str, int]
    handshakes: dict[str, int] | None
    ended_s: list[float] | None


class Counted(Protocol):
    """The part of a connection that the ledger reads."""

    requests: int


class Shaken(Protocol):
    """The count of handshakes, which a server with TLS has."""

    def reset(self) -> None:
        """Count from zero."""

    def summary(self) -> dict[str, int]:
        """The counts by outcome."""


class Ledger:
    """Counts since the last reset.

    ``in_flight`` is the number of requests received and not yet answered. The
    server writes an answer without delay before it reads the next request, so
    such requests count as one in flight. Pipelined requests arrive together
    and all count.

    ``pipelined`` is the number of requests that came while their connection was still
    owed an answer: those that were read together with the one before, and those behind
    an answer that waits. Neither takes the hot path, so the count costs nothing there.
    """

    __slots__ = (
        "_closed",
        "_ended",
        "_peak_in_flight",
        "_site",
        "_strays",
        "connections",
        "handshakes",
        "in_flight",
        "opened",
        "peak_connections",
        "pipelined",
    )

    def __init__(self, site: Site) -> None:
        self._site = site
        self._strays: dict[str, int] = {}
        self._closed: Counter[int] = Counter()
        self._ended: list[float] | None = None
        self._peak_in_flight = 0
        self.connections: set[Counted] = set()
        self.handshakes: Shaken | None = None
        self.in_flight = 0
        self.opened = 0
        self.peak_connections = 0
        self.pipelined = 0

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
        now = time.monotonic()
        if self._ended is None:
            self._ended = [now, now]
        else:
            self._ended[1] = now
        if connection.requests:
            self._closed[connection.requests] += 1

    def stray(self, target: bytes) -> None:
        """A request for something that the site does not have (answered 404)."""
        strays = self._strays
        path = target.decode("latin-1")
        if path not in strays and len(strays) >= STRAYS:
            path = OTHERS
        strays[path] = strays.get(path, 0) + 1

    def received(self, count: int = 1) -> None:
        """``count`` requests came in and wait for their answers."""
        self.in_flight += count
        if self.in_flight > self._peak_in_flight:
            self._peak_in_flight = self.in_flight

    def answered(self, count: int = 1) -> None:
        """``count`` answers were written, or dropped with their connection."""
        self.in_flight -= count

    def passed(self, count: int) -> None:
        """``count`` requests arrived together and were answered at once."""
        if self.in_flight + count > self._peak_in_flight:
            self._peak_in_flight = self.in_flight + count

    def reset(self) -> None:
        """Start over. Open connections and requests in flight stay, and count as the peaks."""
        self._site.reset()
        self._strays.clear()
        self._closed.clear()
        self._ended = None
        self._peak_in_flight = self.in_flight
        self.opened = self.pipelined = 0
        self.peak_connections = len(self.connections)
        for connection in self.connections:
            connection.requests = 0
        if self.handshakes is not None:
            self.handshakes.reset()

    def summary(self, requests: bool) -> Summary:
        """All counts, and with ``requests`` those per target.

        ``distinct`` counts targets, ``repeated`` the targets requested more than
        once, ``unknown`` the requests answered 404. ``requests_per_connection``
        leaves out connections without a request since the reset.
        ``handshakes`` is None without TLS. ``ended_s`` is when the first and the last of the
        connections ended that have ended, in seconds on the monotonic clock.
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
            # The fast path does not count: its requests were in flight one at a time.
            peak_in_flight=max(self._peak_in_flight, 1 if total else 0),
            pipelined=self.pipelined,
            requests_per_connection={str(key): histogram[key] for key in sorted(histogram)},
            handshakes=None if self.handshakes is None else self.handshakes.summary(),
            ended_s=self._ended,
        )
        if requests:
            answer["requests"] = per_target
        return answer
