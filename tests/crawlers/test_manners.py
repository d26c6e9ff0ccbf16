"""Beyond loopback: asked for, obeying robots.txt, and slowly; on it, untouched."""

from __future__ import annotations

import gzip
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

from crawlers import origins, registry
from crawlers.conformance.scripted import Connection, ScriptedServer, ok, page, redirect
from crawlers.frontier import Frontier
from crawlers.job import LONGEST_S, Address, Job, JobError, Origin, PageResult
from crawlers.manners import MAX_REDIRECTS, RobotsManners, on_this_machine
from crawlers.tls import client_context
from tests.crawlers import backends
from tests.crawlers.backends import HERE, IN_CHILDREN, STACKS, each, link, models, outcomes
from tests.crawlers.exchanges import page as found

if TYPE_CHECKING:
    from crawlers.conformance.authority import Authority

DELAY_S = 0.05
afar = partial(backends.crawl, any_host=True)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server that passes for one on another machine."""
    monkeypatch.setattr(origins, "on_this_machine", lambda addresses: False)
    with ScriptedServer() as found:
        yield found


def crawl(server: ScriptedServer, name: str = "callbacks") -> dict[str, int | str | None]:
    report = afar(name, server.url, slots=3, delay_s=DELAY_S, max_tries=1)
    asked = sum(row.status is not None for row in report.rows.values())
    assert report.elapsed_s >= DELAY_S * (asked - 1)
    return outcomes(report, server.url)


@models
def test_robots_txt_is_obeyed(server: ScriptedServer, name: str) -> None:
    """A byte order mark hides no rule."""
    server.script["/robots.txt"] = ok(
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /private\nAllow: /private/not\n", "text/plain"
    )
    link(server, "/a", "/private/b", "/private/not", "/moved")
    server.script["/moved"] = redirect("/private/c")
    assert crawl(server, name) == {
        "": 200,
        "a": 200,
        "private/not": 200,
        "moved": 302,
        "private/b": "forbidden",
        "private/c": "forbidden",
    }
    assert set(server.requests) == {"/robots.txt", "/", "/a", "/private/not", "/moved"}
    assert set(server.requests.values()) == {1}


CODINGS: dict[str, tuple[Callable[[bytes], bytes], dict[str, int | str]]] = {
    "gzip": (gzip.compress, {"a": 200, "b": "forbidden"}),
    "deflate": (zlib.compress, {"a": 200, "b": "forbidden"}),
    "br": (bytes, {"a": "forbidden", "b": "forbidden"}),
    "damaged": (lambda rules: gzip.compress(rules)[:-9], {"a": "forbidden", "b": "forbidden"}),
}


@each([*registry.MODELS, *IN_CHILDREN, *STACKS])
@pytest.mark.parametrize("coding", CODINGS)
def test_robots_txt_in_a_coding_is_obeyed(server: ScriptedServer, name: str, coding: str) -> None:
    """One that cannot be read may forbid anything; it was taken for one without rules.

    The other backends read an answer as the models do, with ``page.read_page``.
    """
    pack, found = CODINGS[coding]
    rules = pack(b"User-agent: *\nDisallow: /b\n")
    label = "gzip" if coding == "damaged" else coding
    server.script["/robots.txt"] = ok(rules, "text/plain", f"Content-Encoding: {label}\r\n")
    server.script["/a"] = server.script["/b"] = page()
    report = afar(name, f"{server.url}a", f"{server.url}b", slots=2, delay_s=0.0)
    assert outcomes(report, server.url) == found


@pytest.mark.parametrize(("status", "found"), [(204, 200), (206, "forbidden"), (299, "forbidden")])
def test_any_success_counts(server: ScriptedServer, status: int, found: int | str) -> None:
    """RFC 9309, 2.3.1.1; 204 has no rules."""
    rules = b"" if status == 204 else b"User-agent: *\nDisallow: /a\n"
    server.script["/robots.txt"] = ok(rules, "text/plain").replace(b"200", b"%d" % status, 1)
    link(server, "/a")
    assert crawl(server) == {"": 200, "a": found}


@models
def test_robots_txt_is_asked_for_over_https(
    name: str, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    """Without a file of authorities, those of the system's store are trusted there too."""
    monkeypatch.setenv("SSL_CERT_FILE", authority.cafile)
    monkeypatch.setattr(origins, "on_this_machine", lambda addresses: False)
    client_context.cache_clear()
    with ScriptedServer(authority.greeting) as server:
        server.script["/robots.txt"] = ok(b"User-agent: *\nDisallow: /private\n", "text/plain")
        link(server, "/private", "/a")
        assert crawl(server, name) == {"": 200, "a": 200, "private": "forbidden"}
        assert server.requests == {"/robots.txt": 1, "/": 1, "/a": 1}
    client_context.cache_clear()


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, 200),  # 404: whoever has none allows everything
        (redirect("/elsewhere"), 200),  # where there is none
        (redirect("/robots.txt"), "forbidden"),  # round and round
        (redirect("//elsewhere.test/robots.txt"), "forbidden"),
        (redirect("http:"), "forbidden"),
        (b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "forbidden"),
        (b"220 mail ESMTP\r\n\r\n", "forbidden"),
        (Connection.reset, "forbidden"),
        (ok(b"User-agent: c10k-crawlers\nDisallow: /\n", "text/plain"), "forbidden"),
    ],
)
def test_a_whole_site_may_be_forbidden(
    server: ScriptedServer, answer: bytes | None, outcome: int | str
) -> None:
    """By name, or because its rules cannot be had."""
    server.script["/"] = page()
    if answer is not None:
        server.script["/robots.txt"] = answer
    assert crawl(server) == {"": outcome}
    assert ("/" in server.requests) == (outcome == 200)


