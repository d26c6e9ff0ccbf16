"""The load of servers: asks for pages over and over, and compares every byte of every answer.

Started as ``python -m bench.sides.loader``, like a worker. It must not be what limits a server, so
it does as little as a Python program can: epoll, one ``read`` and one ``write`` for an answer, and
one comparison in C. First it asks for every page once, on one connection. That warms the server
up, and gives the pages, whose digest the harness compares with that of the site. From then on an
answer that does not end with the bytes of its page ends the loader with an error.

Connections are opened one after the other, and each gets an answer before the next is opened: no
queue overflows, however many there are. Each asks for a page of its own, so an answer that
reaches the wrong client is found.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import ssl
import sys
import time
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TextIO
from zlib import crc32

from bench.controls.programs import HEAD_END, answer_size, read_answer
from bench.sides.protocol import (
    FAST,
    GO,
    SEGMENT,
    Command,
    Load,
    Ready,
    Result,
    Served,
    chosen,
    obey,
    poisson,
    send,
    shared_times,
)
from crawlers.job import CrawlReport, PageResult

RECEIVE = 64 * 1024
AT_ONCE = 32
"""Answers between two looks at whether to stop: the count is never further behind."""
LARGEST_HEAD = 1024
OK = b"HTTP/1.1 200 "
COUNT, STOP = 0, 1
"""The places of the shared memory."""
LOOK_S = 0.02
PER_ADDRESS = 10_000
"""Connections from one address, before another of 127/8: closed ones keep their ports a while."""
BIND_ADDRESS_NO_PORT = 24
"""ip(7): the kernel chooses the port when the other end is known. The socket module has no name."""


class LoadError(Exception):
    """The server did not answer as it should; the message says how."""


WINDOW, SIP = 4096, 1024
"""Bytes of a slow reader: its buffer, and what it reads in a second."""
WHOLE = 10
"""So many slow readers read their answers to the end."""
LATE_S = 0.001


@dataclass(slots=True)
class Asked:
    """A connection that waits for an answer, and what has arrived of it."""

    sock: socket.socket
    number: int
    data: bytes = b""
    due: float = 0.0
    request: int = 0  # of a schedule


class Loader:
    """The pages of a site, and everything that was asked for."""

    def __init__(self, command: Command, load: Load) -> None:
        self.command, self.load = command, load
        scheme, _, self.name = command.prefix.partition("://")
        host, _, port = self.name.rpartition(":")
        self.address = host, int(port)
        self.tls = ssl.create_default_context(cafile=command.cafile) if scheme == "https" else None
        assert command.progress is not None, "the harness stops a load there"
        self.shared = shared_times(command.progress)
        self.requests = self.bytes = self.checksum = self.opened = self.worked = self.late = 0
        self.kept: dict[str, int] = {}
        self.pages: list[tuple[bytes, bytes]] = []
        self.digest = self._learn()

    def _learn(self) -> str:
        rows = {}
        with self.connect() as sock:
            for number in range(self.command.urls or 0):
                path = f"/p/{number}"
                request = f"GET {path} HTTP/1.1\r\nHost: {self.name}\r\n\r\n".encode()
                body = self.ask(sock, request)
                self.worked += self.load.every > 0 and number % self.load.every == 0
                self.pages.append((request, body))
                rows[self.command.prefix + path] = PageResult(200, len(body), crc32(body))
        self.sums = [crc32(body) for _, body in self.pages]
        prefix = self.command.prefix
        return CrawlReport("", f"{prefix}/p/0", 1, 0.0, None, rows, {}, prefix=prefix).digest

    def connect(self, slow: bool = False) -> socket.socket:
        sock = socket.socket()
        if slow:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        sock.settimeout(self.command.timeout_s)
        sock.setsockopt(socket.IPPROTO_IP, BIND_ADDRESS_NO_PORT, 1)
        sock.bind((f"127.0.0.{1 + self.opened // PER_ADDRESS % 250}", 0))
        sock.connect(self.address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.opened += 1
        if self.tls is not None:
            return self.tls.wrap_socket(sock, server_hostname=self.address[0])
        return sock

    def ask(self, sock: socket.socket, request: bytes) -> bytes:
        """The body of the answer, after which nothing comes."""
        sock.sendall(request)
        data = read_answer(sock)
        head = data.index(HEAD_END) + len(HEAD_END)
        if not data.startswith(OK) or len(data) != answer_size(data):
            raise LoadError(f"not an answer with status 200 alone: {data[:80]!r}")
        self.count(len(data) - head, crc32(data[head:]))
        return data[head:]

    def _some(self, data: bytes) -> bytes:
        if not data:
            raise LoadError("the server closed a connection")
        return data

    def count(self, size: int, checksum: int, times: int = 1) -> None:
        self.requests += times
        self.bytes += times * size
        self.checksum = (self.checksum + times * checksum) % 2**64

    def open(self, number: int) -> socket.socket:
        sock = self.connect()
        self.again(sock, number)
        return sock

    def again(self, sock: socket.socket, number: int) -> None:
        """Ask for the page of a connection, and compare."""
        request, body = self.pages[number % len(self.pages)]
        if self.ask(sock, request) != body:
            raise LoadError(f"another page than at first for {request[:40]!r}")

    def hold(self) -> None:
        """Open all connections, leave them idle until told to stop, and ask once more on each."""
        held = []
        for number in range(self.command.slots):
            held.append(self.open(number))
            self.shared[COUNT] = len(held)
        while not self.shared[STOP]:
            time.sleep(LOOK_S)
        for number, sock in enumerate(held):
            self.again(sock, number)
            sock.close()

    def press(self) -> None:
        """Ask again on each connection as soon as it has its answer, until told to stop."""
        socks = [self.open(number) for number in range(self.command.slots)]
        last = max(sock.fileno() for sock in socks) + 1
        asked = [(b"", b"")] * last
        done, parts = [0] * last, [b""] * last
        epoll = select.epoll()
        for number, sock in enumerate(socks):
            sock.setblocking(False)
            asked[sock.fileno()] = self.pages[number % len(self.pages)]
            epoll.register(sock, select.EPOLLIN)
            sock.send(asked[sock.fileno()][0])
        # Local names: what follows is all that the load costs.
        read, write, poll, shared = os.read, os.write, epoll.poll, self.shared
        wait_s = 0.0 if self.load.awake else LOOK_S
        total, stopping, waiting = 0, False, len(socks)
        while waiting:
            for descriptor, _ in poll(wait_s, AT_ONCE):
                data = read(descriptor, RECEIVE)
                request, body = asked[descriptor]
                # A server may send a head before its body, and the body alone ends as it should.
                if parts[descriptor] or not data.endswith(body):
                    data = parts[descriptor] = parts[descriptor] + self._some(data)
                    if len(data) > len(body) + LARGEST_HEAD:
                        raise LoadError(f"another page than at first for {request[:40]!r}")
                    if not data.endswith(body):
                        continue
                    parts[descriptor] = b""
                if not data.startswith(OK) or len(data) > len(body) + LARGEST_HEAD:
                    raise LoadError(f"not an answer with status 200 alone: {data[:80]!r}")
                done[descriptor] += 1
                total += 1
                if stopping:
                    waiting -= 1
                else:
                    write(descriptor, request)
            shared[COUNT] = total
            stopping = shared[STOP] != 0 or 0 < self.load.answers <= total
        for number, sock in enumerate(socks):
            size = len(asked[sock.fileno()][1])
            self.count(size, self.sums[number % len(self.sums)], done[sock.fileno()])
            sock.close()

    def accept(self) -> None:
        """Ask once on each connection, and open another in its place, until told to stop.

        The server is asked to close. It may have done so when the answer is here, or not yet.
        """
        epoll, asked, total, stopping = select.epoll(), dict[int, Asked](), 0, False

        def knock(number: int) -> None:
            sock = self.connect()
            sock.setblocking(False)
            sock.send(self.pages[number][0][:-2] + b"Connection: close\r\n\r\n")
            asked[sock.fileno()] = Asked(sock, number)
            epoll.register(sock, select.EPOLLIN)

        for number in range(self.command.slots):
            knock(number % len(self.pages))
        wait_s = 0.0 if self.load.awake else LOOK_S
        while asked:
            for answered in self._answered(epoll, asked, wait_s):
                answered.sock.close()
                total += 1
                if not stopping:
                    knock(answered.number)
            self.shared[COUNT] = total
            stopping = self.shared[STOP] != 0

    # --- on a schedule ---

    def schedule(self) -> None:
        """Ask when a request is due; one in so many needs work."""
        load = self.load
        count = round(load.rate * load.seconds)
        socks = [self.connect() for _ in range(self.command.slots)]
        heavy = chosen(count, load.every, load.seed)
        took = self._on_time(socks, heavy)
        self._write("others", (t for number, t in took.items() if number not in heavy))
        self._write("working", (t for number, t in took.items() if number in heavy))

    def slow(self) -> None:
        """Keep a schedule, first alone and then beside readers that take a page very slowly."""
        socks = [self.connect() for _ in range(FAST)]
        self._write("alone", self._on_time(socks).values())
        readers = []
        for number in range(self.command.slots):
            reader = Asked(self.connect(slow=True), number)
            reader.sock.sendall(self.pages[number % len(self.pages)][0])
            reader.data = self._some(reader.sock.recv(SIP))  # it is served, before the next comes
            readers.append(reader)
        turns = self._sips(readers)
        self._write("others", self._on_time(socks, beside=turns).values())
        self.shared[COUNT] = len(readers)
        while not self.shared[STOP]:
            next(turns)
            time.sleep(LATE_S)
        for reader in readers:
            _, body = self.pages[reader.number % len(self.pages)]
            while reader.number < WHOLE and not reader.data.endswith(body):
                reader.data += self._some(reader.sock.recv(RECEIVE))
            head, _, part = reader.data.partition(b"\r\n\r\n")
            if not (head.startswith(OK) and body.startswith(part)):
                raise LoadError(f"another page than at first for a slow reader: {head[:80]!r}")
            self.count(len(body), self.sums[reader.number % len(self.sums)])
            reader.sock.close()

    def _sips(self, readers: list[Asked]) -> Iterator[None]:
        """Each reader in its turn takes a little, once in a second; goes on when asked to."""
        due = time.monotonic()
        for reader in cycle(readers):
            while time.monotonic() < due:
                yield
            due += 1 / len(readers)
            with suppress(BlockingIOError):
                reader.data += self._some(reader.sock.recv(SIP, socket.MSG_DONTWAIT))

    def _on_time(
        self,
        socks: Sequence[socket.socket],
        heavy: Collection[int] = (),
        beside: Iterator[None] | None = None,
    ) -> dict[int, float]:
        """Ask as the schedule says, whatever happens; for each request the time since it was due.

        A request that finds no free connection waits for one.
        """
        load, free, took = self.load, list(socks), dict[int, float]()
        epoll, flying = select.epoll(), dict[int, Asked]()
        for sock in socks:
            epoll.register(sock, select.EPOLLIN)
        began = time.monotonic()
        due = [began + at for at in poisson(load.rate, load.seed, round(load.rate * load.seconds))]
        sent, every, freed = 0, load.every or 1, began
        while len(took) < len(due):
            while sent < len(due) and free and due[sent] <= time.monotonic():
                # The first page in so many is one that needs work.
                page = sent * every % len(self.pages)
                page += 0 if sent in heavy or every == 1 else 1 + sent % (every - 1)
                asking = Asked(free.pop(), page, due=due[sent], request=sent)
                flying[asking.sock.fileno()] = asking
                self.late += time.monotonic() > max(asking.due, freed) + LATE_S
                self.worked += sent in heavy
                asking.sock.sendall(self.pages[page][0])
                sent += 1
            if beside is not None:
                next(beside)
            for answered in self._answered(epoll, flying, 0.0 if load.awake else LATE_S):
                now = time.monotonic()
                took[answered.request] = now - answered.due
                freed = freed if free else now
                free.append(answered.sock)
        return took

    def _write(self, name: str, times: Iterable[float]) -> None:
        values = array("d", times)
        Path(self.command.out).with_suffix(f".{name}").write_bytes(values)
        self.kept[name] = len(values)

    def _answered(
        self, epoll: select.epoll, asked: dict[int, Asked], wait_s: float
    ) -> Iterator[Asked]:
        """Those whose answer has come whole, and is that of their page; they are asked no more."""
        for descriptor, _ in epoll.poll(wait_s, AT_ONCE):
            waiting = asked[descriptor]
            request, body = self.pages[waiting.number]
            waiting.data += self._some(os.read(descriptor, len(body) + LARGEST_HEAD))
            data = waiting.data
            if len(data) > len(body) + LARGEST_HEAD or not data.startswith(OK[: len(data)]):
                raise LoadError(f"another page than at first for {request[:40]!r}: {data[:80]!r}")
            if data.endswith(body):
                del asked[descriptor]
                self.count(len(body), self.sums[waiting.number])
                yield waiting


def run(command: Command, commands: TextIO, replies: TextIO) -> None:
    load = command.load
    assert load is not None, f"a crawl of {command.backend} is for the worker"
    loader = Loader(command, load)
    send(Ready(), replies)
    if commands.readline().strip() != GO:
        return
    began = time.monotonic()
    getattr(loader, load.how)()
    used, took_s = resource.getrusage(resource.RUSAGE_SELF), time.monotonic() - began
    result = Result(
        elapsed_s=took_s,
        pages=loader.requests,
        bytes=loader.bytes,
        answered=loader.requests,
        urls=len(loader.pages),
        statuses={"200": loader.requests},
        digest=loader.digest,
        call_s=took_s,
        user_s=used.ru_utime,
        system_s=used.ru_stime,
        kept=loader.kept,
        late=loader.late,
        loaded=Served(loader.requests, loader.checksum, loader.opened, loader.worked),
    )
    send(result, replies)


if __name__ == "__main__":
    raise SystemExit(obey(run, sys.stdout))
