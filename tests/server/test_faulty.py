"""Connections to a fault site: what goes over the wire, and which pages are refused."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping

import pytest

from server.faulty import NO_RECORD
from server.sites.fault_kinds import ENCRYPTED, FAULTS
from tests.server.fixture_server import Running, everything, get, receive, running
from tests.server.tls_client import Stream, connected, dial, trusting


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """A server whose pages the tests replace."""
    with running("--site", "faults:100", token="token") as found:
        yield found


@pytest.fixture(scope="module")
def secure() -> Iterator[Running]:
    """The same over TLS."""
    with running("--tls", "ecdsa", "--site", "faults:1") as found:
        yield found


def load(server: Running, *pages: Mapping[str, object]) -> None:
    status, answer = server.control("/faults", {"pages": list(pages)})
    assert status == 200, answer


def asked(server: Running, path: str) -> socket.socket:
    """A connection on which this page was asked for."""
    sock = connected(server)
    sock.sendall(get(path))
    return sock


def read_all(server: Running, path: str) -> bytes:
    """What one request gets until the connection ends."""
    with asked(server, path) as sock:
        return everything(sock)


def test_an_answer_is_sent_in_pieces(server: Running) -> None:
    load(server, {"path": "/", "links": ["/a"], "cuts": [3, 20], "pause_s": 0.02})
    with server.connect() as sock:
        for _ in range(2):  # the connection stays good
            sock.sendall(get("/"))
            assert sock.recv(65536) == b"HTT"
            assert len(sock.recv(65536)) == 17
            assert b'<a href="/a">' in sock.recv(65536)


def test_a_fault_ends_after_its_times(server: Running) -> None:
    load(server, {"path": "/", "kind": "reset_before", "times": 2})
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            read_all(server, "/")
    with asked(server, "/") as sock:
        assert receive(sock)[0] == 200
    assert server.control("/ledger")[1]["requests"] == {"/": 3}


@pytest.mark.parametrize("kind", ["to_close", "close_in_body", "close_in_chunks", "close_before"])
def test_a_stream_of_tls_that_ends_well(secure: Running, kind: str) -> None:
    """With close_notify; without it ``recv`` would raise an error here."""
    load(secure, {"path": "/", "kind": kind, "links": ["/a"] * 50})
    read_all(secure, "/")


@pytest.mark.parametrize("kind", ["cut_after", "torn_record", "broken_record"])
def test_a_stream_of_tls_that_breaks(secure: Running, kind: str) -> None:
    load(secure, {"path": "/", "kind": kind, "links": ["/a"] * 50})
    with secure.connect() as raw:
        Stream(raw, trusting(secure)).write(get("/"))
        data = everything(raw)
    assert data.endswith(NO_RECORD) == (kind == "broken_record")
    while (whole := 5 + int.from_bytes(data[3:5], "big")) <= len(data):
        data = data[whole:]
    assert bool(data) == (kind == "torn_record")


@pytest.mark.parametrize("wire", ["server", "secure"])
def test_silence_and_floods_end_with_the_client(wire: str, request: pytest.FixtureRequest) -> None:
    server: Running = request.getfixturevalue(wire)
    kinds = ("endless_head", "endless_body", "drip", "silent", "stall")
    load(server, *({"path": f"/{kind}", "kind": kind, "links": ["/a"] * 50} for kind in kinds))
    for kind in kinds:
        with asked(server, f"/{kind}") as sock:
            assert kind == "silent" or sock.recv(1)
    server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


def test_handshakes_with_odd_ports_do_not_count(secure: Running) -> None:
    secure.control("/reset", {})
    with pytest.raises(ssl.SSLError):
        dial(secure, trusting(secure), port="expired").close()
    secure.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)
    assert secure.ledger()["handshakes"] == {"full": 0, "resumed": 0, "failed": 0}


def test_no_plain_site_has_what_only_breaks_tls(server: Running) -> None:
    assert not set(FAULTS) & set(ENCRYPTED)
    assert "expired" not in server.ready
    load(server, {"path": "/", "kind": "cut_in_body", "links": ["/a"] * 50})
    assert read_all(server, "/").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "page",
    [
        {"kind": "page"},
        {"path": "no-slash"},
        {"path": "/", "kind": "nothing"},
        {"path": "/", "pause_s": -1},
        {"path": "/", "links": [1]},
        {"path": "/", "links": "/a"},
        {"path": "/", "colour": "red"},
        {"path": "/", "links": ["\ud800"]},
        {"path": "/", "kind": "redirect", "location": "/\ud800"},
        "page",
    ],
)
def test_what_is_no_page_is_refused(server: Running, page: object) -> None:
    status, answer = server.control("/faults", {"pages": [page]})
    assert status == 400
    assert answer["error"]


def test_other_sites_take_no_faults(shared: Running) -> None:
    assert shared.control("/faults", {"pages": []})[0] == 404
