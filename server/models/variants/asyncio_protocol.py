"""asyncio's Protocol: the transport calls the conversation, and no task waits for anything.

What waits: only the loop. What switches: asyncio's loop, which calls the Protocol with what has
arrived. What a connection costs: transport, protocol and conversation. Changed against
``async_await``: there is no reader, no buffer and no coroutine, so no switch for each request.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import cast

from server.models.async_await import LoopFactory, tls_options
from server.models.conversation import Conversation
from server.models.service import BACKLOG, TICK_S, Service, Stop
from server.models.sockets import ACCEPTS, shut


class Shared:
    """The state that the connections of one server share."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.connections: set[Connection] = set()


class Connection(asyncio.Protocol):
    """One client, and the conversation with it; ``sock`` is the transport.

    ``full`` while the transport keeps more than it wants to.
    """

    __slots__ = ("conversation", "full", "shared", "sock")

    sock: asyncio.Transport

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.conversation = Conversation(shared.service, monotonic())
        self.full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open, after its handshake if there is TLS."""
        self.sock = cast(asyncio.Transport, transport)
        if self.shared.service.admits(self.sock.close, len(self.shared.connections)):
            self.shared.connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived."""
        self.conversation.feed(data)
        self.respond()

    def eof_received(self) -> bool:
        """The client sends no more; the transport stays open until it has its answers."""
        self.conversation.feed(b"")
        self.respond()
        if not self.sock.can_write_eof():
            self.sock.close()  # asyncio's TLS ends both directions when one has ended
        return not (self.conversation.over or self.sock.is_closing())

    def pause_writing(self) -> None:
        """The client reads too slowly: take no more of its requests."""
        self.full = True
        self.sock.pause_reading()

    def resume_writing(self) -> None:
        """There is room again."""
        self.full = False
        self.sock.resume_reading()
        # Not now: a transport that is closed in here reports twice that it is lost (CPython 3.11).
        asyncio.get_running_loop().call_soon(self.respond)

    def respond(self) -> None:
        """Send what there is to send, while there is room; hang up when it is over."""
        while not self.full and not self.sock.is_closing():
            part = self.conversation.part(monotonic())
            if part is None:
                if self.conversation.over:
                    self.hang_up()
                return
            self.sock.write(part)

    def hang_up(self) -> None:
        """Close in stages, or a client that still sends loses the answer (RFC 9112, 9.6)."""
        self.sock.set_write_buffer_limits(high=1)
        if self.full:
            return  # what asyncio has kept leaves in its own time; then we are called again
        if self.conversation.ended or not self.sock.can_write_eof():
            self.sock.close()
        else:
            self.conversation.close(monotonic())
            self.sock.write_eof()
            self.full = True  # whatever comes now is dropped

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed: count what it was served."""
        if self in self.shared.connections:
            self.shared.connections.discard(self)
            self.shared.service.tally.closed(self.conversation.counts)


async def run(service: Service, stop: Stop) -> None:
    """Serve until stopped, on the loop that runs this; it watches the time, too."""
    shared = Shared(service)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(shared), sock=service.listening, backlog=ACCEPTS, **tls_options(service)
    )
    service.listening.listen(BACKLOG)
    service.ready()
    while not service.stopping or shared.connections:
        await asyncio.sleep(TICK_S)
        now = monotonic()
        if stop.asked() and not service.stopping:
            service.stop(now)
            server.close()
        for connection in shared.connections:
            if (how := connection.conversation.overdue(now)) is not None:
                shut(connection.sock.get_extra_info("socket").fileno(), how)


def serve(service: Service, loop: LoopFactory | None = None) -> None:
    """Serve with one Protocol for each connection, on asyncio's loop or another."""
    with Stop(service) as stop, asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run(service, stop))
