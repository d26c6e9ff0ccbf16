"""Hostile servers against every backend: one page may fail, the crawl goes on."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from crawlers import registry
from crawlers.conformance.scripted import Connection, ScriptedServer, page, redirect
from tests.crawlers import backends
from tests.crawlers.backends import HERE, STACKS, each, outcomes

AIOHTTP = [name for name in STACKS if name.startswith("aiohttp")]
EQUALISED = [name for name in HERE if name not in STACKS]
"""Without the stacks, which send their own headers, and read HTTP as they do."""


def crawl(name: str, server: ScriptedServer, **settings: Any) -> dict[str, int | str | None]:
    """Crawl a server without retries: what came of each path."""
    usual = {"slots": 2, "timeout_s": 30.0, "max_tries": 1}
    return outcomes(backends.crawl(name, server.url, **(usual | settings)), server.url)


# --- redirects and links that lead nowhere ------------------------------------------


@each(HERE)
def test_a_useless_redirect_or_link_fails_one_page(name: str) -> None:
    """A redirect to mailto: or a link of 66,000 characters ended the crawl of httpx."""
    long = "x" * 66_000
    useless = ("mailto:a@b", "javascript:1", "data:,x", "http://[/", "http://a b/", "//")
    with ScriptedServer() as server:
        server.script["/"] = page(*(f"/{n}" for n in range(len(useless))), f"/{long}", "/last")
        server.script.update({f"/{n}": redirect(to) for n, to in enumerate(useless)})
        server.script[f"/{long}"] = server.script["/last"] = page()
        found = crawl(name, server)
    assert found.pop(long) == ("unsupported" if name.startswith("httpx") else 200)
    assert (found.pop(""), found.pop("last")) == (200, 200)
    assert found == {str(n): "bad_redirect" for n in range(6)}


@each([*registry.MODELS, *STACKS])
def test_a_host_that_cannot_be_encoded_is_unknown(name: str) -> None:
    hosts = ("http://a..127.0.0.1x/", f"http://{'a' * 300}.localhost/")
    with ScriptedServer() as server:
        server.script["/"] = page("/last")
        server.script["/last"] = page()
        found = outcomes(backends.crawl(name, server.url, *hosts, slots=2), server.url)
    assert found == {"": 200, "last": 200} | dict.fromkeys(hosts, "unknown_host")


# --- requests -----------------------------------------------------------------------


@pytest.mark.parametrize("keep_alive", [True, False], ids=["keep-alive", "close"])
@each(EQUALISED)
def test_every_equalised_backend_sends_the_same_bytes(name: str, keep_alive: bool) -> None:
    """No other headers, in no other order, and the target as the link has it."""
    targets = ("/q?", "/a%7Eb?c=%41", "/x?&", "/y//z", "/d;e?f=g?h", "/%2F%2e%zz", "/é?ü".encode())
    with ScriptedServer() as server:
        links = [each if isinstance(each, str) else each.decode() for each in targets]
        server.script["/"] = page(*links)
        crawl(name, server, slots=1, keep_alive=keep_alive)
        host = server.url.removeprefix("http://").rstrip("/")
    close = "" if keep_alive else "\r\nConnection: close"
    tail = f"HTTP/1.1\r\nHost: {host}\r\nUser-Agent: c10k-crawlers/1.1\r\nAccept: */*"
    wanted = ["/", *links[:-1], "/%C3%A9?%C3%BC"]
    tail += f"\r\nAccept-Encoding: identity{close}"
    assert server.heads == [f"GET {target} {tail}" for target in wanted]


@each(STACKS)
def test_a_stack_as_it_ships_keeps_the_target_and_the_user_agent_of_its_own(name: str) -> None:
    """Whatever it adds, the server sees the frontier's target."""
    targets = ("/q?", "/a%7eb?c=%41", "/y//z")
    with ScriptedServer() as server:
        server.script["/"] = page(*targets)
        found = crawl(name, server, slots=1)
    if name in AIOHTTP:
        assert found["q?"] == "unsupported"
    sent = ["/", *targets[name in AIOHTTP :]]  # yarl has no "?" without a query
    assert sorted(head.split(" ")[1] for head in server.heads) == sorted(sent)
    own = name.partition("_")[0]
    assert all(f"{own}/" in head for head in server.heads)


def early(sock: socket.socket) -> socket.socket:
    """Answer whatever will be asked."""
    sock.sendall(page())
    return sock


@pytest.mark.parametrize("name", [*registry.MODELS, "asyncio_protocol", "uvloop_protocol"])
def test_an_answer_may_come_before_its_request(name: str) -> None:
    """uvloop gave it to a protocol that the slot had not got yet: asyncio logged a traceback."""
    with ScriptedServer(early) as server:
        urls = [f"http{server.url.removeprefix('https')}{n}" for n in range(16)]
        server.script = dict.fromkeys((f"/{n}" for n in range(16)), Connection.close)
        report = backends.crawl(name, *urls, slots=16, timeout_s=30.0, max_tries=1, follow=False)
    assert {row.status for row in report.rows.values()} == {200}
