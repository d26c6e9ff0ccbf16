"""Connections to a fault site: what goes over the wire, and which pages are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.fixture_server import Running, get, receive, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """A server whose pages the tests replace."""
    with running("--site", "faults:100", token="token") as found:
        yield found


def load(server: Running, *pages: dict[str, object]) -> None:
    status, answer = server.control("/faults", {"pages": list(pages)})
    assert status == 200, answer


def read_all(server: Running, path: str) -> bytes:
    """What one request gets until the connection ends."""
    data = b""
    with server.connect() as sock:
        sock.sendall(get(path))
        while block := sock.recv(65536):
            data += block
    return data


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
    with server.connect() as sock:
        sock.sendall(get("/"))
        assert receive(sock)[0] == 200
    assert server.control("/ledger")[1]["requests"] == {"/": 3}


def test_silence_and_floods_end_with_the_client(server: Running) -> None:
    load(
        server,
        {"path": "/silent", "kind": "silent"},
        {"path": "/flood", "kind": "endless_body"},
        {"path": "/drip", "kind": "drip"},
    )
    for path in ("/silent", "/flood", "/drip"):
        with server.connect() as sock:
            sock.sendall(get(path))
            if path != "/silent":
                assert sock.recv(10)
    server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


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


def test_other_sites_take_no_faults() -> None:
    with running("--site", "tree:10") as tree:
        assert tree.control("/faults", {"pages": []})[0] == 404
