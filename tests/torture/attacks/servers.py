"""Hostile HTTP servers against the models, their brothers and the stacks.

All cases are paths of one server and one backend crawls them in one crawl, with a good
page after each. So one case that ends the crawl, or that spoils a connection for the next
request, fails the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, Final

from crawlers.conformance.scripted import Connection, ScriptedServer, ok, page
from crawlers.kinds import ERROR_KINDS
from tests.torture.attacks.answers import CASES, Case

SHARED: Final = (
    *("threads", "callbacks", "generators", "async_await"),
    *("uvloop", "trio", "gevent", "tornado", "twisted"),
)
"""Backends with the models' parser: every outcome must be the wanted one."""

STACKS: Final = ("urllib3_tuned", "requests_tuned", "httpx_tuned")
"""Backends with a parser of their own: they must agree in the cases that are valid HTTP.

urllib3, requests, aiohttp and httpx as they ship decode bodies, so they cannot.
"""

TIMEOUT_S: Final = 4.0
LONGEST_S: Final = 30 * TIMEOUT_S
"""Longest time of the whole crawl, on a busy machine: its last cases only wait."""
MAX_BODY: Final = 1 << 20
ADDRESSES: Final = {
    "http://127.0.0.1:0/": "refused",
    "http://[::1]:0/": "refused",
    "http://127.0.0.1:65535/": "refused",
    "http://127.255.255.254:9/": "refused",
    "http://0.0.0.0:9/": "refused",
    "http://255.255.255.255:9/": "forbidden",
    "http://[fe80::1]:9/": "forbidden",
    "http://a_b.localhost:9/": "unknown_host",
    "http://-.localhost:9/": "unknown_host",
    "http://xn--.localhost:9/": "unknown_host",
    "http://xn--a.localhost:9/": "unknown_host",
    "http://*.localhost:9/": "unknown_host",
    "http://a,b.localhost:9/": "unknown_host",
}
"""Start URLs that lead nowhere, and the error of each."""


@contextmanager
def hostile(cases: tuple[Case, ...] = CASES) -> Iterator[ScriptedServer]:
    """A server whose root links to every case, and to a good page after each."""

    def ending(answer: bytes) -> Callable[[Connection], None]:
        def action(connection: Connection) -> None:
            connection.send(answer)
            connection.close()

        return action

    with ScriptedServer() as server:
        paths = [path for at in range(len(cases)) for path in (f"/case/{at}", f"/good/{at}")]
        server.script["/"] = page(*paths)
        for at, case in enumerate(cases):
            server.script[f"/good/{at}"] = ok(b"good")
            answer = case.answer
            if case.ends and isinstance(answer, bytes):
                answer = ending(answer)
            server.script[f"/case/{at}"] = answer
        yield server


def job(server: ScriptedServer) -> dict[str, Any]:
    """The settings of the crawl."""
    return {
        "urls": [server.url],
        "slots": 16,
        "max_tries": 1,
        "timeout_s": TIMEOUT_S,
        "max_body": MAX_BODY,
    }


def outcome(row: list[Any]) -> str:
    """A row in words: an error kind, or status and size."""
    code, error, _, _, size = row
    return str(error) if error is not None else f"{code}, {size} B"


def right(case: Case, found: str, *, stack: bool) -> bool:
    """Whether an outcome is right; a stack may read broken responses in its own way."""
    if stack and not case.valid:
        return found in ERROR_KINDS or ", " in found
    return any(fnmatchcase(found, pattern) for pattern in case.wanted.split("|"))


def wrong(
    name: str, crawled: dict[str, Any], server: ScriptedServer, cases: tuple[Case, ...] = CASES
) -> dict[str, str]:
    """What one backend did wrong: case -> a line."""
    found: dict[str, str] = {}
    rows = crawled["rows"]
    for at, case in enumerate(cases):
        row = rows.get(f"{server.url}case/{at}")
        good = rows.get(f"{server.url}good/{at}")
        if row is None:
            found[case.name] = f"{name}: not fetched"
        elif not right(case, outcome(row), stack=name in STACKS):
            found[case.name] = f"{name}: {outcome(row)} instead of {case.wanted}"
        elif good is None or outcome(good) != "200, 4 B":
            found[case.name] = f"{name}: the good page after it: {good}"
    found |= spoilt(name, crawled)
    if crawled["stopped"] or len(rows) != 2 * len(cases) + 1:
        found["the whole crawl"] = f"{name}: {len(rows)} rows, {crawled['stopped']}"
    return found


def spoilt(name: str, crawled: dict[str, Any]) -> dict[str, str]:
    """What a whole crawl did wrong: it left something behind, or took too long."""
    if crawled["left"]:
        return {"the whole crawl": f"{name}: left behind: {crawled['left']}"}
    if crawled["took_s"] > LONGEST_S:
        return {"the whole crawl": f"{name}: took {crawled['took_s']:.0f} s"}
    return {}


def astray(name: str, crawled: dict[str, Any]) -> dict[str, str]:
    """What one backend did wrong with :data:`ADDRESSES`."""
    found = spoilt(name, crawled)
    for url, wanted in ADDRESSES.items():
        row = crawled["rows"].get(url)
        if row is None or row[1] != wanted:
            found[url] = f"{name}: {row} instead of {wanted}"
    return found
