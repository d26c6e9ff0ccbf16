"""Where the server listens: ``HOST:PORT`` texts and the sockets bound to them."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final

HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._~!$&'()*+;=%-]*)(?::[0-9]*)?")
"""A Host header (RFC 3986, 3.2.2), but no comma: a proxy may make one header of two."""


class AddressError(ValueError):
    """The address cannot be used; the message says what to change."""


def parse_address(text: str, option: str, any_address: bool) -> tuple[int, str, int]:
    """Read ``HOST:PORT`` into (address family, address, port).

    Raises :class:`AddressError` if the text is not an address, or if other
    machines can reach it and ``any_address`` does not allow that. ``option`` is
    the option that the messages name.
    """
    host, colon, port_text = text.rpartition(":")
    if not (colon and host and port_text.isascii() and port_text.isdigit()):
        raise AddressError(f"{option} {text}: write HOST:PORT, for example 127.0.0.1:8080")
    if len(port_text) > 5 or int(port_text) > 65535:
        raise AddressError(f"{option} {text}: a port is from 0 to 65535")
    port = int(port_text)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressError(f"{option} {text}: there is no host named {host}") from None
    entries.sort(key=lambda entry: entry[0] != socket.AF_INET)
    family, _, _, _, address = entries[0]
    number = str(address[0])
    if not any_address and not is_loopback(number):
        raise AddressError(
            f"{option} {text}: other machines can reach that address; use 127.0.0.1, or add "
            "--any-address if that is what you want"
        )
    return family, number, port


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def is_wildcard(address: str) -> bool:
    """Whether an address stands for all addresses of this machine."""
    return ipaddress.ip_address(address.partition("%")[0]).is_unspecified


def bind(family: int, host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet, so that the site can name its port."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.bind((host, port))
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def name_of(sock: socket.socket) -> str:
    """``host:port`` as URLs write it."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
