"""How to behave on other people's servers: robots.txt, and a delay between requests.

Measurements run on loopback, where none of this applies. Beyond loopback every
backend has manners, because the frontier keeps them: it never hands out a URL
that robots.txt forbids, and it hands out the others with a due time. robots.txt
itself is fetched by a slot, as any page is. Sans-IO.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from crawlers.http import USER_AGENT
from crawlers.job import LONGEST_S, MAX_ROBOTS, Address, Job, JobError, PageResult
from crawlers.urls import site_name

if TYPE_CHECKING:
    from protego import Protego

MAX_REDIRECTS = 5
"""Redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)."""
NO_IDENTITY = frozenset({"untrusted", "self_signed", "expired", "wrong_host"})
"""Errors that tell more than "forbidden": no page of this server can be fetched."""


def on_this_machine(addresses: list[Address]) -> bool:
    """Whether all addresses are on loopback; to connect to 0.0.0.0 is to connect there too."""
    hosts = [ip_address(str(address.sockaddr[0]).partition("%")[0]) for address in addresses]
    plain = [getattr(host, "ipv4_mapped", None) or host for host in hosts]
    return all(host.is_loopback or host.is_unspecified for host in plain)


class RobotsManners:
    """The rules of one robots.txt (RFC 9309), with a delay between requests.

    ``read`` comes before ``allow``.
    """

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._next = 0.0
        self._redirects = MAX_REDIRECTS
        self._rules: Protego

    def moved(self, answer: PageResult, prefix: str) -> str | None:
        """Where else the server keeps its robots.txt: within the same site, and not for ever."""
        if answer.redirect is None or site_name(answer.redirect) != site_name(prefix):
            return None
        self._redirects -= 1
        return answer.redirect if self._redirects >= 0 else None

    def read(self, answer: PageResult) -> str | None:
        """Take what the server answered; an error kind for all its URLs, or None to go on.

        A server without the file (4xx) allows everything. One that does not answer, or
        answers 5xx or a file in a coding that we cannot read, allows nothing.
        """
        from protego import Protego

        if answer.status is not None and 200 <= answer.status < 300 and answer.error is None:
            # An editor may have put a byte order mark before the first group of rules.
            text = answer.text[:MAX_ROBOTS].decode("utf-8-sig", "replace")
        elif answer.status is not None and 400 <= answer.status < 500:
            text = ""
        else:
            return answer.error if answer.error in NO_IDENTITY else "forbidden"
        self._rules = Protego.parse(text)
        asked = self._rules.crawl_delay(USER_AGENT) or 0.0
        self._delay_s = max(self._delay_s, asked if asked <= LONGEST_S else LONGEST_S)
        return None

    def allow(self, url: str) -> bool:
        """Whether robots.txt lets us fetch a URL."""
        return bool(self._rules.can_fetch(url, USER_AGENT))

    def due(self, now: float) -> float:
        """When the next request may start; each call books one, and the one after it waits."""
        due = max(now, self._next)
        self._next = due + self._delay_s
        return due


def manners_of(job: Job) -> RobotsManners:
    """The manners for one server.

    Raises :class:`JobError` when protego, which reads robots.txt, is not installed.
    """
    try:
        import protego  # noqa: F401
    except ImportError:
        raise JobError(
            "crawling beyond this machine needs protego, to read robots.txt: "
            "python -m pip install protego"
        ) from None
    return RobotsManners(job.delay_s)
