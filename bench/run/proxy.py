"""A network with a round trip, between a crawl and a server of this machine.

Started as ``python -m bench.run.proxy HOST:PORT ROUND_TRIP_MS``; its first line says where it
listens. Whatever it reads arrives half a round trip later: bytes, the end of a stream, a reset. TLS
passes through as bytes. A line of input asks what has arrived since the last one.

That includes the round trips of each connection: the longest chain in which each question left
when the answer before it had come. They do not depend on the load of the machine.

The kernel opens a client's connection before a program sees it, in no time. So whatever a client
sends before its first answer arrives one round trip later than anything else, and the connection to
the server is opened as late: as if the client had waited for the TCP handshake. What else TCP does
on a long way cannot be imitated from outside: acknowledgements come at once, so Nagle's algorithm
and the slow start of a large page cost nothing here. The loop sleeps in select(2), which is exact
to microseconds where epoll is to milliseconds, and has room for 500 connections.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import socket
import struct
import sys
from asyncio import StreamReader, StreamWriter
from collections import Counter
from typing import Final

CHUNK: Final = 65536
ROOM: Final = 16  # chunks on their way in one direction, before no more are read
END, RESET = b"", None  # what arrives besides bytes
EARLY_S: Final = 1e-6  # more than a loop may wake up too early
LINGER_0: Final = struct.pack("ii", 1, 0)  # closing resets the connection

ALERT: Final = 24
"""Bytes of an alert of TLS 1.3: with one the server says goodbye, which no page waits for."""

Way = asyncio.Queue[tuple[float, int, bytes | None]]
"""When something arrives, after how many round trips, and what."""


class Wire:
    def __init__(self, target: str, round_trip_ms: str) -> None:
        host, _, port = target.rpartition(":")
        self.target, self.half_s = (host, int(port)), float(round_trip_ms) / 2000
        self.arrived: Counter[str] = Counter()

    async def run(self) -> None:
        listening = await asyncio.start_server(
            lambda *streams: Connection(self).carry(*streams), "127.0.0.1", 0, backlog=1024
        )
        asked = StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(asked), sys.stdin
        )
        host, port = listening.sockets[0].getsockname()
        print(json.dumps({"listening": f"{host}:{port}"}), flush=True)
        while await asked.readline():
            print(json.dumps(self.arrived), flush=True)
            self.arrived.clear()


class Connection:
    def __init__(self, wire: Wire) -> None:
        self.wire, self.half_s = wire, wire.half_s
        self.up, self.down = Way(ROOM), Way(ROOM)
        self.asked = self.answered = 0  # round trips in what the server has got, and the client

    async def carry(self, reader: StreamReader, writer: StreamWriter) -> None:
        writers = [writer]
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._leave(reader, self.up))
                await asyncio.sleep(3 * self.half_s)
                from_server, to_server = await asyncio.open_connection(*self.wire.target)
                self.wire.arrived["connections"] += 1
                writers.append(to_server)
                group.create_task(self._leave(from_server, self.down))
                group.create_task(self._arrive(self.up, to_server))
                group.create_task(self._arrive(self.down, writer))
        except* OSError:
            for each in writers:
                sock: socket.socket = each.get_extra_info("socket")
                if sock.fileno() >= 0:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_0)
                each.transport.abort()
        finally:
            for each in writers:
                each.close()

    async def _leave(self, reader: StreamReader, way: Way) -> None:
        while True:
            try:
                data: bytes | None = await reader.read(CHUNK)
            except OSError:
                data = RESET
            trip = self.answered + 1 if way is self.up else self.asked
            halves = 1 if self.answered or way is self.down else 3
            await way.put((asyncio.get_running_loop().time() + halves * self.half_s, trip, data))
            if not data:
                return

    async def _arrive(self, way: Way, writer: StreamWriter) -> None:
        data: bytes | None = None
        while data != END:
            due, trip, data = await way.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time() + EARLY_S)
            if data is RESET:
                raise ConnectionResetError
            self.wire.arrived["up" if way is self.up else "down"] += len(data)
            if way is self.up:
                self.asked = trip
            elif len(data) > ALERT:
                self.wire.arrived["round_trips"] += trip - self.answered
                self.answered = trip
            try:
                writer.write(data)
                await writer.drain()
            except OSError:  # it was reset, which the other side learns as late
                await asyncio.sleep(self.half_s)
                raise
        writer.write_eof()


if __name__ == "__main__":
    exact = asyncio.SelectorEventLoop(selectors.SelectSelector())
    with asyncio.Runner(loop_factory=lambda: exact) as runner:
        runner.run(Wire(*sys.argv[1:]).run())
