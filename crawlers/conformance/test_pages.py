"""What every backend fetches: pages, redirects and lists, over how many connections, and when."""

from __future__ import annotations

import gzip
import threading
import time
from pathlib import Path

import pytest

from crawlers.conformance.crawling import crawl, outcomes
from crawlers.conformance.scripted import (
    Connection,
    ScriptedServer,
    html,
    ok,
    page,
    redirect,
)
from crawlers.recorder import TimesRecorder
from crawlers.registry import Backend

pytestmark = [pytest.mark.timeout(300)]

SLOTS = [1, 2, 100]


@pytest.mark.parametrize("slots", SLOTS)
def test_a_site_is_crawled_once(
    backend: Backend, server: ScriptedServer, slots: int, nothing_left: None
) -> None:
    server.script["/"] = page(*(f"/{n}" for n in range(30)))
    for n in range(30):
        server.script[f"/{n}"] = page("/", *(f"{m}" for m in range(n)), "/gone")
    report = crawl(backend, server, slots=slots)
    assert report.backend == backend.name
    assert report.stopped is None
    assert report.pages == 31
    assert report.statuses == {200: 31, 404: 1}
    assert set(server.requests.values()) == {1}
    assert server.connections <= slots
    assert report.concurrency == slots


def test_slots_are_used_at_once(backend: Backend, server: ScriptedServer) -> None:
    """Ten answers that wait for each other arrive only if all are requested at once."""
    barrier = threading.Barrier(10)

    def together(connection: Connection) -> None:
        barrier.wait(100)
        connection.send(ok())

    server.script["/"] = page(*(f"/{n}" for n in range(10)))
    server.script.update({f"/{n}": together for n in range(10)})
    report = crawl(backend, server, slots=10, timeout_s=100.0)
    assert report.pages == 11
    assert server.peak == 10


def test_more_slots_than_pages_is_fine(backend: Backend, server: ScriptedServer) -> None:
    server.script["/"] = page("/a")
    server.script["/a"] = page()
    report = crawl(backend, server, slots=50)
    assert report.pages == 2
    assert server.connections <= 2


def test_keep_alive_reuses_and_close_does_not(backend: Backend, server: ScriptedServer) -> None:
    """And no request comes before the answer to the one before."""
    hasty: list[Connection] = []

    def alone(connection: Connection) -> None:
        time.sleep(0.005)
        hasty.extend([connection] * connection.asked())
        connection.send(page())

    server.script["/"] = page(*(f"/{n}" for n in range(20)))
    server.script.update({f"/{n}": alone for n in range(20)})
    crawl(backend, server, slots=1)
    assert (server.connections, hasty) == (1, [])
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
        "/": 200,
        "/chunked": 200,
        "/to-close": 200,
        "/c": 200,
        "/d": 204,
        "/large": 200,
    }
    assert report.rows[server.url + "large"].size == 3_000_000


