"""``python -m server models``: what a server says of itself."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from selectors import EVENT_READ
from typing import NoReturn
from unittest.mock import MagicMock
from zlib import crc32

import psutil
import pytest

from server.models import stacks, threads
from server.models.catalogue import MODELS, SERVERS
from server.models.loop import Loop
from server.models.service import TICK_S, Limits, Service
from server.models.sockets import ACCEPTS, accepted
from server.sites.specs import make_site
from tests.server.fixture_server import PATIENCE, everything, get, receive
from tests.server.models.differs import DIFFERS
from tests.server.models.serving import (
    LARGE,
    Model,
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


SOCKETS = [*MODELS, *(pytest.param(n, marks=pytest.mark.slow) for n in ("gevent", "trio"))]


@pytest.mark.parametrize("name", SOCKETS)
def test_a_server_without_descriptors_waits(name: str) -> None:
    """It had asked for the next connection again and again, and no signal ended it."""
    with (
        serving(name) as server,
        server.connect() as idle,
        answered_late(server, idle),
        without_descriptors(server),
        server.connect(),
    ):
        time.sleep(TICK_S)
        stop(server)
        last_words(server)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aiohttp_web", "uvicorn", "hypercorn"])
def test_a_stack_of_asyncio_without_descriptors_waits(name: str) -> None:
    """It had a backlog of 65,535, tried and complained as often, and answered nobody meanwhile."""
    with serving(name) as server, server.connect() as idle:
        answered_late(server, idle).close()
        idle.close()
        stop(server)
        # CPython 3.15 needs a descriptor to write a traceback.
        said = last_words(server)[1].replace("--- Logging error ---", "out of system resource")
        assert 0 < said.count("out of system resource") <= 10 * ACCEPTS


def answered_late(server: Model, idle: socket.socket) -> socket.socket:
    """A client that comes while the server may open nothing, and is answered once it may."""
    ask(idle, "/")
    with without_descriptors(server):
        waiting = server.connect()
        time.sleep(2 * TICK_S)
    ask(waiting, "/")
    return waiting


@contextmanager
def without_descriptors(server: Model) -> Iterator[None]:
    """Meanwhile the server's process may open nothing."""
    process = psutil.Process(server.process.pid)
    before = process.rlimit(psutil.RLIMIT_NOFILE)
    used = {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}
    process.rlimit(psutil.RLIMIT_NOFILE, (min(set(range(len(used) + 1)) - used), before[1]))
    yield
    if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        process.rlimit(psutil.RLIMIT_NOFILE, before)


class Refusing:
    """A socket that listens, for a process that has no descriptor left."""

    def __init__(self, service: Service) -> None:
        self.service, self.refused = service, 0

    def accept(self) -> NoReturn:
        self.refused += 1
        self.service.stopping = self.refused == 100  # the end of those that ask again at once
        raise OSError(errno.EMFILE, "none is left")


def test_nobody_asks_for_a_connection_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread sleeps before each further try, and a loop waits for its clock."""
    service = Service(make_site("list:1:1", 1, None), MagicMock(), Limits())
    service.listening = refusing = Refusing(service)  # type: ignore[assignment]
    naps: list[float] = []
    monkeypatch.setattr(threads, "sleep", naps.append)
    threads.accept(threads.Shared(service), lambda *_: None)
    assert refusing.refused == len(naps) + 1 == 100

    pauses: list[tuple[object, float]] = []
    refusing.refused = 0
    assert not list(accepted(service, [], lambda *pause: pauses.append(pause)))
    assert refusing.refused == len(pauses) == 1
    assert pauses == [(refusing, TICK_S)]


def test_a_paused_socket_comes_back() -> None:
    loop, (near, far) = Loop(), socket.socketpair()
    turns: list[bool] = []
    with near, far:
        far.sendall(b"x")

        def turn() -> None:
            turns.append(True)
            loop.pause(near, 0.01) if len(turns) < 3 else loop.stop()

        loop.selector.register(near, EVENT_READ, turn)
        loop.run()
        loop.close()
    assert len(turns) == 3


@pytest.mark.parametrize(
    "name",
    [
        *SOCKETS,
        "threads_pool",
        "asyncio_protocol",
        "bare",
        *(pytest.param(name, marks=pytest.mark.slow) for name in STACKS),
    ],
)
def test_a_server_that_cannot_say_that_it_is_ready_ends(name: str) -> None:
    """threads had waited for its acceptor for ever, deaf to signals; stacks had served on."""
    for library in SERVERS[name].needs.split():
        pytest.importorskip(library)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "server", "models", name, "--site", "list:10:512"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    said = "python -m server models: cannot write to standard output: no space left on device\n"
    assert said in done.stderr
    assert done.stderr == said or name == "gunicorn_gevent"  # it logs the end of its worker


@pytest.mark.parametrize("name", ["granian", "gunicorn_gevent"])
def test_a_stack_that_can_start_no_task_raises_what_becomes_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """granian aborted, and gunicorn printed a traceback and ended with 0."""

    def fails(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fails)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        getattr(stacks, name)(MagicMock())


def test_a_pool_ends_with_its_server_that_is_killed() -> None:
    with serving("async_await_pool", "--site", "list:20:1000", "--work", "1:1") as server:
        with server.connect() as sock:
            ask(sock, "/p/0")
        pool = psutil.Process(server.process.pid).children(recursive=True)
        assert pool
        server.process.kill()
    assert not psutil.wait_procs(pool, timeout=PATIENCE)[1]


def test_a_pool_has_no_socket_of_a_client_and_leaves_ctrl_c_to_its_server() -> None:
    with serving("async_await_pool", "--site", "list:20:1000", "--work", "1:1") as server:
        with server.connect() as sock:
            ask(sock, "/p/0")
            pool = psutil.Process(server.process.pid).children(recursive=True)
            assert not any(process.net_connections() for process in pool)
            for process in pool:
                process.send_signal(signal.SIGINT)
            assert len(ask(sock, "/p/1")) == 1000
        stop(server)


def test_the_documents_have_every_known_difference() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "servers.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for name, reasons in DIFFERS.items():
        for reason in reasons.values():
            assert f"`{name}`" in "".join(row for row in rows if f"| {reason} |" in row), reason
    assert [server for server in STACKS if f"\n| `{server}` |" not in text] == []


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
    monkeypatch.setattr(os, "kill", lambda _, number: sent.append(number))
    over = threading.Event()
    if ended:
        over.set()
    stacks.ask_to_stop(over)
    assert sent == ([] if ended else [signal.SIGTERM])


def test_a_stack_that_catches_no_signal_any_more_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio gives its handlers back before a stack has ended: aiohttp.web was killed there."""
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _, number: sent.append(number))
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)
    over = threading.Event()
    ending = threading.Timer(0.05, over.set)
    ending.start()
    stacks.ask_to_stop(over)
    ending.join()
    assert sent == []
