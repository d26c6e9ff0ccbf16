"""A fault site over TLS: streams that break, and ports that no client may trust."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from server.sites.fault_kinds import ENCRYPTED, FAULTS, KINDS
from tests.server.fixture_server import Running, get, running
from tests.server.tls_client import dial, trusting

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


def test_floods_and_silence_end_with_the_client(server: Running) -> None:
    for kind in ("endless_head", "endless_body", "drip", "silent", "stall"):
        with dial(server, trusting(server)) as sock:
            sock.sendall(get(f"/{kind}"))
            if kind != "silent":
                assert sock.recv(1)
    server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


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
