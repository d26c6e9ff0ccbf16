"""From URL prefixes to addresses: the one place that resolves names."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from crawlers.http import request_tail
from crawlers.job import Address, Job, JobError, Origin
from crawlers.links import normalise


def origin_prefix(url: str) -> str:
    """``http://host:port`` of a normalised URL."""
    return url[: url.index("/", 8)]


def normal_root(url: str) -> str:
    """A start URL as typed by a person, normalised.

    Raises :class:`JobError` for what cannot be crawled, saying why.
    """
    typed = url if "://" in url else f"http://{url}"
    scheme = typed.partition("://")[0].lower()
    if scheme == "https":
        raise JobError(
            f"{url}: https is not crawled here (every backend speaks plain HTTP, so that TLS "
            "is not what is compared); give an http:// URL"
        )
    if scheme != "http":
        raise JobError(f"{url}: not an http:// URL")
    normal = normalise(typed, typed)
    if normal is None:
        raise JobError(f"{url}: not a usable URL; write it as http://host:port/path")
    return normal


def make_origin(prefix: str, job: Job) -> Origin:
    """Resolve a prefix, IPv4 first; raises :class:`OSError` for an unknown host."""
    parts = urlsplit(prefix)
    host, port = parts.hostname or "", parts.port or 80
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    addresses = [Address(int(family), sockaddr) for family, _, _, _, sockaddr in found]
    return Origin(prefix, addresses, request_tail(parts.netloc, job.keep_alive))


def new_socket(address: Address) -> socket.socket:
    """A TCP socket with the options every backend uses."""
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
