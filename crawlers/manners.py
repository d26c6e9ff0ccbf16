"""How to behave on other people's servers: robots.txt, and a delay between requests.

Measurements run on loopback, where none of this applies. Beyond loopback every
backend has manners, because the frontier keeps them: it never hands out a URL
that robots.txt forbids, and it hands out the others with a due time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from ipaddress import ip_address
from socket import SHUT_RDWR, socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers.http import USER_AGENT
from crawlers.job import LONGEST_S, Address, Job, JobError, Manners, Origin
from crawlers.urls import normalise, site_name

if TYPE_CHECKING:
    from protego import Protego

MAX_ROBOTS = 500 * 1024
"""Bytes of a robots.txt that are read (RFC 9309, 2.5)."""
MAX_REDIRECTS = 5
"""Redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)."""
NOTHING = "User-agent: *\nDisallow: /\n"


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


def manners_of(origin: Origin, job: Job) -> Manners:
    """Ask a server for its robots.txt (RFC 9309).

    A server without the file (4xx) allows everything. One that does not answer in
    the time of an exchange, or answers 5xx, allows nothing. Redirects are followed
    within the same site, so that ``http`` may lead to ``https``. Raises
    :class:`JobError` when protego, which reads the file, is not installed.
    """
    try:
        from protego import Protego
    except ImportError:
        raise JobError(
            "crawling beyond this machine needs protego, to read robots.txt: "
            "pip install 'c10k-crawlers[web]'"
        ) from None
    return RobotsManners(Protego.parse(_robots(origin.prefix, job)), job.delay_s)


def _robots(prefix: str, job: Job) -> str:
    """The text of a robots.txt, or one that allows nothing."""
    url = f"{prefix}/robots.txt"
    for _ in range(1 + MAX_REDIRECTS):
        status, text, location = _get(url, job)
        if status == 200:
            return text
        if 400 <= status < 500:
            return ""
        moved = normalise(url, location) if 300 <= status < 400 and location else None
        if moved is None or site_name(moved) != site_name(prefix):
            break
        url = moved
    return NOTHING


def _get(url: str, job: Job) -> tuple[int, str, str | None]:
    """One GET: the status (0 without an answer), the text and the Location."""
    import http.client  # and OpenSSL with it, so only where a crawl leaves this machine

    parts = urlsplit(url)
    try:
        if parts.scheme == "https":
            from crawlers.tls import client_context

            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.netloc,
                timeout=job.timeout_s,
                context=client_context(job.cafile, job.insecure),
            )
        else:
            connection = http.client.HTTPConnection(parts.netloc, timeout=job.timeout_s)
        with contextlib.closing(connection):
            target = f"{parts.path}?{parts.query}" if parts.query else parts.path
            connection.connect()
            sock = connection.sock  # http.client forgets it when the server wants to close
            with _no_longer_than(job.timeout_s, sock) as late:
                connection.request("GET", target, headers={"User-Agent": USER_AGENT})
                response = connection.getresponse()
                # An editor may have put a byte order mark before the first group of rules.
                text = response.read(MAX_ROBOTS).decode("utf-8-sig", "replace")
            if late:
                return 0, "", None
            return response.status, text, response.headers["Location"]
    except (OSError, http.client.HTTPException) as error:
        if getattr(error, "verify_code", 0):
            # A certificate that nobody can trust: every page fails in the same way, and
            # the reason is not robots.txt. Let the crawl find and name it.
            return 404, "", None
        return 0, "", None


@contextlib.contextmanager
def _no_longer_than(seconds: float, sock: socket) -> Iterator[list[str]]:
    """Shut the connection down after so long, even if something comes all the time; then say so."""
    import threading

    late: list[str] = []

    def end() -> None:
        late.append("timeout")
        with contextlib.suppress(OSError):
            sock.shutdown(SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        timer.join()
