"""A fault site over TLS: streams that break, and ports that no client may trust."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from server.sites.fault_kinds import ENCRYPTED, FAULTS, KINDS
from tests.server.fixture_server import Running, get, receive, running
from tests.server.tls_client import Stream, dial, trusting

PATHS = tuple(KINDS | ENCRYPTED)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """A fault site with one page of each kind, ``/KIND``."""
    with running("--tls", "ecdsa", "--site", "faults:1") as found:
        pages = [{"path": f"/{kind}", "kind": kind, "links": ["/a"] * 50} for kind in PATHS]
        assert found.control("/faults", {"pages": pages})[0] == 200
        yield found


def read_all(server: Running, path: str) -> tuple[bytes, Exception | None]:
    """What one request gets until the connection ends, and the error if it does not end well."""
    data = b""
    with dial(server, trusting(server)) as sock:
        sock.sendall(get(path))
        try:
            while block := sock.recv(65536):
                data += block
        except OSError as error:
            return data, error
    return data, None


def test_a_stream_that_ends_well(server: Running) -> None:
    for kind in ("to_close", "close_in_body", "close_in_chunks", "close_before"):
        assert read_all(server, f"/{kind}")[1] is None


@pytest.mark.parametrize("kind", [kind for kind in ENCRYPTED if kind != "broken_record"])
def test_a_stream_that_is_cut(server: Running, kind: str) -> None:
    data, error = read_all(server, f"/{kind}")
    assert data.startswith(b"HTTP/1.1 200 OK\r\n")
    assert isinstance(error, ssl.SSLEOFError)
    if kind == "cut_to_close":
        assert data.count(b"<a href") == 50


def test_a_record_that_is_none(server: Running) -> None:
    data, error = read_all(server, "/broken_record")
    assert data.startswith(b"HTTP/1.1 200 OK\r\n")
    assert isinstance(error, ssl.SSLError)
    assert not isinstance(error, ssl.SSLEOFError)


@pytest.mark.parametrize("kind", ["reset_before", "reset_in_head", "reset_in_body"])
def test_resets_are_resets(server: Running, kind: str) -> None:
    """Read from the socket itself: CPython before 3.11.9 calls a reset under TLS an end."""
    with server.connect() as raw:
        stream = Stream(raw, trusting(server))
        stream.write(get(f"/{kind}"))
        with pytest.raises(ConnectionResetError):
            stream.read(1 << 20)


def test_floods_and_silence_end_with_the_client(server: Running) -> None:
    for kind in ("endless_head", "endless_body", "drip", "silent", "stall"):
        with dial(server, trusting(server)) as sock:
            sock.sendall(get(f"/{kind}"))
            if kind != "silent":
                assert sock.recv(1)
    server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


@pytest.mark.parametrize(
    ("port", "verify_code"),
    [("untrusted", 20), ("selfmade", 18), ("expired", 10), ("elsewhere", 64)],
)
def test_ports_with_the_wrong_certificate(server: Running, port: str, verify_code: int) -> None:
    with pytest.raises(ssl.SSLCertVerificationError) as caught:
        dial(server, trusting(server), port=port).close()
    assert caught.value.verify_code == verify_code
    trusting_all = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting_all.check_hostname, trusting_all.verify_mode = False, ssl.CERT_NONE
    with dial(server, trusting_all, port=port) as sock:
        sock.sendall(get("/page"))
        assert receive(sock)[0] == 200


def test_a_port_that_is_too_old(server: Running) -> None:
    with pytest.raises(ssl.SSLError, match=r"(?i)protocol.version|unsupported.protocol"):
        dial(server, trusting(server), port="old").close()


def test_a_port_without_tls(server: Running) -> None:
    with pytest.raises(ssl.SSLError, match=r"(?i)wrong.version|http|record"):
        dial(server, trusting(server), port="plain").close()


def test_a_port_that_cuts_the_handshake(server: Running) -> None:
    with pytest.raises((ssl.SSLEOFError, ConnectionResetError)):
        dial(server, trusting(server), port="cut").close()


def test_a_location_may_name_such_a_port() -> None:
    with running("--tls", "ecdsa", "--site", "faults:1") as server:
        page = {"path": "/", "kind": "redirect", "status": 302, "location": "@expired/x"}
        assert server.control("/faults", {"pages": [page]})[0] == 200
        with dial(server, trusting(server)) as sock:
            sock.sendall(get("/"))
            _, headers, _ = receive(sock)
        assert headers["location"] == f"https://{server.ready['expired']}/x"


def test_handshakes_with_those_ports_do_not_count(server: Running) -> None:
    server.control("/reset", {})
    with pytest.raises(ssl.SSLError):
        dial(server, trusting(server), port="expired").close()
    server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)
    assert server.ledger()["handshakes"] == {"full": 0, "resumed": 0, "failed": 0}


def test_no_spec_mixes_in_what_only_breaks_tls() -> None:
    assert not set(FAULTS) & set(ENCRYPTED)
    with running("--tls", "ecdsa", "--site", "faults:30:cut_in_body") as server:
        assert server.ready["pages"] == 30
    with running("--site", "faults:30:cut_in_body") as server:
        assert "expired" not in server.ready
        with server.connect() as sock:
            sock.sendall(get("/19"))
            while sock.recv(65536):
                pass
