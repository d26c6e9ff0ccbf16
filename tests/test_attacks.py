"""The attacks of :mod:`tests.torture.attacks`: the quick ones always, the others if slow."""

from __future__ import annotations

import pytest

from crawlers import registry
from crawlers.conformance.scripted import ScriptedServer, ok
from crawlers.registry import MODELS
from tests.torture.attacks import answers, commands, pages

QUICK_SERVERS = tuple(case for case in answers.CASES if case.wanted != "timeout")
QUICK_COMMANDS = [
    case
    for case in commands.CASES
    if not case.alone
    and case.arguments[:1]
    in ((), ("",), ("check",), ("cite",), ("export",), ("list",), ("threads",))
]


@pytest.mark.parametrize("name", MODELS)
def test_no_hostile_server_ends_a_crawl(name: str) -> None:
    with answers.hostile(QUICK_SERVERS) as server:
        rows = answers.crawl(registry.load(name), server.url, counted=False)
        assert answers.wrong(name, rows, server, QUICK_SERVERS) == {}


@pytest.mark.parametrize("name", MODELS)
def test_no_address_ends_a_crawl(name: str) -> None:
    rows = answers.crawl(registry.load(name), *answers.ADDRESSES, counted=False, any_host=True)
    assert {url: rows[url][1] for url in answers.ADDRESSES} == answers.ADDRESSES


def test_hostile_pages_have_the_links_that_a_browser_sees() -> None:
    assert pages.wrong() == {}


def test_a_hostile_command_line_is_one_line() -> None:
    assert commands.wrong(QUICK_COMMANDS) == {}


ALONE = (
    "a site with a newline",
    "a fault that is none",
    "certificates that are none: crawlers",
    "an event loop that is none: crawlers",
)


def test_a_hostile_surrounding_is_one_line_at_most() -> None:
    """Those that found something; each needs a process."""
    assert commands.wrong([case for case in commands.CASES if case.name in ALONE], 2) == {}


@pytest.fixture(scope="module")
def made_of_pages() -> dict[str, dict[str, list[object]]]:
    """What each backend that was tried made of the hostile pages."""
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*answers.SHARED, *answers.STACKS])
def test_a_backend_stands_all_servers_and_pages(
    name: str, made_of_pages: dict[str, dict[str, list[object]]]
) -> None:
    backend = registry.load(name)
    with ScriptedServer() as server:
        server.script["/"] = ok(b"x")
        answers.crawl(backend, server.url, counted=False)  # opens what it keeps for ever
    with answers.hostile() as server:
        assert answers.wrong(name, answers.crawl(backend, server.url), server) == {}
    rows = answers.crawl(backend, *answers.ADDRESSES, any_host=True)
    assert {url: rows[url][1] for url in answers.ADDRESSES} == answers.ADDRESSES
    with ScriptedServer() as server:
        pages.load(server)
        seen = pages.seen(server, answers.crawl(backend, server.url))
    reference = made_of_pages.setdefault("first", seen)
    assert {url: row for url, row in seen.items() if reference.get(url) != row} == {}
    assert seen.keys() == reference.keys()


@pytest.mark.slow
def test_all_command_lines() -> None:
    assert commands.wrong(commands.CASES, 2) == {}
