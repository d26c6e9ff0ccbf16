"""``python -m server models``: what a server says of itself."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from zlib import crc32

import psutil
import pytest

from server.models import stacks
from server.models.catalogue import MODELS, SERVERS
from tests.server.fixture_server import PATIENCE, everything, get, receive
from tests.server.models.differs import DIFFERS
from tests.server.models.serving import (
    LARGE,
    ask,
    last_words,
    serving,
    stop,
    write_site,
)

STACKS = [each.name for each in SERVERS.values() if each.family == "stack"]


@pytest.mark.parametrize(
    "name", [*MODELS, *(pytest.param(name, marks=pytest.mark.slow) for name in STACKS)]
)
def test_a_server_says_what_it_has_served(name: str, tmp_path: Path) -> None:
    """A client that adds up the same can tell that both saw the same."""
    for library in SERVERS[name].needs.split():
        pytest.importorskip(library)
    with serving(name, "--site", write_site(tmp_path)) as server:
        assert server.ready["model"] == name
        bodies = []
        for count in (3, 5):
            with server.connect() as sock:
                bodies += [ask(sock) for _ in range(count)]
                bodies.append(ask(sock, "/large.bin"))
                sock.sendall(get("/page.html", method="HEAD"))
                while not sock.recv(1000).endswith(b"\r\n\r\n"):
                    pass
                bodies.append(b"")
                sock.sendall(get("/missing", "Connection: close"))
                bodies.append(receive(sock)[2])
        assert LARGE in bodies
        stop(server)
        served, errors = last_words(server)
    assert served["requests"] == len(bodies)
    assert served["checksum"] == sum(map(crc32, bodies))
    if name in STACKS:  # which count the bytes of bodies, and log what they like
        assert set(server.ready["versions"]) == set(SERVERS[name].needs.split())
        assert served["bytes"] == sum(map(len, bodies))
    else:
        assert errors == ""
        assert served["bytes"] > sum(map(len, bodies))
        assert (served["connections"], served["turned_away"]) == (2, 0)
        assert served["late"] == served["refused"] == {}


@pytest.mark.parametrize("name", [*MODELS, "async_await_to_thread", "async_await_pool"])
def test_one_page_in_so_many_needs_work_and_one_connection_too_many_is_closed(name: str) -> None:
    """Pipelined, too: a page is worked on once, and in its turn."""
    work = ["--site", "list:20:1000", "--work", "5:2"]
    with serving(name, *work, max_connections=1) as server:
        with server.connect() as sock:
            assert len(ask(sock, "/p/1")) == 1000
            with server.connect() as other:
                assert other.recv(100) == b""
            sock.sendall(b"".join(get(f"/p/{number}") for number in range(10)))
            sock.sendall(get("/p/20", "Connection: close"))
            answers = everything(sock)
            assert (answers.count(b" 200 OK\r\n"), answers.count(b" 404 ")) == (10, 1)
        stop(server)
        served, errors = last_words(server)
    assert errors == ""
    assert (served["requests"], served["worked"], served["turned_away"]) == (12, 2, 1)


def test_a_pool_ends_with_its_server_that_is_killed() -> None:
    with serving("async_await_pool", "--site", "list:20:1000", "--work", "1:1") as server:
        with server.connect() as sock:
            ask(sock, "/p/0")
        pool = psutil.Process(server.process.pid).children(recursive=True)
        assert pool
        server.process.kill()
    assert not psutil.wait_procs(pool, timeout=PATIENCE)[1]


def test_the_documents_have_every_known_difference() -> None:
    text = (Path(__file__).parents[3] / "docs" / "servers.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for name, reasons in DIFFERS.items():
        for reason in reasons.values():
            assert any(f"| {reason} |" in row and f"`{name}`" in row for row in rows), reason
    for server in SERVERS:
        assert server in MODELS or any(f"| `{server}` |" in row for row in rows), server


def test_the_floor_serves_pages() -> None:
    with serving("bare", "--site", "list:3:1000") as server:
        with server.connect() as sock:
            assert len(ask(sock, "/p/2")) == 1000
        stop(server)
        assert last_words(server)[1] == ""


def test_a_server_ends_with_its_parent() -> None:
    with serving("threads") as server:
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(PATIENCE) == 0


@pytest.mark.slow  # half a minute: gunicorn's own default is what must not count
def test_a_worker_that_was_stopped_for_long_goes_on() -> None:
    """As the harness stops all but one. gunicorn's watchdog had killed such a worker."""
    with serving("gunicorn_gevent") as server, server.connect() as sock:
        assert len(ask(sock, "/")) > 100
        watchdog = psutil.Process(server.process.pid)
        group = [watchdog, *watchdog.children()]
        for process in group:
            process.cpu_affinity(watchdog.cpu_affinity()[:1])  # so that the watchdog goes on first
            process.suspend()
        time.sleep(32)
        for process in group:
            process.resume()
        time.sleep(2)
        assert len(ask(sock, "/")) > 100


@pytest.mark.parametrize("ended", [False, True])
def test_the_end_of_the_parent_does_not_cut_off_last_words(
    monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    """hypercorn had ended, and the signal that followed its parent ended the process."""
    sent: list[int] = []
    monkeypatch.setattr(os, "read", lambda *_: b"")
    monkeypatch.setattr(os, "kill", lambda _, number: sent.append(number))
    over = threading.Event()
    if ended:
        over.set()
    stacks.follow_parent(over)
    assert sent == ([] if ended else [signal.SIGTERM])
