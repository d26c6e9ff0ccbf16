"""What every backend must do, however it waits."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import pytest

from crawlers.conformance.scripted import (
    Connection,
    ScriptedServer,
    html,
    ok,
    page,
    redirect,
)
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder, TimesRecorder
from crawlers.registry import Backend

pytestmark = [pytest.mark.timeout(60)]

SLOTS = [1, 2, 100]


def crawl(backend: Backend, server: ScriptedServer, **settings: object) -> CrawlReport:
    """Crawl from the root with short timeouts."""
    settings.setdefault("urls", (server.url,))
    settings.setdefault("timeout_s", 5.0)
    return backend.crawl(Job(**settings), NullRecorder())  # type: ignore[arg-type]


def outcomes(report: CrawlReport) -> dict[str, int | str | None]:
    """Path -> status or error kind."""
    return {"/" + url.split("/", 3)[3]: row.error or row.status for url, row in report.rows.items()}


@pytest.mark.parametrize("slots", SLOTS)
def test_a_site_is_crawled_once(
    backend: Backend, server: ScriptedServer, slots: int, nothing_left: None
) -> None:
    server.script["/"] = page(*(f"/{n}" for n in range(50)))
    for n in range(50):
        server.script[f"/{n}"] = page("/", *(f"{m}" for m in range(n)), "/gone")
    report = crawl(backend, server, slots=slots)
    assert report.backend == backend.name
    assert report.stopped is None
    assert report.pages == 51
    assert report.statuses == {200: 51, 404: 1}
    assert set(server.requests.values()) == {1}
    assert server.connections <= slots
    assert report.concurrency == slots


def test_slots_are_used_at_once(backend: Backend, server: ScriptedServer) -> None:
    """Ten answers that wait for each other arrive only if all are requested at once."""
    barrier = threading.Barrier(10)

    def together(connection: Connection) -> None:
        barrier.wait(20)
        connection.send(ok())

    server.script["/"] = page(*(f"/{n}" for n in range(10)))
    server.script.update({f"/{n}": together for n in range(10)})
    report = crawl(backend, server, slots=10, timeout_s=30.0)
    assert report.pages == 11
    assert server.peak == 10


def test_more_slots_than_pages_is_fine(backend: Backend, server: ScriptedServer) -> None:
    server.script["/"] = page("/a")
    server.script["/a"] = page()
    report = crawl(backend, server, slots=50)
    assert report.pages == 2
    assert server.connections <= 2


def test_keep_alive_reuses_and_close_does_not(backend: Backend, server: ScriptedServer) -> None:
    server.script["/"] = page(*(f"/{n}" for n in range(20)))
    server.script.update({f"/{n}": page() for n in range(20)})
    crawl(backend, server, slots=1)
    assert server.connections == 1
    crawl(backend, server, slots=1, keep_alive=False)
    assert server.connections == 1 + 21


def test_bodies_of_every_framing(backend: Backend, server: ScriptedServer) -> None:
    def to_close(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html("/c"))
        connection.close()

    server.script["/"] = page("/chunked", "/large")
    server.script["/chunked"] = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\n<a hr\r\n10\r\nef=/to-close>x</\r\n2\r\na>\r\n0\r\n\r\n"
    )
    server.script["/to-close"] = to_close
    server.script["/c"] = b"HTTP/1.1 100 Continue\r\n\r\n" + page("/d")
    server.script["/d"] = b"HTTP/1.1 204 No Content\r\n\r\n"
    server.script["/large"] = ok(b"x" * 3_000_000, "text/plain")
    report = crawl(backend, server, slots=2)
    assert outcomes(report) == {
        "/": 200, "/chunked": 200, "/to-close": 200, "/c": 200, "/d": 204, "/large": 200,
    }  # fmt: skip
    assert report.rows[server.url + "large"].size == 3_000_000


def test_redirects_merge_and_end(backend: Backend, server: ScriptedServer) -> None:
    server.script["/"] = page("/foo", "/bar", "/loop", "/r0", "/away", "/nowhere", "/bad")
    server.script["/foo"] = redirect("/baz")
    server.script["/bar"] = redirect("baz", 301)
    server.script["/baz"] = page()
    server.script["/loop"] = redirect("/pool", 307)
    server.script["/pool"] = redirect("/loop", 308)
    server.script.update({f"/r{n}": redirect(f"/r{n + 1}", 303) for n in range(10)})
    server.script["/away"] = redirect("http://127.0.0.2:9/")
    server.script["/nowhere"] = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"
    server.script["/bad"] = redirect("http://[broken/")
    report = crawl(backend, server, slots=3, max_redirects=3)
    found = outcomes(report)
    assert found.pop("/loop") == found.pop("/pool") == "redirect_loop"
    assert found.pop("/nowhere") == found.pop("/bad") == "bad_redirect"
    assert found == {
        "/": 200, "/foo": 302, "/bar": 301, "/baz": 200, "/away": 302,
        "/r0": 303, "/r1": 303, "/r2": 303, "/r3": "too_many_redirects",
    }  # fmt: skip
    assert set(server.requests.values()) == {1}


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
        "/": 200, "/flaky": 200, "/reset": "reset", "/early": "closed", "/garbage": "protocol",
    }  # fmt: skip
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


def test_bytes_that_no_request_asked_for_are_no_answer(
    backend: Backend, server: ScriptedServer
) -> None:
    """A server says 408 on an idle connection; the next page must not be that (RFC 9112, 9.2)."""

    def more(connection: Connection) -> None:
        connection.send(page())
        time.sleep(0.1)
        connection.send(ok(b"<a href=/no>"))

    def slow(connection: Connection) -> None:
        time.sleep(0.4)
        connection.send(page("/d", "/e", "/f"))

    server.script["/"] = page("/slow", "/b", "/c")
    server.script.update({"/slow": slow, "/b": more, "/c": more})
    server.script.update({"/d": page(), "/e": page(), "/f": page()})
    report = crawl(backend, server, slots=3, max_tries=1)
    assert outcomes(report) == dict.fromkeys(("/", "/slow", "/b", "/c", "/d", "/e", "/f"), 200)


def test_no_page_fails_when_all_connections_are_stale(
    backend: Backend, server: ScriptedServer
) -> None:
    """Each page is requested again on a new connection, and that does not count as a try."""
    together = threading.Barrier(4)

    def answer_and_close(connection: Connection) -> None:
        together.wait(20)
        connection.send(page(*(f"/{n}" for n in range(8))))
        connection.sock.shutdown(socket.SHUT_WR)
        connection.close()

    server.script["/"] = page("/a", "/b", "/c", "/d")
    server.script.update({f"/{name}": answer_and_close for name in "abcd"})
    server.script.update({f"/{n}": page() for n in range(8)})
    report = crawl(backend, server, slots=4, max_tries=1)
    assert report.errors == {}
    assert (report.pages, report.retries) == (13, 0)


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
    began = time.monotonic()
    report = crawl(backend, server, slots=3, timeout_s=0.4, max_tries=2)
    assert outcomes(report) == {"/": 200, "/silent": "timeout", "/drip": 200, "/quick": 200}
    assert time.monotonic() - began >= 0.8
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


def test_a_deadline_ends_the_crawl_with_what_there_is(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    server.script["/"] = page("/hang", "/never", "/never2")
    server.script["/hang"] = Connection.hang
    report = crawl(backend, server, slots=1, deadline_s=0.5, timeout_s=20.0)
    assert report.stopped == "deadline"
    assert outcomes(report) == {"/": 200, "/hang": "cancelled"}
    assert report.left == 2


def test_an_interrupt_ends_the_crawl_with_what_there_is(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    before = signal.getsignal(signal.SIGINT)

    def interrupt(connection: Connection) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        connection.hang()

    server.script["/"] = page("/0", "/1", "/2", "/3")
    server.script["/0"] = page()
    server.script["/1"] = interrupt
    server.script["/2"] = server.script["/3"] = Connection.hang
    report = crawl(backend, server, slots=3, timeout_s=20.0)
    assert report.stopped == "interrupted"
    assert report.pages >= 1
    assert report.errors["cancelled"] >= 1
    assert signal.getsignal(signal.SIGINT) is before


def test_a_retry_that_waits_is_dropped_at_the_deadline(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    server.script["/"] = Connection.reset
    began = time.monotonic()
    report = crawl(backend, server, slots=2, deadline_s=0.5, max_tries=30)
    assert report.stopped == "deadline"
    assert time.monotonic() - began < 5


def test_an_error_of_the_recorder_reaches_the_caller(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    class Broken(NullRecorder):
        def record(self, slot: int, due: float, started: float, ended: float) -> None:
            raise ZeroDivisionError("recorder")

    server.script["/"] = page("/a", "/b")
    with pytest.raises(ZeroDivisionError, match="recorder"):
        backend.crawl(Job((server.url,), slots=4), Broken())


def test_times_are_recorded_for_answers_only(backend: Backend, server: ScriptedServer) -> None:
    def slow(connection: Connection) -> None:
        time.sleep(0.2)
        connection.send(page())

    server.script["/"] = page("/slow", "/reset", "/gone")
    server.script["/slow"] = slow
    server.script["/reset"] = Connection.reset
    recorder = TimesRecorder()
    backend.crawl(Job((server.url,), slots=2, max_tries=1), recorder)
    assert len(recorder.service) == 3
    assert max(recorder.service) >= 0.2
    assert len(recorder.response) == 0


def test_an_open_loop_starts_when_it_is_due(backend: Backend, server: ScriptedServer) -> None:
    """One slot and a first answer that takes 0.4 s: the second request is late, and
    its response time counts from when it should have started."""

    def slow(connection: Connection) -> None:
        time.sleep(0.4)
        connection.send(ok())

    server.script.update({"/0": slow, "/1": ok(), "/2": ok()})
    urls = tuple(f"{server.url}{n}" for n in range(3))
    recorder = TimesRecorder()
    job = Job(urls, slots=1, follow=False, schedule=(0.0, 0.1, 0.8))
    report = backend.crawl(job, recorder)
    assert report.pages == 3
    assert report.elapsed_s >= 0.8
    assert recorder.late >= 1
    assert recorder.response[1] >= 0.3
    assert recorder.response[1] > recorder.service[1]
    assert recorder.response[1] - recorder.service[1] >= 0.25


def test_without_following_only_the_list_is_fetched(
    backend: Backend, server: ScriptedServer
) -> None:
    server.script["/a"] = page("/b")
    server.script["/c"] = redirect("/d")
    urls = (server.url + "a", server.url + "c")
    report = crawl(backend, server, urls=urls, follow=False, slots=2)
    assert outcomes(report) == {"/a": 200, "/c": 302}


def test_several_hosts_share_the_slots(backend: Backend, server: ScriptedServer) -> None:
    with ScriptedServer() as other:
        for host in (server, other):
            host.script["/"] = page(*(f"/{n}" for n in range(10)), server.url, other.url)
            host.script.update({f"/{n}": page() for n in range(10)})
        report = crawl(backend, server, urls=(server.url, other.url), slots=2)
        assert report.pages == 22
        assert set(other.requests.values()) == {1}


@pytest.mark.timeout(120)  # some start processes for each
def test_many_small_crawls(backend: Backend, server: ScriptedServer, nothing_left: None) -> None:
    """Races hide at the end of a crawl: finish many crawls with more slots than work."""
    server.script["/"] = page("/a", "/b", "/c")
    server.script.update({path: page("/", "/a") for path in ("/a", "/b", "/c")})
    for _ in range(30):
        assert crawl(backend, server, slots=5).pages == 4
