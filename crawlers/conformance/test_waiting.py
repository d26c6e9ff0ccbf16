"""What comes on an idle connection while its slot waits: nobody asked for it, in every backend.

A slot waits for the due time of a retry, of the schedule or after a delay, and for
something to fetch.
"""

from __future__ import annotations

import os
import threading
import time
from zlib import crc32

import pytest

from crawlers import origins
from crawlers.conformance.crawling import crawl, outcomes
from crawlers.conformance.scripted import Action, Connection, ScriptedServer, ok, page
from crawlers.job import CrawlReport
from crawlers.registry import Backend

pytestmark = [pytest.mark.timeout(300)]

SPEAK_S = 0.05
"""How long a server waits with its surprise: the client has its page by then."""

UNASKED = b"<a href=/no>"
TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"


def closes(connection: Connection) -> None:
    """End the connection."""
    connection.close()


def gives_up(connection: Connection) -> None:
    """Say 408 and close, as Apache, nginx and HAProxy do."""
    connection.send(TIMEOUT)
    connection.close()


def goes_on(connection: Connection) -> None:
    """Send another page."""
    connection.send(ok(UNASKED))


SURPRISES = (closes, gives_up, goes_on)


def then(surprise: Action) -> Action:
    """Answer, and a little later do that on the idle connection."""

    def action(connection: Connection) -> None:
        connection.send(page())
        time.sleep(SPEAK_S)
        if not connection.asked():  # on a busy machine: then the connection was never idle
            surprise(connection)

    return action


def numbered(server: ScriptedServer, count: int, *surprises: Action) -> tuple[str, ...]:
    """So many URLs; the surprises follow in turn."""
    for number in range(count):
        server.script[f"/{number}"] = then(surprises[number % len(surprises)])
    return tuple(f"{server.url}{number}" for number in range(count))


def all_is_well(report: CrawlReport, server: ScriptedServer) -> bool:
    """Whether every page was asked for and is what was answered, without another try."""
    asked = set(server.requests) >= set(outcomes(report))
    good = set(outcomes(report).values()) == {200} and report.retries == 0
    return asked and good and crc32(UNASKED) not in {row.checksum for row in report.rows.values()}


@pytest.mark.parametrize("surprise", SURPRISES)
def test_while_a_slot_waits_for_the_schedule(
    backend: Backend, server: ScriptedServer, surprise: Action
) -> None:
    urls = numbered(server, 3, surprise)
    for gap in (0.3, 1.5):  # a busy machine needs longer
        server.requests.clear()
        schedule = (0.0, gap, 2 * gap)
        report = crawl(backend, server, urls=urls, slots=1, follow=False, schedule=schedule)
        if well := all_is_well(report, server):
            break
    assert well, (outcomes(report), report.retries, server.requests)
    assert report.pages == 3


@pytest.mark.parametrize("surprise", SURPRISES)
def test_while_a_slot_keeps_a_delay(
    backend: Backend, server: ScriptedServer, surprise: Action, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("protego", reason="manners need a parser of robots.txt")
    monkeypatch.setattr(origins, "on_this_machine", lambda addresses: False)
    urls = numbered(server, 3, surprise)
    for delay_s in (0.3, 1.5):  # a busy machine needs longer
        server.requests.clear()
        report = crawl(
            backend, server, urls=urls, slots=1, follow=False, any_host=True, delay_s=delay_s
        )
        if report.elapsed_s < 2 * delay_s:
            pytest.skip("it keeps the delay in other processes, which this test does not reach")
        if well := all_is_well(report, server):
            break
    assert well, (outcomes(report), report.retries, server.requests)
    assert report.pages == 3


@pytest.mark.parametrize("surprise", SURPRISES)
def test_while_a_slot_waits_for_another_try(
    backend: Backend, server: ScriptedServer, surprise: Action
) -> None:
    """``/bad`` fails on a connection that is only stale, and then twice. When it is due again,
    the connection of ``/b`` has been idle.
    """

    def slow(connection: Connection) -> None:
        time.sleep(0.15)  # until the first wait is over: the second is longer
        connection.send(page())

    server.script["/"] = page("/bad", "/a", "/b")
    server.script["/bad"] = [*[Connection.reset] * 3, page()]
    server.script.update({"/a": slow, "/b": then(surprise)})
    report = crawl(backend, server, slots=1, max_tries=3)
    assert outcomes(report) == dict.fromkeys(("/", "/bad", "/a", "/b"), 200)
    assert server.requests["/bad"] == 4
    assert report.retries <= 2  # fewer if a library repeats requests by itself


@pytest.mark.parametrize("surprise", SURPRISES)
def test_while_a_slot_waits_for_something_to_fetch(
    backend: Backend, server: ScriptedServer, surprise: Action
) -> None:
    done = threading.Event()

    def surprising(connection: Connection) -> None:
        then(surprise)(connection)
        done.set()

    def slow(connection: Connection) -> None:
        done.wait(100)
        time.sleep(2 * SPEAK_S)  # a connection is closed after its script
        connection.send(page("/c", "/d"))

    server.script["/"] = page("/slow", "/a")
    server.script.update({"/slow": slow, "/a": surprising, "/c": page(), "/d": page()})
    report = crawl(backend, server, slots=2, max_tries=1)
    assert outcomes(report) == dict.fromkeys(("/", "/slow", "/a", "/c", "/d"), 200)
    assert all_is_well(report, server), (report.retries, server.requests)


def used() -> float:
    """Processor time of this process and of its children that have ended, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.mark.parametrize("waits_for", ["its time", "work"])
def test_a_slot_that_waits_takes_no_processor_time(
    backend: Backend, server: ScriptedServer, waits_for: str
) -> None:
    """Whatever came on its connection, and whoever ended it."""
    spent = []
    for wait_s in (0.1, 1.6):  # the same crawl, so that what a start takes does not count

        def slow(connection: Connection, wait_s: float = wait_s) -> None:
            time.sleep(wait_s)
            connection.send(page())

        before = used()
        if waits_for == "work":
            server.script["/slow"] = slow
            urls = (f"{server.url}slow", *numbered(server, 3, *SURPRISES))
            crawl(backend, server, urls=urls, slots=4, follow=False)
        else:
            schedule = (0.0,) * 3 + (wait_s,) * 3
            urls = numbered(server, 6, *SURPRISES)
            crawl(backend, server, urls=urls, slots=3, follow=False, schedule=schedule)
        spent.append(used() - before)
    assert spent[1] - spent[0] < 0.1 * 1.5  # a busy machine gives little to one that spins
