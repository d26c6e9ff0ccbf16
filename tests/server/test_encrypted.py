"""The server over TLS, to real clients: handshakes, pages, ends, and clients that do it wrong."""

from __future__ import annotations

import contextlib
import socket
import ssl
from pathlib import Path

import pytest

from tests.server.fixture_server import PATIENCE, Running, ended, everything, get, receive, running
from tests.server.tls_client import Stream, dial, trusting


def handshakes(server: Running) -> tuple[int, int, int]:
    """Full, resumed and failed ones."""
    counts = server.ledger()["handshakes"]
    return counts["full"], counts["resumed"], counts["failed"]


@pytest.mark.parametrize(
    ("key", "version", "tickets"), [("ecdsa", "1.2", True), ("rsa", "1.3", False)]
)
def test_versions_keys_and_tickets(key: str, version: str, tickets: bool) -> None:
    arguments = ["--tls", key, "--tls-version", version, *([] if tickets else ["--no-tickets"])]
    with running(*arguments, "--site", "list:3:10") as server:
        facts = server.ready["tls"]
        assert (facts["key"], facts["version"], facts["tickets"]) == (key, version, tickets)
        context, session = trusting(server), None
        for _ in range(2):
            with dial(server, context, session) as sock:
                found = sock.version(), sock.selected_alpn_protocol()
                assert found == (f"TLSv{version}", "http/1.1")
                sock.sendall(get("/p/0"))
                assert receive(sock)[0] == 200
                certificate, session = sock.getpeercert(), sock.session
                assert tickets or session is None or not session.has_ticket
        assert handshakes(server) == ((1, 1, 0) if tickets else (2, 0, 0))
        assert certificate is not None
        names = certificate["subjectAltName"]
        assert ("IP Address", "127.0.0.1") in names
        assert ("DNS", "localhost") in names
        other = {"1.2": ssl.TLSVersion.TLSv1_3, "1.3": ssl.TLSVersion.TLSv1_2}[version]
        with pytest.raises(ssl.SSLError):
            dial(server, trusting(server, other)).close()
        server.wait_for("/ledger", lambda ledger: ledger["handshakes"]["failed"] == 1)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_resumed_with_a_ticket(secure: Running, version: ssl.TLSVersion) -> None:
    context, session = trusting(secure, version), None
    for _ in range(3):
        with dial(secure, context, session) as sock:
            sock.sendall(get("/"))
            assert receive(sock)[0] == 200
            assert sock.session_reused == (session is not None)
            session = sock.session
    assert handshakes(secure) == (1, 2, 0)


def test_the_end_of_an_answer_is_the_end_of_the_stream(secure: Running) -> None:
    """A connection closes with close_notify; without it ``recv`` would raise an error here."""
    for request, status in (
        (get("/", "Connection: close"), 200),
        (get("/", "Content-Length: 100000", method="POST") + b"x" * 100_000, 405),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000, 431),
    ):
        with dial(secure, trusting(secure)) as sock:
            sock.sendall(request)
            assert receive(sock)[0] == status
            assert ended(sock)


def test_large_files_are_sent_over_tls_to_a_slow_reader(tmp_path: Path) -> None:
    """The server pauses when the client does not read, and goes on when it does."""
    content = bytes(range(256)) * 4 * 8192  # 8 MiB: more than the buffers of a socket
    (tmp_path / "index.html").write_text("<a href=/big>big</a>")
    (tmp_path / "big").write_bytes(content)
    with running("--tls", "ecdsa", "--site", f"dir:{tmp_path}") as server:
        context = trusting(server)
        with dial(server, context) as sock, dial(server, context) as other:
            sock.sendall(get("/big") + get("/none"))
            other.sendall(get("/"))
            assert receive(other)[0] == 200  # the server answers others meanwhile
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += sock.recv(1)
            body = bytearray()
            while len(body) < len(content):
                body += sock.recv(len(content) - len(body))
            assert body == content
            assert receive(sock)[0] == 404
        with dial(server, context) as sock:  # gone in the middle
            sock.sendall(get("/big"))
            assert sock.recv(1)
        server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


@pytest.mark.parametrize(
    ("records", "pipelined"),
    [([get("/")], 0), ([get("/")[:9], get("/")[9:]], 0), ([get("/"), get("/"), get("/")], 2)],
)
def test_a_client_that_ends_its_stream_gets_the_answer_and_the_end(
    secure: Running, records: list[bytes], pipelined: int
) -> None:
    """The requests and close_notify arrive together; TCP stays open."""
    with secure.connect() as raw:
        stream = Stream(raw, trusting(secure))
        stream.write(*records, close=True)
        assert stream.read(17) == b"HTTP/1.1 200 OK\r\n"
        everything(raw)
    assert secure.ledger()["pipelined"] == pipelined
    secure.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


def test_clients_that_go_in_the_handshake(secure: Running) -> None:
    """One that sent nothing has begun no handshake. One that distrusts the server has."""
    secure.connect().close()
    with secure.connect() as sock:
        sock.sendall(b"\x16\x03\x01")
    with pytest.raises(ssl.SSLCertVerificationError):
        dial(secure, ssl.create_default_context()).close()
    secure.wait_for(
        "/ledger",
        lambda ledger: ledger["connections_open"] == 0 and ledger["connections_opened"] == 3,
    )
    assert handshakes(secure) == (0, 0, 2)


def test_a_broken_record_ends_the_connection(secure: Running) -> None:
    with dial(secure, trusting(secure)) as sock:
        sock.sendall(get("/"))
        receive(sock)
        with socket.socket(fileno=sock.detach()) as raw:
            raw.settimeout(PATIENCE)
            raw.sendall(b"\x17\x03\x03\x00\x40" + b"?" * 64)
            with contextlib.suppress(ConnectionResetError):
                everything(raw)
    secure.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)
    assert handshakes(secure) == (1, 0, 0)
