"""URLs in normal form, so that one page has one name.

:func:`normalise` follows the WHATWG URL Standard for ``http`` and ``https``.
It differs on purpose in five places:

* it drops the fragment, which never reaches a server;
* it drops ``user:password@``: the crawler sends no credentials, so both
  spellings fetch one page, which must be counted once;
* it encodes non-ASCII characters in a query as UTF-8, whatever the encoding
  of the page;
* it maps names outside ASCII with the standard library's IDNA 2003, not UTS 46;
* it rejects a host with a quote, a backtick or a brace, as RFC 3986 does.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv6Address
from struct import unpack
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}

SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+):")
_BEHIND_AUTHORITY: Final = re.compile(r"[/\\?]")

# A reference in which nothing needs encoding, in its parts. The others take the long way.
_ORDINARY: Final = re.compile(
    r"""(?:(https?)://([a-z0-9.\-]++(?::[0-9]++)?)(?=/)|(?!//))
    ([\w.~\-%/!$&'()*+,;=@]*+)(\?[\w.~\-%/!$&()*+,;=@:?]*+)?(?:\#.*+)?""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)

# The WHATWG percent-encode sets: characters that must be encoded in a path or a
# query. "%" is not among them, so anything encoded already stays as written.
_PATH_UNSAFE: Final = re.compile(r"[^!$%&'()*+,\-./0-9:;=@A-Z\[\\\]_a-z|~]++")
_QUERY_UNSAFE: Final = re.compile(r"[^!$%&()*+,\-./0-9:;=?@A-Z\[\\\]^_`a-z{|}~]++")

# Dot segments in all their spellings, and how many dots each has.
_DOT: Final = (".", "%2e", "%2E")
_DOTS: Final = dict.fromkeys(_DOT, 1) | {first + second: 2 for first in _DOT for second in _DOT}
_MAYBE_DOTS: Final = re.compile(r"/(?:\.|%2[eE])")

# ASCII that no host name may hold (the forbidden domain code points).
_HOST_FORBIDDEN: Final = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]")
_HOST_NUMERIC: Final = re.compile(r"(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_ZEROS: Final = re.compile(r"\b0(?::0\b)+")
_HOST_LIMIT: Final = 1024  # mapping characters outside ASCII is slow; no name is this long


class Base(NamedTuple):
    """The URL that relative references are resolved against, in its parts."""

    scheme: str
    origin: str  # scheme://host[:port]
    path: str
    query: str  # with its "?", or empty

    @property
    def folder(self) -> str:
        """The path up to its last slash."""
        return self.path[: self.path.rfind("/") + 1]


def normalise(base_url: str, href: str) -> str | None:
    """Turn ``href``, found on the page at ``base_url``, into an absolute normal URL.

    In a normal URL, scheme and host are lower case, the default port is left
    out, the path is at least ``/`` and has no dot segments, and there is neither
    a fragment nor a user name. Characters that a URL does not allow are
    percent-encoded (UTF-8, upper-case digits); anything percent-encoded already
    stays as written. The result is ASCII. Normalising it again changes nothing.

    Returns ``None`` for other schemes and for references that are not valid (a
    bad port, no host, a space in the host). Never raises. A base that is not an
    ``http`` or ``https`` URL resolves absolute references only.
    """
    return resolve(base_of(base_url), href)


@lru_cache(maxsize=1024)
def base_of(url: str) -> Base | None:
    """The parts of a page's URL; ``None`` when links cannot be resolved against it."""
    normal = resolve(None, url)
    return None if normal is None else split(normal)


def split(normal: str) -> Base:
    """The parts of a normal URL."""
    slash = normal.index("/", 8)
    path, mark, query = normal[slash:].partition("?")
    return Base(normal[: normal.index(":")], normal[:slash], path, mark + query)


def resolve(base: Base | None, href: str) -> str | None:
    """:func:`normalise` with the base split already."""
    if base is not None and (ordinary := _ORDINARY.fullmatch(href)):
        scheme, authority, path, query = ordinary.groups()
        origin = _origin(scheme, authority) if scheme else base.origin
        if origin is None:
            return None
        if not path:
            return origin + base.path + (base.query if query is None else query)
        if path[0] != "/":
            path = base.folder + path
        if _MAYBE_DOTS.search(path):
            path = _without_dots(path)
        return origin + path + query if query else origin + path
    href = clean(href).partition("#")[0]
    if named := SCHEME.match(href):
        scheme = named[1].lower()
        if scheme not in _DEFAULT_PORTS:
            return None
        href = href[named.end() :]
        if base is None or scheme != base.scheme:
            # The host follows any number of slashes, even none.
            return _absolute(scheme, href.lstrip("/\\"))
        # "http:x" on an http page is relative, as in browsers.
    elif base is None:
        return None
    behind = href.lstrip("/\\")
    slashes = len(href) - len(behind)
    if slashes >= 2:
        return _absolute(base.scheme, behind)
    path, mark, query = href.partition("?")
    if slashes:
        path = _path(path)
    elif path:
        path = _path(base.folder + path)
    else:
        return base.origin + base.path + (_query(mark + query) if mark else base.query)
    return base.origin + path + _query(mark + query) if mark else base.origin + path


def clean(href: str) -> str:
    """Drop the characters that "URL parsing" drops in its steps 1 to 3."""
    href = href.strip(_C0_AND_SPACE)
    if not href.isprintable():  # tabs, newlines, lone surrogates: all unprintable
        href = href.translate(_TAB_AND_NEWLINE)
        if _SURROGATE.search(href):
            href = _SURROGATE.sub("\ufffd", href)
    return href


_C0_AND_SPACE: Final = "".join(map(chr, range(0x21)))
_TAB_AND_NEWLINE: Final = dict.fromkeys(b"\t\n\r")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _absolute(scheme: str, rest: str) -> str | None:
    """The URL whose host, path and query are ``rest``; ``None`` without a valid host."""
    authority = _BEHIND_AUTHORITY.split(rest, maxsplit=1)[0]
    origin = _origin(scheme, authority)
    if origin is None:
        return None
    path, mark, query = rest[len(authority) :].partition("?")
    return origin + _path(path or "/") + _query(mark + query)


@lru_cache(maxsize=1024)
def _origin(scheme: str, authority: str) -> str | None:
    """``scheme://host[:port]`` in normal form, or ``None``."""
    place = authority.rpartition("@")[2]
    if place.startswith("["):
        host, bracket, port = place.partition("]")
        if not bracket or (port and not port.startswith(":")):
            return None
        name = _ipv6(host[1:])
        port = port[1:]
    else:
        host, _, port = place.partition(":")
        name = _host(host)
    if not name:
        return None
    if port:
        if not (port.isascii() and port.isdigit()):
            return None
        port = port.lstrip("0") or "0"
        if len(port) > 5 or int(port) > 65535:
            return None
    if not port or port == _DEFAULT_PORTS[scheme]:
        return f"{scheme}://{name}"
    return f"{scheme}://{name}:{port}"


def _host(host: str) -> str | None:
    """A host name or an IPv4 address in normal form, or ``None``."""
    if "%" in host:
        host = unquote_to_bytes(host).decode("utf-8", "replace")
    if host.isascii():
        host = host.lower()
    else:
        if len(host) > _HOST_LIMIT:
            return None
        try:
            host = host.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return None
    if not host or _HOST_FORBIDDEN.search(host):
        return None
    labels = host.split(".")
    if labels[-1] == "":
        labels.pop()
    if _HOST_NUMERIC.fullmatch(labels[-1]):
        return _ipv4(labels)
    return host


def _ipv4(parts: list[str]) -> str | None:
    """An address of one to four decimal, octal or hexadecimal numbers, dotted, or ``None``."""
    if len(parts) > 4:
        return None
    numbers = []
    for part in parts:
        if not _HOST_NUMERIC.fullmatch(part) or len(part) > _HOST_LIMIT:
            return None
        try:
            if part[:2] in ("0x", "0X"):
                numbers.append(int(part[2:] or "0", 16))
            else:
                numbers.append(int(part, 8 if part[0] == "0" else 10))
        except ValueError:
            return None
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 256 ** (4 - len(numbers)):
        return None
    value = last + sum(number << (24 - 8 * place) for place, number in enumerate(numbers))
    return ".".join(map(str, value.to_bytes(4, "big")))


def _ipv6(text: str) -> str | None:
    """An IPv6 address in brackets, shortened as the URL Standard says, or ``None``."""
    try:
        address = IPv6Address(text)
    except ValueError:
        return None
    if address.scope_id is not None:
        return None
    # Not from its text: CPython 3.13 and later end that of a mapped IPv4 address in dots.
    pieces = ":".join(f"{piece:x}" for piece in unpack("!8H", address.packed))
    # The first of the longest runs of two or more zeros becomes "::".
    zeros = max(_ZEROS.finditer(pieces), key=lambda run: len(run[0]), default=None)
    if zeros is None:
        return f"[{pieces}]"
    return f"[{pieces[: zeros.start()].rstrip(':')}::{pieces[zeros.end() :].lstrip(':')}]"


def _path(path: str) -> str:
    """An absolute path in normal form."""
    if "\\" in path:
        path = path.replace("\\", "/")
    if _MAYBE_DOTS.search(path):
        path = _without_dots(path)
    return _PATH_UNSAFE.sub(_percent_encode, path) if _PATH_UNSAFE.search(path) else path


def _without_dots(path: str) -> str:
    """Resolve the segments ``.`` and ``..`` of a path, also where a dot is ``%2e``."""
    kept: list[str] = []
    dots = 0
    for segment in path[1:].split("/"):
        dots = _DOTS.get(segment, 0)
        if not dots:
            kept.append(segment)
        elif dots == 2 and kept:
            kept.pop()
    if dots:  # a last dot segment names a folder
        kept.append("")
    return "/" + "/".join(kept)


def _query(query: str) -> str:
    """A query, with its ``?``, in normal form."""
    return _QUERY_UNSAFE.sub(_percent_encode, query)


def _percent_encode(match: re.Match[str]) -> str:
    """The matched characters as ``%XX`` of their UTF-8 bytes."""
    return "".join([f"%{byte:02X}" for byte in match[0].encode("utf-8")])


# What may follow the last slash of a path for the whole URL to be normal, and a
# folder that is in normal form if normalise agrees.
_FILE: Final = re.compile(r"(?:[\w~\-][\w~\-.%]*+)?(?:\?[\w.~\-&=+/%]*+)?\Z", re.ASCII)
_FOLDER: Final = re.compile(
    r"https?://[a-z0-9.\-]++(?::[0-9]++)?/(?:[\w~\-][\w~\-.%]*+/)*", re.ASCII
)


def folders_of(url: str) -> tuple[str, ...] | None:
    """The folder of a page and all above it, the root last; None unless the URL is normal."""
    query = url.find("?")
    cut = (url.rfind("/") if query < 0 else url.rfind("/", 0, query)) + 1
    return _folders_above(url[:cut]) if _FILE.match(url, cut) else None


@lru_cache(maxsize=1024)
def _folders_above(folder: str) -> tuple[str, ...] | None:
    if not _FOLDER.fullmatch(folder) or normalise(folder, folder) != folder:
        return None
    scheme, _, host, *steps = folder[:-1].split("/")
    return tuple(
        "/".join([scheme, "", host, *steps[:kept], ""]) for kept in range(len(steps), -1, -1)
    )


@lru_cache(maxsize=1024)
def site_name(prefix: str) -> str:
    """The last two labels of the host of a URL prefix, or all of an address."""
    host = urlsplit(prefix).hostname or ""
    labels = host.split(".")
    return host if labels[-1].isdigit() else ".".join(labels[-2:])
