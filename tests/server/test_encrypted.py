"""The server over TLS, to real clients: handshakes, pages, ends, and clients that do it wrong."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest

from tests.server.fixture_server import PATIENCE, Running, get, receive, running


@pytest.fixture(scope="module")
def secure() -> Iterator[Running]:
    """A server with an ECDSA certificate, any version and tickets."""
    with running("--tls", "ecdsa", "--site", "tree:120:5:2048") as server:
        yield server


def trusting(server: Running, **options: ssl.TLSVersion) -> ssl.SSLContext:
    """A client's context that trusts this server and nobody else."""
    context = ssl.create_default_context(cafile=server.ready["tls"]["cafile"])
    context.set_alpn_protocols(["http/1.1"])
    for name, value in options.items():
        setattr(context, name, value)
    return context


def dial(
    server: Running, context: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> ssl.SSLSocket:
    """A connection after its handshake."""
    raw = socket.create_connection(server.address, timeout=PATIENCE)
    try:
        return context.wrap_socket(raw, server_hostname=server.address[0], session=session)
    except BaseException:
        raw.close()
        raise


def test_a_client_that_trusts_the_authority_gets_pages(secure: Running) -> None:
    assert secure.ready["scheme"] == "https"
    assert {**secure.ready["tls"], "cafile": ""} == {
        "key": "ecdsa",
        "version": "any",
        "tickets": True,
        "cafile": "",
    }
    before = secure.ledger()["handshakes"]["full"]
    with dial(secure, trusting(secure)) as sock:
        assert (sock.version(), sock.selected_alpn_protocol()) == ("TLSv1.3", "http/1.1")
        for target in ("/", "/none", "/"):
            sock.sendall(get(target))
            assert receive(sock)[0] == (404 if target == "/none" else 200)
    assert secure.ledger()["handshakes"]["full"] == before + 1
