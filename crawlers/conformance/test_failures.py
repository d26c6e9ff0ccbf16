"""What every backend makes of servers and connections that fail."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from crawlers.conformance.crawling import crawl, outcomes
from crawlers.conformance.scripted import (
    Connection,
    ScriptedServer,
    ok,
    page,
)
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend

pytestmark = [pytest.mark.timeout(300)]


def test_failures_are_retried_and_counted(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    server.script["/"] = page("/flaky", "/reset", "/early", "/garbage")
    server.script["/flaky"] = [Connection.reset, Connection.close, page()]
    server.script["/reset"] = Connection.reset

    def early(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        connection.close()

    server.script["/early"] = early
    server.script["/garbage"] = b"220 mail.example ESMTP\r\n\r\n"
    report = crawl(backend, server, slots=2, max_tries=3, keep_alive=False)
    assert outcomes(report) == {
        "/": 200,
        "/flaky": 200,
        "/reset": "reset",
        "/early": "closed",
        "/garbage": "protocol",
    }
    assert server.requests == {"/": 1, "/flaky": 3, "/reset": 3, "/early": 3, "/garbage": 1}
    assert report.retries == 6


def test_a_request_on_a_stale_connection_is_repeated_once(
    backend: Backend, server: ScriptedServer
) -> None:
    """The server closes between requests; that does not count as a failure."""
    closed = threading.Event()

    def answer_and_close(connection: Connection) -> None:
        connection.send(page("/next"))
        connection.sock.shutdown(socket.SHUT_WR)
        connection.close()
        closed.set()

    server.script["/"] = answer_and_close
    server.script["/next"] = page()
    report = crawl(backend, server, slots=1, max_tries=1)
    assert outcomes(report) == {"/": 200, "/next": 200}
    assert report.retries == 0


def test_an_idle_connection_that_is_reset_fails_no_page(
    backend: Backend, server: ScriptedServer
) -> None:
    """The next request finds a connection that the library may have closed already."""

    def answer_and_reset(connection: Connection) -> None:
        connection.send(page())
        connection.reset()

    def slow(connection: Connection) -> None:
        time.sleep(0.3)
        connection.send(page("/d", "/e"))

    server.script["/"] = page("/slow", "/b", "/c")
    server.script.update({"/slow": slow, "/b": answer_and_reset, "/c": answer_and_reset})
    server.script.update({"/d": page(), "/e": page()})
    report = crawl(backend, server, slots=3, max_tries=1)
    assert report.errors == {}
    assert (report.pages, report.retries) == (6, 0)


class Answered(NullRecorder):
    """Says when so many exchanges have been answered."""

    __slots__ = ("enough", "left")

    def __init__(self, count: int) -> None:
        self.left = count
        self.enough = threading.Event()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Count one. A backend never records two at the same time: its own lock is held."""
        self.left -= 1
        if not self.left:
            self.enough.set()


def test_bytes_that_no_request_asked_for_are_no_answer(
    backend: Backend, server: ScriptedServer
) -> None:
    """A server says 408 on an idle connection; the next page must not be that (RFC 9112, 9.2)."""
    together = threading.Barrier(2)  # not one after the other on one connection
    unasked = threading.Semaphore(0)
    answered = Answered(3)

    def more(connection: Connection) -> None:
        together.wait(100)
        connection.send(page())
        # A client on a busy machine may need long for the page; then it has one step to do.
        # Not all say so at once: processes collect what they record.
        answered.enough.wait(1)
        time.sleep(0.1)
        connection.send(ok(b"<a href=/no>"))
        unasked.release()

    def slow(connection: Connection) -> None:
        unasked.acquire()
        unasked.acquire()
        connection.send(page("/d", "/e", "/f"))

    server.script["/"] = page("/slow", "/b", "/c")
    server.script.update({"/slow": slow, "/b": more, "/c": more})
    server.script.update({"/d": page(), "/e": page(), "/f": page()})
    report = crawl(backend, server, answered, slots=3, max_tries=1)
    assert outcomes(report) == dict.fromkeys(("/", "/slow", "/b", "/c", "/d", "/e", "/f"), 200)


def test_an_answer_behind_an_answer_is_none(backend: Backend, server: ScriptedServer) -> None:
    """Both came at once, after one request; the next page must not be the second."""
    server.script["/"] = page("/next") + ok(b"<a href=/no>")
    server.script["/next"] = page()
    report = crawl(backend, server, slots=1, max_tries=1)
    assert outcomes(report) == {"/": 200, "/next": 200}