def test_robots_txt_has_the_time_of_an_exchange(server: ScriptedServer) -> None:
    """Even if bytes come all the time: it had ten seconds for each of them."""
    left = threading.Event()

    def drip(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            while True:
                connection.send(b"#")
                time.sleep(0.02)
        finally:
            left.set()

    server.script["/robots.txt"] = drip
    report = afar("callbacks", server.url, slots=1, timeout_s=0.5, max_tries=1)
    assert [row.error for row in report.rows.values()] == ["forbidden"]
    assert left.wait(300)


@each(HERE)
def test_a_slow_robots_txt_holds_up_its_own_server_only(server: ScriptedServer, name: str) -> None:
    """It was fetched on the loop: pages of other servers timed out meanwhile."""
    asked, answered = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        asked.set()
        answered.wait(100)
        connection.send(ok(b"User-agent: *\nDisallow: /private\n", "text/plain"))

    def behind(connection: Connection) -> None:
        asked.wait(100)
        connection.send(page("/last"))

    def last(connection: Connection) -> None:
        connection.send(page())
        answered.set()

    with ScriptedServer() as other:
        other.script = {"/robots.txt": slow, "/": page("/private")}
        server.script.update({"/": page("/behind"), "/behind": behind, "/last": last})
        report = afar(name, other.url, server.url, slots=2, delay_s=0.0, max_tries=1)
        assert outcomes(report) == {
            server.url: 200,
            f"{server.url}behind": 200,
            f"{server.url}last": 200,
            other.url: 200,
            f"{other.url}private": "forbidden",
        }
        assert other.requests == {"/robots.txt": 1, "/": 1}


@each(HERE)
def test_a_deadline_does_not_wait_for_robots_txt(server: ScriptedServer, name: str) -> None:
    """Pages that wait for it are left, not forbidden."""
    server.script["/robots.txt"] = Connection.hang
    # A stack that cannot end a call waits for its timeout.
    report = afar(name, server.url, slots=2, timeout_s=1.5, deadline_s=0.3)
    assert (report.stopped, report.rows, report.left) == ("deadline", {}, 1)


def test_redirects_lead_to_the_rules(server: ScriptedServer) -> None:
    server.script["/"] = page("/private/")
    server.script["/robots.txt"] = redirect("/first")
    server.script["/first"] = redirect(f"{server.url}second?x=1")
    server.script["/second?x=1"] = ok(b"User-agent: *\nDisallow: /private\n", "text/plain")
    assert crawl(server) == {"": 200, "private/": "forbidden"}
    assert server.requests == dict.fromkeys(["/robots.txt", "/first", "/second?x=1", "/"], 1)
    answer, manners = PageResult(302, 0, 0), RobotsManners(0.0)
    answer.redirect = "http://a/r"
    moved = [manners.moved(answer, "http://a") for _ in range(MAX_REDIRECTS + 1)]
    assert moved == ["http://a/r"] * MAX_REDIRECTS + [None]


def obeying(rules: str, delay_s: float) -> RobotsManners:
    """Manners that have read these rules."""
    answer = PageResult(200, len(rules), 0)
    answer.text = f"User-agent: *\n{rules}\n".encode()
    manners = RobotsManners(delay_s)
    assert manners.read(answer) is None
    return manners


@pytest.mark.parametrize("name", ["callbacks", "processes"])
def test_a_delay_opens_no_further_connection(server: ScriptedServer, name: str) -> None:
    """A process took every page that was due later for another try."""
    link(server, "/a", "/b", "/c")
    assert set(crawl(server, name).values()) == {200}
    one = server.connections
    assert afar(name, server.url, slots=1, delay_s=0.01).pages == 4
    assert server.connections == one + 1


def test_the_longer_delay_counts() -> None:
    manners = obeying("Crawl-delay: 7", 0.5)
    assert [manners.due(100.0), manners.due(100.0), manners.due(200.0)] == [100.0, 107.0, 200.0]


def test_a_host_met_on_the_way_does_not_end_the_crawl() -> None:
    """With ``lenient`` other hosts come into scope; these may be on other machines."""

    asked = []

    def resolve(prefix: str, job: Job) -> Origin:
        asked.append(prefix)
        if "www" in prefix:
            raise JobError("not on this machine")
        return Origin(prefix, [], b"")

    crawl = Frontier(Job(("http://site.test/",), lenient=True), resolve)
    first = crawl.take()
    assert first is not None
    crawl.settle(first, found("http://www.site.test/", "http://www.site.test/a"), 0.0)
    assert crawl.take() is None
    assert crawl.finished
    assert [row.error for row in crawl.rows.values()] == [None, "forbidden", "forbidden"]
    assert asked == ["http://site.test", "http://www.site.test"], "once for each server"


def test_what_is_on_this_machine() -> None:
    here = [Address(2, ("127.0.0.1", 80)), Address(2, ("127.9.9.9", 80)), Address(10, ("::1", 80))]
    assert on_this_machine(here)
    anywhere = [Address(2, ("0.0.0.0", 80)), Address(10, ("::", 80, 0, 0))]  # nosec B104
    assert on_this_machine([*anywhere, Address(10, ("::ffff:127.0.0.1", 80, 0, 0))])
    assert not on_this_machine([Address(10, ("::ffff:10.0.0.1", 80, 0, 0))])
    assert not on_this_machine([*here, Address(2, ("10.0.0.1", 80))])
    assert not on_this_machine([Address(10, ("fe80::1%lo", 80, 0, 2))])


@pytest.mark.parametrize("polite", [True, False])
def test_servers_here_or_of_ones_own_need_no_manners(
    polite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "protego", None)
    monkeypatch.setattr(origins, "on_this_machine", lambda addresses: polite)
    with ScriptedServer() as server:
        server.script["/"] = page()
        assert afar("callbacks", server.url, polite=polite).pages == 1
        assert set(server.requests) == {"/"}
        monkeypatch.setattr(origins, "on_this_machine", lambda addresses: False)
        with pytest.raises(JobError, match="pip install protego"):
            afar("callbacks", server.url)


@pytest.mark.parametrize("asked", ["1e300", "inf", "nan", "99999999"])
def test_a_delay_beyond_all_clocks_is_cut(asked: str) -> None:
    """Another server chooses it: it must not overflow a timer."""

    class Rules:
        def crawl_delay(self, agent: str) -> float:
            return float(asked)

    answer = PageResult(200, 0, 0)
    answer.text = b""
    manners = RobotsManners(1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protego.Protego.parse", lambda text: Rules())
        manners.read(answer)
    assert [manners.due(0.0), manners.due(0.0)] == [0.0, LONGEST_S]
