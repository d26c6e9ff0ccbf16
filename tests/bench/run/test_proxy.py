"""The proxy with a round trip: what goes in comes out, unchanged, in order, and not too early."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

import psutil
import pytest

from bench.plan.labels import Label
from bench.plan.participants import Participants
from bench.plan.plan import Turn
from bench.plan.tls import DISTANT, WAYS, Mode, Tls, Way
from bench.plan.workloads import wire
from bench.run.campaign import start
from bench.run.process import Child
from bench.run.servers import DistantServer, Server, ServerError
from bench.run.state import Bench
from bench.run.trial import run
from bench.schema import TrialRecord
from tests.bench.sure import sure

ROUND_TRIP_S = 0.05


@dataclass
class Ends:
    """Both ends of a connection through the proxy, and the proxy."""

    proxy: Child
    client: socket.socket
    server: socket.socket
    opened_s: float  # until the server had the connection

    def forwarded(self) -> dict[str, int]:
        self.proxy.send("")
        found: dict[str, int] = json.loads(self.proxy.receive(time.monotonic() + 30))
        return found


@contextmanager
def through(target: str) -> Iterator[tuple[Child, socket.socket]]:
    """A proxy, and a connection to it."""
    arguments = ["-m", "bench.run.proxy", target, str(1000 * ROUND_TRIP_S)]
    with Child("the proxy", arguments) as proxy:
        listening = json.loads(proxy.receive(time.monotonic() + 30))["listening"]
        host, _, port = listening.rpartition(":")
        with socket.create_connection((host, int(port)), 30) as client:
            yield proxy, client


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as target:
        target.settimeout(30)
        port = target.getsockname()[1]
        with through(f"127.0.0.1:{port}") as (proxy, client):
            began = time.monotonic()
            server, _ = target.accept()
            with server:
                server.settimeout(30)
                yield Ends(proxy, client, server, time.monotonic() - began)


def read_all(sock: socket.socket) -> bytes:
    return b"".join(iter(lambda: sock.recv(65536), b""))


@contextmanager
def sending(sock: socket.socket, data: bytes, rng: random.Random) -> Iterator[None]:
    """Send in pieces of any size, then end the stream; meanwhile somebody else reads."""

    def send() -> None:
        rest = data
        while rest:
            piece, rest = rest[: (size := rng.randint(1, 300_000))], rest[size:]
            sock.sendall(piece)
        sock.shutdown(socket.SHUT_WR)

    thread = Thread(target=send)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize("seed", range(3))
def test_bytes_arrive_unchanged_and_in_order_both_ways_at_once(ends: Ends, seed: int) -> None:
    rng = random.Random(seed)
    up, down = rng.randbytes(rng.randint(1, 5_000_000)), rng.randbytes(rng.randint(1, 5_000_000))
    got: list[bytes] = []
    with sending(ends.client, up, rng), sending(ends.server, down, rng):
        reader = Thread(target=lambda: got.append(read_all(ends.client)))
        reader.start()
        assert read_all(ends.server) == up
        reader.join()
    assert got == [down]
    found = ends.forwarded()
    assert (found["connections"], found["up"], found["down"]) == (1, len(up), len(down))


def test_a_connection_costs_a_round_trip_and_each_exchange_another(ends: Ends) -> None:
    assert ends.opened_s >= 1.5 * ROUND_TRIP_S
    for _ in range(3):
        began = time.monotonic()
        ends.client.sendall(b"question")
        assert ends.server.recv(100) == b"question"
        assert time.monotonic() - began >= 0.5 * ROUND_TRIP_S
        ends.server.sendall(b"an answer that is no alert of TLS")
        assert ends.client.recv(100).startswith(b"an answer")
        assert time.monotonic() - began >= ROUND_TRIP_S
    assert ends.forwarded()["round_trips"] == 3
    assert ends.forwarded() == {}  # since the last time


def test_what_is_sent_before_an_answer_makes_one_round_trip_with_it(ends: Ends) -> None:
    ends.client.sendall(b"head")
    assert ends.server.recv(4) == b"head"
    ends.client.sendall(b"body")
    ends.server.sendall(b"an answer to the head alone")
    assert ends.server.recv(4) == b"body"
    ends.server.sendall(b"an answer to the body as well")
    assert len(ends.client.recv(100)) + len(ends.client.recv(100)) == 56
    assert ends.forwarded()["round_trips"] == 1


def test_a_goodbye_of_tls_is_no_round_trip(ends: Ends) -> None:
    ends.client.sendall(b"close_notify")
    ends.server.recv(100)
    ends.server.sendall(bytes(24))
    assert ends.client.recv(100) == bytes(24)
    assert "round_trips" not in ends.forwarded()


@pytest.mark.parametrize("client_first", [True, False])
def test_the_end_of_one_stream_leaves_the_other_open(ends: Ends, client_first: bool) -> None:
    one, other = (ends.client, ends.server) if client_first else (ends.server, ends.client)
    began = time.monotonic()
    one.shutdown(socket.SHUT_WR)
    assert other.recv(1) == b""
    assert time.monotonic() - began >= 0.5 * ROUND_TRIP_S
    other.sendall(b"still here")
    other.close()
    assert read_all(one) == b"still here"


@pytest.mark.parametrize("client_first", [True, False])
def test_a_reset_is_passed_on_behind_the_bytes_before_it(ends: Ends, client_first: bool) -> None:
    one, other = (ends.client, ends.server) if client_first else (ends.server, ends.client)
    one.sendall(b"before")
    assert other.recv(100) == b"before"
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    began = time.monotonic()
    one.close()
    with pytest.raises(ConnectionResetError):
        other.recv(1)
    assert time.monotonic() - began >= 0.5 * ROUND_TRIP_S


def test_one_that_nobody_reads_from_fills_up_and_holds_up_nobody_else(ends: Ends) -> None:
    ends.client.settimeout(0.5)
    with pytest.raises(TimeoutError):
        ends.client.sendall(bytes(64 << 20))
    assert ends.forwarded()["connections"] == 1


def test_a_server_that_is_gone_resets_the_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as short:
        gone = short.getsockname()[1]
    with through(f"127.0.0.1:{gone}") as (_, client), pytest.raises(ConnectionResetError):
        client.recv(1)


# --- crawls through it -------------------------------------------------------------------


SLOTS, PAGES = 2, 8


def crawled(
    bench: Bench, name: str, mode: Mode, change: Callable[[Server], None] = lambda server: None
) -> TrialRecord:
    point = wire(SLOTS, PAGES, Participants(1))
    with start(point, bench.pinning, WAYS[mode].tls) as server:
        change(server)
        return run(bench, point, Turn(0, point.id, 0, Label(name, mode=mode)), server, 0)


@pytest.mark.parametrize("mode", DISTANT)
def test_each_protocol_needs_its_round_trips(bench: Bench, mode: Mode) -> None:
    record, way = crawled(bench, "async_await", mode), WAYS[mode]
    counted = {"plain": PAGES, "churn": PAGES, "tls": PAGES + SLOTS, "handshake": 2 * PAGES}
    assert (record.status, record.reason) == ("ok", None)
    assert record.extra["proxy_connections"] == (SLOTS if way.keep_alive else PAGES)
    assert record.extra["proxy_round_trips"] == counted[mode]
    needed = 1 if way.keep_alive else 2 + (way.tls is not None)
    assert record.params["round_trip_ms"] == 20.0
    assert sure(record.service_time).min_ms >= 20.0 * needed


def test_a_round_trip_more_is_counted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    older = Way(Tls(version="1.2", tickets=False), keep_alive=False)
    monkeypatch.setitem(WAYS, "handshake", older)
    record = crawled(bench, "callbacks", "handshake")
    assert (record.status, record.reason) == ("ok", None)
    assert record.extra["proxy_round_trips"] == 3 * PAGES  # the handshake of TLS 1.2 has two


def test_a_crawl_that_goes_around_the_proxy_is_void(bench: Bench) -> None:
    def around(server: Server) -> None:
        server.prefix = f"http://{server.listening}"

    record = crawled(bench, "callbacks", "churn", around)
    assert record.status == "void"
    assert record.reason == "0 connections through the proxy, but 8 at the server"


def test_a_proxy_that_is_gone_fails_the_trial(bench: Bench) -> None:
    def kill(server: Server) -> None:
        assert isinstance(server, DistantServer)
        server._proxy.process.kill()

    record = crawled(bench, "callbacks", "plain", kill)
    assert record.status == "failed"
    assert record.reason == "the proxy ended: killed by SIGKILL"


def test_a_proxy_that_does_not_start_leaves_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(server: DistantServer) -> None:
        raise ServerError("no answer")

    monkeypatch.setattr(DistantServer, "_said", silent)
    before = set(psutil.Process().children())
    with pytest.raises(ServerError, match="no answer"):
        DistantServer("list:10:100", 10.0, [], None)
    assert set(psutil.Process().children()) <= before
