"""How to behave on other people's servers: robots.txt, and a delay between requests.

Measurements run on loopback, where none of this applies. Beyond loopback every
backend has manners, because the frontier keeps them: it never hands out a URL
that robots.txt forbids, and it hands out the others with a due time.
"""

from __future__ import annotations

import http.client
from ipaddress import ip_address
from typing import TYPE_CHECKING

from crawlers.http import USER_AGENT
from crawlers.job import LONGEST_S, Address, Job, JobError, Manners, Origin

if TYPE_CHECKING:
    from protego import Protego

TIMEOUT_S = 10.0
MAX_ROBOTS = 500 * 1024
"""Bytes of a robots.txt that are read (RFC 9309, 2.5)."""


def on_this_machine(addresses: list[Address]) -> bool:
    """Whether all addresses are on loopback; to connect to 0.0.0.0 is to connect there too."""
    hosts = [ip_address(str(each.sockaddr[0]).partition("%")[0]) for each in addresses]
    plain = [getattr(host, "ipv4_mapped", None) or host for host in hosts]
    return all(host.is_loopback or host.is_unspecified for host in plain)


class RobotsManners:
    """The rules of one robots.txt, with a delay between requests."""

    def __init__(self, rules: Protego, delay_s: float) -> None:
        self._rules = rules
        asked = rules.crawl_delay(USER_AGENT) or 0.0
        self._delay_s = max(delay_s, asked if asked <= LONGEST_S else LONGEST_S)
        self._next = 0.0

    def allow(self, url: str) -> bool:
        """Whether robots.txt lets us fetch a URL."""
        return bool(self._rules.can_fetch(url, USER_AGENT))

    def due(self, now: float) -> float:
        """When the next request may start; the one after it waits longer."""
        due = max(now, self._next)
        self._next = due + self._delay_s
        return due


def manners_of(origin: Origin, netloc: str, job: Job) -> Manners:
    """Ask a server for its robots.txt (RFC 9309), without following redirects.

    A server without the file (4xx) allows everything. One that does not answer,
    or answers 3xx or 5xx, allows nothing; over TLS it must prove who it is, as in
    the crawl. Raises :class:`JobError` when protego,
    which reads the file, is not installed.
    """
    try:
        from protego import Protego
    except ImportError:
        raise JobError(
            "crawling beyond this machine needs protego, to read robots.txt: "
            "pip install 'c10k-crawlers[web]'"
        ) from None
    return RobotsManners(Protego.parse(_robots(origin, netloc)), job.delay_s)


def _robots(origin: Origin, netloc: str) -> str:
    nothing = "User-agent: *\nDisallow: /\n"
    connection = (
        http.client.HTTPConnection(netloc, timeout=TIMEOUT_S)
        if origin.tls is None
        else http.client.HTTPSConnection(netloc, timeout=TIMEOUT_S, context=origin.tls)
    )
    try:
        connection.request("GET", "/robots.txt", headers={"User-Agent": USER_AGENT})
        response = connection.getresponse()
        if response.status == 200:
            return response.read(MAX_ROBOTS).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return nothing
    finally:
        connection.close()
    return "" if 400 <= response.status < 500 else nothing
