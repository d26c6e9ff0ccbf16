"""What all connections of one server share: the site, the limits, the tally, the end."""

from __future__ import annotations

import os
import select
import signal
import socket
import ssl
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from math import inf
from types import FrameType
from typing import Any, Final

from server.models.work import Working
from server.signals import stop_signals
from server.sites.site import Site

TICK_S: Final = 0.25
"""Longest time between two looks at the deadlines and at the signals, in seconds."""

RECV_SIZE: Final = 64 * 1024
"""Bytes that every ``recv`` asks for, in every server."""

BACKLOG: Final = 65535
"""Connections that wait for ``accept``; the kernel uses net.core.somaxconn if that is less."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may use: sizes in bytes, times in seconds. 0 requests means no limit.

    The defaults are those of well-known servers: ``idle_s`` and ``write_s`` are nginx's
    keepalive_timeout and send_timeout, ``head_s`` and ``body_s`` Apache's mod_reqtimeout,
    ``max_body`` nginx's client_max_body_size, ``linger_s`` nginx's lingering_timeout.
    """

    max_head: int = 16 * 1024
    max_body: int = 1024 * 1024
    max_requests: int = 0
    max_connections: int = 100_000
    idle_s: float = 75.0
    head_s: float = 20.0
    body_s: float = 20.0
    write_s: float = 60.0
    linger_s: float = 5.0
    grace_s: float = 10.0


class Counts:
    """What one connection was served. ``checksum`` adds up the CRC-32 of the bodies sent."""

    __slots__ = ("checksum", "ended", "refused", "requests", "sent")

    def __init__(self) -> None:
        self.requests = self.sent = self.checksum = 0
        self.refused = 0  # a status
        self.ended = ""  # which deadline has passed


@dataclass(slots=True)
class Tally:
    """What a server has served; the sum over the connections that have ended.

    A client that adds up the same can tell whether both saw the same. ``late`` counts the
    deadlines that have passed by what the server was waiting for.
    """

    connections: int = 0
    peak_connections: int = 0
    turned_away: int = 0
    requests: int = 0
    bytes: int = 0
    checksum: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)

    def closed(self, counts: Counts) -> None:
        """A connection has ended."""
        self.requests += counts.requests
        self.bytes += counts.sent
        self.checksum = (self.checksum + counts.checksum) % 2**64
        for counted, how in ((self.refused, counts.refused), (self.late, counts.ended)):
            if how:
                counted[str(how)] = counted.get(str(how), 0) + 1


class Service:
    """What a server serves, where, and until when.

    ``listening`` is a socket that listens. A server calls ``ready`` when it accepts. ``waits`` has
    the limits in seconds, by what is waited for. ``stopping`` is set by a signal; ``ends`` is then
    when the last connection is cut, on the monotonic clock.
    """

    def __init__(
        self,
        site: Site | Working,
        listening: socket.socket,
        limits: Limits,
        tls: ssl.SSLContext | None = None,
        ready: Callable[[], None] = lambda: None,
        exit_with_parent: bool = False,
    ) -> None:
        self.site = site
        self.listening = listening
        self.limits = limits
        self.tls = tls
        if tls is not None:  # requests say where they end, so a stream may end anywhere
            tls.options |= getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        self.ready = ready
        self.exit_with_parent = exit_with_parent
        self.waits = {
            name[:-2]: value for name, value in asdict(limits).items() if name[-2:] == "_s"
        }
        self.tally = Tally()
        self.stopping = False
        self.ends = inf

    def admits(self, close: Callable[[], object], connected: int) -> bool:
        """Count a new connection, ``connected`` being open; if that is too many, close it."""
        if connected >= self.limits.max_connections:
            self.tally.turned_away += 1
            close()
            return False
        self.tally.connections += 1
        self.tally.peak_connections = max(self.tally.peak_connections, connected + 1)
        return True

    def stop(self, now: float) -> None:
        """Answer what is in flight, and nothing else."""
        if not self.stopping:
            self.stopping = True
            self.ends = now + self.limits.grace_s


class Stop:
    """While entered, catches the signals that stop a server; a second one ends it at once.

    A server asks once per tick, so that no signal arrives in the middle of something. With
    ``exit_with_parent`` the end of standard input stops it, too.
    """

    def __init__(self, service: Service) -> None:
        self._signalled = False
        self._before: dict[signal.Signals, Any] = {}
        self._parent = select.poll()
        if service.exit_with_parent:
            self._parent.register(0, select.POLLIN)

    def asked(self) -> bool:
        """Whether the server must stop."""
        if self._parent.poll(0) and not os.read(0, 4096):
            self._signalled = True
        return self._signalled

    def __enter__(self) -> Stop:
        for number in stop_signals():
            self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True
        for caught in self._before:
            signal.signal(caught, signal.SIG_DFL)
