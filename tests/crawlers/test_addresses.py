"""Names and their addresses: each is asked for once, and one address that works is enough."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from crawlers import origins
from crawlers.conformance.scripted import ScriptedServer
from crawlers.frontier import Frontier
from crawlers.job import Address, Fetch, Job, Origin
from tests.crawlers.backends import HERE, IN_CHILDREN, STACKS, crawl, each, link, models
from tests.crawlers.exchanges import failed
from tests.crawlers.exchanges import page as found

IN_ONE_PROCESS = [name for name in HERE if name not in IN_CHILDREN]
PAGES = 21


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server with a page that leads to twenty more."""
    with ScriptedServer() as found:
        link(found, *(f"/{n}" for n in range(1, PAGES)))
        yield found


class Names:
    """Resolves one name for the frontier, to these addresses; nobody else finds it."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(socket, name)

    def getaddrinfo(self, host: str, port: int, type: int) -> list[tuple[Any, ...]]:
        """The addresses."""
        self.asked += 1
        family = socket.AF_INET
        return [(family, type, 0, "", (address, port)) for address in self.addresses]


def named(server: ScriptedServer) -> str:
    return server.url.replace("127.0.0.1", "site.test")


@each(IN_ONE_PROCESS)
@pytest.mark.parametrize("tries", [1, 4])
@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.9", "127.0.0.8", "127.0.0.1"]])
def test_a_server_is_where_the_frontier_has_found_it(
    name: str,
    addresses: list[str],
    tries: int,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stacks asked again, and might have been sent to another machine.

    Where nothing listens at the first address, each page cost a retry and a connection.
    """
    monkeypatch.setattr(origins, "socket", names := Names(*addresses))
    report = crawl(name, named(server), slots=2, max_tries=tries)
    assert (report.pages, report.errors, report.retries) == (PAGES, {}, 0)
    assert server.connections <= 2
    assert names.asked == 1


@models
def test_a_try_fails_when_all_addresses_have_failed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origins, "socket", Names("127.0.0.9", "127.0.0.8"))
    report = crawl(name, "http://site.test:9/", slots=2, max_tries=2)
    assert (report.errors, report.retries) == ({"refused": 1}, 1)


@each([*STACKS, "threads"])
def test_no_proxy_of_the_environment_is_used(
    name: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer() as proxy:
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        assert crawl(name, server.url, slots=2).pages == PAGES
        assert proxy.connections == 0


FIRST, SECOND, THIRD = (Address(2, (f"127.0.0.{n}", 80)) for n in (1, 2, 3))


def started(*addresses: Address, tries: int = 1) -> tuple[Frontier, Origin]:
    origin = Origin("http://site.test", list(addresses), b"", host="site.test")
    job = Job(("http://site.test/",), max_tries=tries)
    return Frontier(job, lambda prefix, job: origin), origin


def settle(frontier: Frontier, item: Fetch, error: str, *, connects: bool = True) -> None:
    """Let a fetch fail, on a new connection or on one that was open."""
    if connects:
        assert item.address == item.origin.addresses[0]
    frontier.settle(item, failed(error), 0.0)


def test_only_the_servers_of_a_crawl_have_addresses() -> None:
    frontier, origin = started(FIRST)
    assert frontier.addresses_of("site.test.", 80) is origin.addresses
    for host, port in (("other.test", 80), ("site.test", 81)):
        with pytest.raises(OSError, match="not resolved for this crawl"):
            frontier.addresses_of(host, port)


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [
        (["refused", "refused", "unreachable"], "refused"),
        (["unreachable", "limit", "refused"], "unreachable"),
        (["refused", "timeout"], "timeout"),
        (["refused", "protocol"], "protocol"),
        (["limit"], "limit"),
        (["reset"], "reset"),
    ],
)
def test_the_first_failure_of_a_round_is_told(errors: list[str], outcome: str) -> None:
    """Unless an address answered: then what it answered."""
    frontier, _ = started(FIRST, SECOND, THIRD)
    for error in errors:
        item = frontier.take()
        assert item is not None
        settle(frontier, item, error)
    assert frontier.take() is None
    assert [row.error for row in frontier.rows.values()] == [outcome]
    assert frontier.retries == 0


def test_many_that_meet_the_same_move_on_once() -> None:
    """And a failure on a connection that was open says nothing about the address."""
    frontier, origin = started(FIRST, SECOND)
    root = frontier.take()
    assert root is not None
    frontier.settle(root, found(*map(str, range(4))), 0.0)
    items = [item for _ in range(4) if (item := frontier.take()) is not None]
    places = {item.address for item in items[:3]}
    for item in items[:3]:
        frontier.settle(item, failed("refused"), 0.0)
    assert (places, origin.addresses) == ({FIRST}, [SECOND, FIRST])
    settle(frontier, items[3], "reset", connects=False)
    assert origin.addresses == [SECOND, FIRST]
    again = frontier.take()
    assert again is not None
    assert (again.address, again.origin) == (SECOND, origin)