def test_no_page_fails_when_all_connections_are_stale(
    backend: Backend, server: ScriptedServer
) -> None:
    """Each page is requested again on a new connection, and that does not count as a try."""
    together = threading.Barrier(4)

    def answer_and_close(connection: Connection) -> None:
        together.wait(100)
        connection.send(page(*(f"/{n}" for n in range(8))))
        connection.sock.shutdown(socket.SHUT_WR)
        connection.close()

    server.script["/"] = page("/a", "/b", "/c", "/d")
    server.script.update({f"/{name}": answer_and_close for name in "abcd"})
    server.script.update({f"/{n}": page() for n in range(8)})
    report = crawl(backend, server, slots=4, max_tries=1)
    assert report.errors == {}
    assert (report.pages, report.retries) == (13, 0)


def test_no_page_fails_on_one_stale_connection_after_another(
    backend: Backend, server: ScriptedServer
) -> None:
    """The server closes each idle connection when the next request arrives on it, so no crawler
    can see in time that it is stale. A pool must not try one idle connection after the other.
    """
    together = threading.Barrier(3)

    def answer_once(connection: Connection) -> None:
        together.wait(100)
        connection.send(page())
        connection.sock.recv(65536)  # the next request, if there is one
        connection.close()

    def slow(connection: Connection) -> None:
        time.sleep(0.3)  # the other connections are idle by now
        connection.send(page("/last"))
        connection.sock.recv(65536)
        connection.close()

    server.script["/"] = page("/slow", "/a", "/b", "/c")
    server.script.update({"/slow": slow, "/a": answer_once, "/b": answer_once, "/c": answer_once})
    server.script["/last"] = page()
    report = crawl(backend, server, slots=4, max_tries=1)
    assert report.errors == {}
    assert (report.pages, report.retries) == (6, 0)
    assert server.requests["/last"] == 1


def test_a_silent_server_times_out(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    def drip(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        connection.hang()

    server.script["/"] = page("/silent", "/drip", "/quick")
    server.script["/silent"] = Connection.hang
    server.script["/drip"] = [drip, page()]
    server.script["/quick"] = page()
    for timeout_s in (0.4, 2.0, 8.0):  # a busy machine needs longer for what is not silent
        server.requests.clear()
        began = time.monotonic()
        report = crawl(backend, server, slots=3, timeout_s=timeout_s, max_tries=2)
        assert time.monotonic() - began >= 2 * timeout_s or not report.pages
        if report.pages == 3:
            break
    assert outcomes(report) == {"/": 200, "/silent": "timeout", "/drip": 200, "/quick": 200}
    assert server.requests["/silent"] == 2


def test_a_body_read_to_close_is_not_complete_at_a_timeout(
    backend: Backend, server: ScriptedServer
) -> None:
    def half(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
        connection.hang()

    server.script["/"] = half
    report = crawl(backend, server, slots=1, timeout_s=0.3, max_tries=1)
    assert outcomes(report) == {"/": "timeout"}


def test_a_refused_connection_is_an_error(backend: Backend, nothing_left: None) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        report = backend.crawl(Job((url,), slots=3, max_tries=2), NullRecorder())
    assert report.errors == {"refused": 1}
    assert report.retries == 1


def test_an_address_that_drops_packets_times_out(backend: Backend, nothing_left: None) -> None:
    """A listener with a full queue answers no SYN, like a host that is gone."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = []
        for _ in range(4):
            knock = socket.socket()
            knock.setblocking(False)
            knock.connect_ex(full.getsockname())
            waiting.append(knock)
        time.sleep(0.05)
        url = f"http://127.0.0.1:{full.getsockname()[1]}/"
        job = Job((url,), slots=2, max_tries=1, timeout_s=0.4)
        report = backend.crawl(job, NullRecorder())
        for knock in waiting:
            knock.close()
    assert report.errors == {"timeout": 1}


def test_an_endless_body_is_cut(backend: Backend, server: ScriptedServer) -> None:
    def endless(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.send(b"x" * 65536)

    server.script["/"] = endless
    report = crawl(backend, server, slots=1, max_body=1_000_000)
    assert outcomes(report) == {"/": "too_large"}


def test_the_server_dies_in_the_middle(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    def die(connection: Connection) -> None:
        threading.Thread(target=server.stop, name="scripted-server").start()
        connection.hang()

    server.script["/"] = page(*(f"/{n}" for n in range(40)))
    server.script.update({f"/{n}": page() for n in range(40)})
    server.script["/20"] = die
    report = crawl(backend, server, slots=4, max_tries=2, timeout_s=2.0)
    assert report.stopped is None
    assert len(report.rows) == 41
    assert set(report.errors) <= {"refused", "reset", "closed", "timeout"}
    assert report.errors
