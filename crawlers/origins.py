"""From URL prefixes to addresses: the only place that resolves names."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from crawlers.http import request_tail
from crawlers.job import Address, Job, JobError, Origin
from crawlers.manners import manners_of, on_this_machine
from crawlers.urls import normalise, site_name

WEB = ("http://", "https://")
"""How the URLs begin that a crawler can fetch."""

PORTS = {"http": 80, "https": 443}


def origin_prefix(url: str) -> str:
    """``scheme://host:port`` of a normal URL; raises :class:`JobError` for any other."""
    end = url.find("/", 8)
    if end < 0 or not url.startswith(WEB):
        raise JobError(f"{url}: not a normal URL; write it as http://host:port/path")
    return url[:end]


def in_scope(url: str, prefixes: Iterable[str]) -> bool:
    """Whether a URL's host belongs to the same site as one of the start prefixes.

    This is the lenient rule of the chapter: the last two labels of the hosts
    agree, so ``www.`` and other subdomains belong. Addresses must be equal. Ports
    and schemes are not compared.
    """
    if not url.startswith(WEB):
        return False
    return site_name(origin_prefix(url)) in map(site_name, prefixes)


def with_other_scheme(prefix: str) -> tuple[str, ...]:
    """The start prefixes of a site: with default ports, both http and https."""
    parts = urlsplit(prefix)
    if parts.port is not None:
        return (prefix,)
    return (prefix, f"{'http' if parts.scheme == 'https' else 'https'}://{parts.netloc}")


def normal_root(url: str) -> str:
    """A start URL as a person typed it, in normal form.

    Raises :class:`JobError`, with the reason, if it cannot be crawled.
    """
    typed = url if "://" in url else f"http://{url}"
    scheme = typed.partition("://")[0].lower()
    if scheme not in PORTS:
        raise JobError(f"{url}: not an http:// or https:// URL")
    normal = normalise(typed, typed)
    if normal is None or ("://" not in url and url.partition(":")[0].lower() in PORTS):
        raise JobError(f"{url}: not a usable URL; write it as http://host:port/path")
    return normal


def make_origin(prefix: str, job: Job) -> Origin:
    """Resolve a prefix, IPv4 first; a server on another machine gets manners.

    Raises :class:`OSError` for an unknown host, and :class:`JobError` for a host
    on another machine, unless the job allows any host.
    """
    parts = urlsplit(prefix)
    host, port = parts.hostname or "", PORTS[parts.scheme] if parts.port is None else parts.port
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    entries.sort(key=lambda entry: entry[0] != socket.AF_INET)
    addresses = [Address(int(family), tuple(sockaddr)) for family, _, _, _, sockaddr in entries]
    tail = request_tail(parts.netloc, job.keep_alive)
    origin = Origin(prefix, addresses, tail, job.keep_alive, host=host.removesuffix("."))
    if parts.scheme == "https":
        from crawlers.tls import client_context  # and OpenSSL with it

        origin.tls = client_context(job.cafile, job.insecure)
    if not on_this_machine(addresses):
        if not job.any_host:
            raise JobError(
                f"{prefix}: not on this machine; add --any-host to crawl it anyway, as far as "
                "robots.txt allows and with a delay between requests"
            )
        origin.manners = manners_of(job) if job.polite else None
    return origin
