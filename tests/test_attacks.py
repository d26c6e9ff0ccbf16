"""The attacks of :mod:`tests.torture.attacks`: the quick ones always, the others if slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawlers import registry
from crawlers.registry import MODELS
from tests.torture.attacks import __main__ as attacks
from tests.torture.attacks import answers, archives, commands, pages, records, servers, worker

QUICK_SERVERS = tuple(case for case in answers.CASES if case.wanted != "timeout")
QUICK_COMMANDS = tuple(
    case
    for case in commands.CASES
    if not case.alone
    and case.arguments[:1]
    in ((), ("",), ("check",), ("cite",), ("export",), ("list",), ("threads",))
)


@pytest.mark.parametrize("name", MODELS)
def test_no_hostile_server_ends_a_crawl(name: str) -> None:
    with servers.hostile(QUICK_SERVERS) as server:
        crawled = worker.crawl(registry.load(name), servers.job(server), counted=False)
        assert servers.wrong(name, crawled, server, QUICK_SERVERS) == {}


@pytest.mark.parametrize("name", MODELS)
def test_no_address_ends_a_crawl(name: str) -> None:
    job = {"urls": list(servers.ADDRESSES), "any_host": True, "max_tries": 1}
    assert servers.astray(name, worker.crawl(registry.load(name), job, counted=False)) == {}


def test_hostile_pages_have_the_links_that_a_browser_sees() -> None:
    assert attacks.try_each(pages.checks()) == {}


def test_a_hostile_command_line_is_one_line() -> None:
    with commands.scene() as (at, url):
        found = {case.name: commands.fault(case, at, url) for case in QUICK_COMMANDS}
    assert {name: text for name, text in found.items() if text} == {}


ALONE = {
    "a site with a newline",
    "a fault that is none",
    "certificates that are none: crawlers",
    "an event loop that is none: crawlers",
}


def test_a_hostile_surrounding_is_one_line_at_most() -> None:
    chosen = [case for case in commands.CASES if case.name in ALONE]
    with commands.scene() as (at, url):
        found = {f"{case.name} {case.arguments}": commands.fault(case, at, url) for case in chosen}
    assert len(found) == 9
    assert {name: text for name, text in found.items() if text} == {}


def test_hostile_records_are_an_error(tmp_path: Path) -> None:
    checks = records.checks(tmp_path, ("check",)) | archives.checks(tmp_path)
    assert attacks.try_each(checks) == {}


@pytest.mark.slow
def test_all_backends_stand_all_servers() -> None:
    assert attacks.try_backends() == ({}, {})


@pytest.mark.slow
def test_all_command_lines() -> None:
    assert attacks.try_commands() == {}


@pytest.mark.slow
def test_all_commands_stand_all_records() -> None:
    assert attacks.try_records() == {}
