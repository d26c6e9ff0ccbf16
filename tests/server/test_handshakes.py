"""Encrypted connections in memory: deadlines, any split of the bytes, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ssl
from collections.abc import Callable, Iterator
from functools import cache
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.certificates import Authority, new_context
from server.connection import Connection, Core
from server.delays import Delay
from server.encrypted import HANDSHAKE_S, Encrypted, Handshakes
from server.sites.specs import make_site
from tests.server.clock import Clock
from tests.server.wire import Wire as PlainWire

SITE = make_site("list:10:3000", 1, None)


class Wire(PlainWire):
    """The transport under TLS; it reports the end like an event loop."""

    def __init__(self, protocol: Encrypted) -> None:
        super().__init__()
        self.protocol: Encrypted | None = protocol

    is_closing = PlainWire.is_closed

    def lose(self) -> None:
        protocol, self.protocol = self.protocol, None
        assert protocol is not None
        protocol.connection_lost(None)


class Bench:
    """A server in memory, and a context for its clients."""

    def __init__(self) -> None:
        authority = Authority("ecdsa")
        context = new_context()
        authority.issue(context, "localhost")
        self.clock = Clock()
        self.core = Core(SITE, self.clock.loop, Delay())
        self.handshakes = Handshakes(context, self.clock.loop, self.clock.time)
        self.trusting = ssl.create_default_context(cadata=authority.certificate.decode())

    def connect(self) -> tuple[Encrypted, Wire]:
        """A connection on which nothing has happened."""
        protocol = Encrypted(self.core, self.handshakes)
        wire = Wire(protocol)
        protocol.connection_made(cast(asyncio.Transport, wire))
        return protocol, wire

    def talk(self, request: bytes, cut: Callable[[bytes], list[bytes]]) -> tuple[bytes, Wire]:
        """What a request is answered, when all that the client sends is cut like this."""
        protocol, wire = self.connect()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.trusting.wrap_bio(incoming, outgoing, server_hostname="localhost")

        def swap() -> None:
            for piece in cut(outgoing.read()):
                protocol.data_received(piece)
            incoming.write(wire.written)
            wire.written = b""

        for _ in range(3):
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
            swap()
        client.write(request)
        swap()
        answer = b""
        with contextlib.suppress(ssl.SSLWantReadError):
            while block := client.read(65536):
                answer += block
        return answer, wire


@cache
def shared() -> Bench:
    """One for all tests and examples, because a certificate takes a while."""
    return Bench()


@pytest.fixture
def bench() -> Iterator[Bench]:
    """The shared one, counted from zero. No handshake is waited for after the test."""
    shared().handshakes.reset()
    yield shared()
    assert not shared().handshakes.waiting


def whole(data: bytes) -> list[bytes]:
    return [data] if data else []


REQUESTS = b"GET /p/1 HTTP/1.1\r\nHost: x\r\n\r\n" * 3 + b"GET /none HTTP/1.1\r\nHost: x\r\n\r\n"


@given(pieces=st.lists(st.integers(1, 400), min_size=1, max_size=20))
def test_any_split_gives_the_same_answers(pieces: list[int]) -> None:
    bench = shared()

    def cut(data: bytes) -> list[bytes]:
        found, start, number = [], 0, 0
        while start < len(data):
            size = pieces[number % len(pieces)]
            found.append(data[start : start + size])
            start, number = start + size, number + 1
        return found

    expected, first = bench.talk(REQUESTS, whole)
    assert expected.count(b"HTTP/1.1 200 OK") == 3
    found, wire = bench.talk(REQUESTS, cut)
    assert found == expected
    first.lose()
    wire.lose()


@given(data=st.binary(min_size=1, max_size=2000))
@example(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
def test_any_bytes_fail_or_wait(data: bytes) -> None:
    bench = shared()
    bench.handshakes.reset()
    protocol, wire = bench.connect()
    protocol.data_received(data)
    protocol.data_received(data)
    assert b"HTTP" not in wire.written
    wire.lose()
    assert bench.handshakes.summary() == {"full": 0, "resumed": 0, "failed": 1}
    assert not bench.handshakes.outgoing.pending
    assert not bench.core.ledger.connections


def test_a_handshake_has_a_deadline_and_a_finished_one_has_none(bench: Bench) -> None:
    _, finished = bench.talk(REQUESTS, whole)
    first, one = bench.connect()
    bench.clock.advance(HANDSHAKE_S / 2)
    _, two = bench.connect()
    first.data_received(b"\x16\x03\x01")
    bench.clock.advance(HANDSHAKE_S / 2)
    assert (one.closed, two.closed) == (True, False)
    one.lose()
    bench.clock.advance(HANDSHAKE_S / 2)
    assert two.closed
    two.lose()
    assert bench.handshakes.summary() == {"full": 1, "resumed": 0, "failed": 2}
    assert not finished.closed
    finished.lose()
    assert not bench.clock.waiting


def test_nothing_is_written_after_the_end(bench: Bench) -> None:
    protocol, wire = bench.connect()
    protocol.data_received(b"GET / HTTP/1.1\r\n\r\n")
    assert wire.closed
    sent = wire.written
    protocol.write(b"late")
    protocol.close()
    protocol.data_received(b"more")
    assert wire.written == sent
    wire.lose()
    protocol.write(b"too late")
    protocol.pause_writing()
    protocol.resume_writing()
    protocol.eof_received()


def test_a_connection_leaves_no_cycle(bench: Bench) -> None:
    """The server collects garbage seldom."""

    def alive() -> int:
        kinds = (Encrypted, Connection, ssl.SSLObject, ssl.MemoryBIO)
        return sum(isinstance(found, kinds) for found in gc.get_objects())

    gc.collect()
    gc.freeze()  # what is here already is left out of get_objects
    gc.disable()
    try:
        _, wire = bench.talk(REQUESTS, whole)
        assert alive()
        wire.lose()
        protocol, wire = bench.connect()
        protocol.data_received(b"nonsense")
        wire.lose()
        del protocol, wire
        assert not alive()
    finally:
        gc.enable()
        gc.unfreeze()
