"""How to behave on other people's servers: robots.txt, and a delay between requests.

On loopback, where measurements are made, none of this is in the way. Beyond
it every backend has manners, since they are the frontier's: what robots.txt
forbids is not handed out, and what may be fetched is handed out with a due
time.
"""

from __future__ import annotations

import http.client
from ipaddress import ip_address
from typing import TYPE_CHECKING

from crawlers.http import USER_AGENT
from crawlers.job import Address, Job, JobError

if TYPE_CHECKING:
    from protego import Protego

TIMEOUT_S = 10.0
MAX_ROBOTS = 500 * 1024
"""Bytes of robots.txt that are read (RFC 9309, 2.5)."""


def on_this_machine(addresses: list[Address]) -> bool:
    """Whether all addresses are on loopback."""
    hosts = (str(address.sockaddr[0]).partition("%")[0] for address in addresses)
    return all(ip_address(host).is_loopback for host in hosts)


class Manners:
    """What one server allows, and when it may be asked next."""

    def __init__(self, rules: Protego, delay_s: float) -> None:
        self._rules = rules
        self._delay_s = max(delay_s, rules.crawl_delay(USER_AGENT) or 0.0)
        self._next = 0.0

    def allow(self, url: str) -> bool:
        """Whether robots.txt lets us fetch a URL."""
        return bool(self._rules.can_fetch(url, USER_AGENT))

    def due(self, now: float) -> float:
        """When the next request may start; the one after it has to wait longer."""
        due = max(now, self._next)
        self._next = due + self._delay_s
        return due


def manners_of(netloc: str, job: Job) -> Manners:
    """Ask a server for its robots.txt (RFC 9309); a redirect is not followed.

    Whoever has none (4xx) allows everything; whoever cannot say (no answer,
    3xx, 5xx) allows nothing. Raises :class:`JobError` when protego, which
    reads the file, is not installed.
    """
    try:
        from protego import Protego
    except ImportError:
        raise JobError(
            "crawling beyond this machine needs protego, to read robots.txt: "
            "pip install 'c10k-crawlers[web]'"
        ) from None
    return Manners(Protego.parse(_robots(netloc)), job.delay_s)


def _robots(netloc: str) -> str:
    nothing = "User-agent: *\nDisallow: /\n"
    connection = http.client.HTTPConnection(netloc, timeout=TIMEOUT_S)
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