def test_neither_passwords_nor_cookies_are_sent(
    backend: Backend, server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cookie would also make the outcome depend on the order of the pages."""
    netrc = tmp_path / "netrc"
    netrc.write_text(
        "machine 127.0.0.1 login me password secret\ndefault login me password secret\n"
    )
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server.script["/"] = ok(html("/a"), extra="Set-Cookie: a=b; Path=/\r\n")
    server.script["/a"] = redirect("/b")
    server.script["/b"] = page()
    assert crawl(backend, server, slots=1).pages == 2
    sent = {line.partition(":")[0].lower() for head in server.heads for line in head.split("\r\n")}
    assert not sent & {"authorization", "proxy-authorization", "cookie"}


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
        "/": 200,
        "/foo": 302,
        "/bar": 301,
        "/baz": 200,
        "/away": 302,
        "/r0": 303,
        "/r1": 303,
        "/r2": 303,
        "/r3": "too_many_redirects",
    }
    assert set(server.requests.values()) == {1}


TARGETS = {
    b"javascript:alert(1)": None,
    b"mailto:me": None,
    b"http://host:port/": None,
    b"SCHEME:page": "page",
    b"/p\tage": "page",
    b"/\xe4": "%E4",
    b"/a\x80b": "a%80b",
}
"""Locations that libraries cannot read, and the pages they lead to."""


def test_the_answer_of_an_odd_redirect_is_kept(backend: Backend, server: ScriptedServer) -> None:
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
    scheme = server.url.partition(":")[0].encode()
    server.script["/"] = page(*(f"/{n}" for n in range(len(TARGETS))))
    for n, target in enumerate(TARGETS):
        server.script[f"/{n}"] = head + target.replace(b"SCHEME", scheme) + b"\r\n\r\n"
    server.script.update({f"/{name}": page() for name in TARGETS.values() if name})
    rows = crawl(backend, server, slots=2).rows
    for n, name in enumerate(TARGETS.values()):
        row = rows[f"{server.url}{n}"]
        assert (row.status, row.redirect) == (302, name and server.url + name)
        assert name is None or rows[server.url + name].status == 200


@pytest.mark.parametrize("cut", [0, 6])
def test_a_page_in_a_coding_is_an_error(backend: Backend, server: ScriptedServer, cut: int) -> None:
    """No backend asks for one, so the links of such a page are not read."""
    body = gzip.compress(html("/never"))
    server.script["/"] = page("/gzip", "/unknown", "/picture")
    server.script["/gzip"] = ok(body[: len(body) - cut], extra="Content-Encoding: gzip\r\n")
    server.script["/unknown"] = ok(html("/never"), extra="Content-Encoding: x\r\n")
    server.script["/picture"] = ok(body, "image/svg+xml", "Content-Encoding: gzip\r\n")
    report = crawl(backend, server, slots=2)
    assert outcomes(report) == {"/": 200, "/gzip": "coded", "/unknown": "coded", "/picture": 200}
    assert report.errors == {"coded": 2}
    assert report.rows[server.url + "picture"].size == len(body)
    assert all("accept-encoding: identity" in head.lower().split("\r\n") for head in server.heads)


def endless(server: ScriptedServer, pages: int) -> None:
    """Each page leads to three more, as in a calendar; the last ones lead nowhere."""
    server.script["/"] = page("/1", "/2", "/3")
    for n in range(1, pages):
        server.script[f"/{n}"] = page(*(f"/{3 * n + more}" for more in (1, 2, 3)), "/", f"/{n}")


def test_a_limit_of_pages(backend: Backend, server: ScriptedServer) -> None:
    endless(server, 400)
    report = crawl(backend, server, slots=4, max_pages=25)
    assert report.stopped == "max_pages"
    assert report.left > 0
    assert 12 <= len(report.rows) <= 25  # processes that share the limit may not need all of it
    assert report.errors == {}
    assert server.requests.total() == len(report.rows)


def test_a_limit_of_depth(backend: Backend, server: ScriptedServer) -> None:
    """A redirect is no step, and of two ways to a page the shorter one counts."""
    server.script["/"] = page("/moved", "/b")
    server.script["/moved"] = redirect("/a")
    server.script["/a"] = page("/1", "/b")
    server.script["/b"] = page("/1")
    server.script["/1"] = page("/2", "/a")
    server.script["/2"] = page("/3", "/4")
    report = crawl(backend, server, slots=4, max_depth=3)
    assert outcomes(report) == {"/": 200, "/moved": 302, "/a": 200, "/b": 200, "/1": 200, "/2": 200}
    assert (report.stopped, report.left) == ("max_depth", 2)
    report = crawl(backend, server, slots=4, max_depth=0)
    assert (report.stopped, report.left) == ("max_depth", 2)
    assert outcomes(report) == {"/": 200}
    assert crawl(backend, server, slots=4, max_depth=9).stopped is None


def test_times_are_recorded_for_answers_only(backend: Backend, server: ScriptedServer) -> None:
    def slow(connection: Connection) -> None:
        time.sleep(0.2)
        connection.send(page())

    server.script["/"] = page("/slow", "/reset", "/gone")
    server.script["/slow"] = slow
    server.script["/reset"] = Connection.reset
    recorder = TimesRecorder()
    crawl(backend, server, recorder, slots=2, max_tries=1)
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
    report = crawl(
        backend, server, recorder, urls=urls, slots=1, follow=False, schedule=(0.0, 0.1, 0.8)
    )
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
    with ScriptedServer(server.greeting, server.cafile) as other:
        for host in (server, other):
            host.script["/"] = page(*(f"/{n}" for n in range(10)), server.url, other.url)
            host.script.update({f"/{n}": page() for n in range(10)})
        report = crawl(backend, server, urls=(server.url, other.url), slots=2)
        assert report.pages == 22
        assert set(other.requests.values()) == {1}


@pytest.mark.timeout(300)  # some start processes for each
def test_many_small_crawls(backend: Backend, server: ScriptedServer, nothing_left: None) -> None:
    """Races hide at the end of a crawl: finish many crawls with more slots than work.

    Not as many where each crawl starts processes.
    """
    server.script["/"] = page("/a", "/b", "/c")
    server.script.update({path: page("/", "/a") for path in ("/a", "/b", "/c")})
    in_children = "spreads" in backend.tags and not backend.several_threads
    for _ in range(10 if in_children else 30):
        assert crawl(backend, server, slots=5).pages == 4
