"""Beyond loopback: asked for, obeying robots.txt, and slowly; on it, untouched."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from crawlers import origins, registry
from crawlers.conformance.scripted import Connection, ScriptedServer, ok, page, redirect
from crawlers.frontier import Frontier
from crawlers.job import LONGEST_S, Address, Job, JobError, Origin, PageResult
from crawlers.manners import RobotsManners, on_this_machine
from crawlers.origins import make_origin
from crawlers.recorder import NullRecorder
from tests.crawlers.test_main import run

DELAY_S = 0.05


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server that passes for one on another machine."""
    monkeypatch.setattr(origins, "on_this_machine", lambda addresses: False)
    with ScriptedServer() as found:
        yield found


def crawl(server: ScriptedServer, name: str = "callbacks") -> dict[str, int | str | None]:
    job = Job((server.url,), slots=3, any_host=True, delay_s=DELAY_S, max_tries=1)
    report = registry.load(name).crawl(job, NullRecorder())
    asked = sum(row.status is not None for row in report.rows.values())
    assert report.elapsed_s >= DELAY_S * (asked - 1)
    return {
        url.removeprefix(server.url): row.error or row.status for url, row in report.rows.items()
    }


@pytest.mark.parametrize("name", registry.MODELS)
def test_robots_txt_is_obeyed(server: ScriptedServer, name: str) -> None:
    server.script["/robots.txt"] = ok(
        b"User-agent: *\nDisallow: /private\nAllow: /private/not\n", "text/plain"
    )
    server.script["/"] = page("/a", "/private/b", "/private/not", "/moved")
    server.script["/moved"] = redirect("/private/c")
    server.script.update({path: page() for path in ("/a", "/private/not")})
    assert crawl(server, name) == {
        "": 200, "a": 200, "private/not": 200, "moved": 302,
        "private/b": "forbidden", "private/c": "forbidden",
    }  # fmt: skip
    assert set(server.requests) == {"/robots.txt", "/", "/a", "/private/not", "/moved"}
    assert set(server.requests.values()) == {1}


def test_a_byte_order_mark_hides_no_rule(server: ScriptedServer) -> None:
    server.script["/robots.txt"] = ok(
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /private\n", "text/plain"
    )
    server.script["/"] = page("/private")
    assert crawl(server) == {"": 200, "private": "forbidden"}


@pytest.mark.parametrize("name", registry.MODELS)
def test_a_whole_site_may_be_forbidden(server: ScriptedServer, name: str) -> None:
    server.script["/robots.txt"] = ok(b"User-agent: c10k-crawlers\nDisallow: /\n", "text/plain")
    assert crawl(server, name) == {"": "forbidden"}
    assert set(server.requests) == {"/robots.txt"}


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
    ],
)
def test_without_robots_txt(
    server: ScriptedServer, answer: bytes | None, outcome: int | str
) -> None:
    server.script["/"] = page()
    if answer is not None:
        server.script["/robots.txt"] = answer
    assert crawl(server) == {"": outcome}


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
    job = Job((server.url,), slots=1, any_host=True, timeout_s=0.5, max_tries=1)
    report = registry.load("callbacks").crawl(job, NullRecorder())
    assert [row.error for row in report.rows.values()] == ["forbidden"]
    assert left.wait(300)


def test_redirects_lead_to_the_rules(server: ScriptedServer) -> None:
    server.script["/"] = page("/private/")
    server.script["/robots.txt"] = redirect("/first")
    server.script["/first"] = redirect(f"{server.url}second?x=1")
    server.script["/second?x=1"] = ok(b"User-agent: *\nDisallow: /private\n", "text/plain")
    assert crawl(server) == {"": 200, "private/": "forbidden"}
    assert server.requests == dict.fromkeys(["/robots.txt", "/first", "/second?x=1", "/"], 1)


def test_a_crawl_on_this_machine_needs_no_openssl() -> None:
    code = "import sys, crawlers.frontier, crawlers.callbacks; print('ssl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_the_longer_delay_counts(server: ScriptedServer) -> None:
    server.script["/robots.txt"] = ok(b"User-agent: *\nCrawl-delay: 7\n", "text/plain")
    job = Job((server.url,), any_host=True, delay_s=0.5)
    manners = make_origin(server.url.rstrip("/"), job).manners
    assert manners is not None
    assert [manners.due(100.0), manners.due(100.0), manners.due(200.0)] == [100.0, 107.0, 200.0]


def test_servers_of_ones_own_need_no_manners(server: ScriptedServer) -> None:
    server.script["/"] = page()
    job = Job((server.url,), any_host=True, polite=False)
    assert registry.load("callbacks").crawl(job, NullRecorder()).pages == 1
    assert set(server.requests) == {"/"}


def test_other_machines_must_be_asked_for(server: ScriptedServer) -> None:
    with pytest.raises(JobError, match="--any-host"):
        Frontier(Job((server.url,)))
    assert not server.requests


def test_the_command_line_refuses_in_one_line() -> None:
    done = run("threads", "http://192.0.2.1/")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "not on this machine; add --any-host" in done.stderr


def test_a_host_met_on_the_way_does_not_end_the_crawl() -> None:
    """With ``lenient`` other hosts come into scope; these may be on other machines."""

    def resolve(prefix: str, job: Job) -> Origin:
        if "www" in prefix:
            raise JobError("not on this machine")
        return Origin(prefix, [], b"")

    crawl = Frontier(Job(("http://site.test/",), lenient=True), resolve)
    found = PageResult(200, 1, 1)
    found.links = ["http://www.site.test/"]
    first = crawl.take()
    assert first is not None
    crawl.settle(first, found, 0.0)
    assert crawl.take() is None
    assert crawl.finished
    assert crawl.rows["http://www.site.test/"].error == "forbidden"


def test_what_is_on_this_machine() -> None:
    here = [Address(2, ("127.0.0.1", 80)), Address(2, ("127.9.9.9", 80)), Address(10, ("::1", 80))]
    assert on_this_machine(here)
    anywhere = [Address(2, ("0.0.0.0", 80)), Address(10, ("::", 80, 0, 0))]  # nosec B104
    assert on_this_machine([*anywhere, Address(10, ("::ffff:127.0.0.1", 80, 0, 0))])
    assert not on_this_machine([Address(10, ("::ffff:10.0.0.1", 80, 0, 0))])
    assert not on_this_machine([*here, Address(2, ("10.0.0.1", 80))])
    assert not on_this_machine([Address(10, ("fe80::1%lo", 80, 0, 2))])


def test_on_this_machine_nobody_asks_for_robots_txt() -> None:
    with ScriptedServer() as server:
        server.script["/"] = page()
        job = Job((server.url,), any_host=True)
        assert registry.load("callbacks").crawl(job, NullRecorder()).pages == 1
        assert set(server.requests) == {"/"}


@pytest.mark.parametrize("asked", ["1e300", "inf", "nan", "99999999"])
def test_a_delay_beyond_all_clocks_is_cut(asked: str) -> None:
    """Another server chooses it: it must not overflow a timer."""

    class Rules:
        def crawl_delay(self, agent: str) -> float:
            return float(asked)

    manners = RobotsManners(Rules(), 1.0)  # type: ignore[arg-type]
    assert [manners.due(0.0), manners.due(0.0)] == [0.0, LONGEST_S]
