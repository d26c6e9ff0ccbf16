"""Links out of HTML, and URLs in normal form.

:func:`extract` is on the measured path of every backend, so it must be right
and must cost little beside the exchange it follows. It is one compiled regular
expression, run once over the page: its alternatives are the states of the HTML
tokenizer (tags, attributes, comments, raw text), each written with possessive
quantifiers, so that nothing is ever tried twice and the time is linear in the
size of the page whatever it holds. Plain tags without interest fail a lookahead
and cost one look; plain links come out ready to be joined to the page's origin
or folder; whatever is less plain comes out marked, and is resolved with care.

Followed: ``<a href>`` and ``<area href>``, as a browser without scripts sees
them. Not followed: comments, the text of ``script``, ``style``, ``title``,
``textarea``, ``iframe``, ``xmp``, ``noembed``, ``noframes`` and ``plaintext``,
and the inside of ``<template>``, which is not part of the document.

:func:`normalise` follows the WHATWG URL Standard for ``http`` and ``https``.
It differs on purpose in five places:

* the fragment is dropped: it never reaches a server;
* ``user:password@`` is dropped: the crawler sends no credentials, so both
  spellings fetch one page, which must be counted once;
* non-ASCII characters in a query are encoded as UTF-8, whatever the encoding
  of the page;
* names outside ASCII go through the standard library's IDNA 2003, not UTS 46;
* a host may not hold a quote, a backtick or a brace, as RFC 3986 has it.

Only the standard library is used: free-threaded builds lack compiled parsers.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from html.entities import html5
from typing import Final, NamedTuple

# --- URLs ---------------------------------------------------------------------

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+):")
_SLASHES: Final = re.compile(r"[/\\]*+")
_AUTHORITY: Final = re.compile(r"[^/\\?]*+")

# A reference in which nothing needs encoding, in its parts; the others take the long way.
_ORDINARY: Final = re.compile(
    r"""(?:(https?)://([a-z0-9.\-]++(?::[0-9]++)?+)(?=/)|(?!//))
    ([\w.~\-%/!$&'()*+,;=@]*+)(\?[\w.~\-%/!$&()*+,;=@:?]*+)?+(?:\#.*+)?+""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)

# The WHATWG percent-encode sets: what may not stand in a path or a query as it
# is. "%" may: what is encoded already stays as written.
_PATH_UNSAFE: Final = re.compile(r"[^!$%&'()*+,\-./0-9:;=@A-Z\[\\\]_a-z|~]++")
_QUERY_UNSAFE: Final = re.compile(r"[^!$%&()*+,\-./0-9:;=?@A-Z\[\\\]^_`a-z{|}~]++")

# Dot segments in all their spellings, and how many dots each has.
_DOT: Final = (".", "%2e", "%2E")
_DOTS: Final = dict.fromkeys(_DOT, 1) | {first + second: 2 for first in _DOT for second in _DOT}
_MAYBE_DOTS: Final = re.compile(r"/(?:\.|%2[eE])")

# ASCII that no host name may hold (the forbidden domain code points).
_HOST_FORBIDDEN: Final = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]")
_HOST_NUMERIC: Final = re.compile(r"(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_HOST_LIMIT: Final = 1024  # characters outside ASCII are costly to map; no name is this long


class _Base(NamedTuple):
    """What relative references are resolved against, in its parts."""

    scheme: str
    origin: str  # scheme://host[:port]
    path: str
    query: str  # with its "?", or empty

    @property
    def folder(self) -> str:
        """The path up to its last slash."""
        return self.path[: self.path.rfind("/") + 1]


def normalise(base_url: str, href: str) -> str | None:
    """``href``, met on the page at ``base_url``, as one absolute normal URL.

    In a normal URL scheme and host are lower case, the default port is not
    written, the path is at least ``/`` and holds no dot segments, whatever is
    not allowed in a URL is percent-encoded (UTF-8, upper-case digits), and there
    is neither fragment nor user name. What is percent-encoded already stays as
    written. The result is ASCII; normalising it again changes nothing.

    Returns ``None`` for other schemes and for what is not a valid URL (a bad
    port, no host, a space in the host). Never raises. A base that is not an
    ``http`` or ``https`` URL resolves absolute references only.
    """
    return _resolve(_base(base_url), href)


@lru_cache(maxsize=1024)
def _base(url: str) -> _Base | None:
    """The parts of a page's URL; ``None`` when it is no base for links."""
    normal = _resolve(None, url)
    return None if normal is None else _split(normal)


def _split(normal: str) -> _Base:
    """The parts of a normal URL."""
    slash = normal.index("/", 8)
    path, mark, query = normal[slash:].partition("?")
    return _Base(normal[: normal.index(":")], normal[:slash], path, mark + query)


def _resolve(base: _Base | None, href: str) -> str | None:
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
    href = _clean(href)
    if (hash_at := href.find("#")) >= 0:
        href = href[:hash_at]
    if named := _SCHEME.match(href):
        scheme = named[1].lower()
        if scheme not in _DEFAULT_PORTS:
            return None
        href = href[named.end() :]
        if base is None or scheme != base.scheme:
            # Any number of slashes, none included, leads to the host.
            return _absolute(scheme, href[_slashes(href) :])
        # "http:x" on an http page is relative, as browsers have it.
    elif base is None:
        return None
    slashes = _slashes(href) if href[:1] in ("/", "\\") else 0
    if slashes >= 2:
        return _absolute(base.scheme, href[slashes:])
    path, mark, query = href.partition("?")
    if slashes:
        path = _path(path)
    elif path:
        path = _path(base.folder + path)
    else:
        return base.origin + base.path + (_query(mark + query) if mark else base.query)
    return base.origin + path + _query(mark + query) if mark else base.origin + path


def _clean(href: str) -> str:
    """Without what the URL parser drops before it looks: see "URL parsing", steps 1 to 3."""
    href = href.strip(_C0_AND_SPACE)
    if not href.isprintable():  # tabs, newlines, lone surrogates: all unprintable
        href = href.translate(_TAB_AND_NEWLINE)
        if _SURROGATE.search(href):
            href = _SURROGATE.sub("\ufffd", href)
    return href


_C0_AND_SPACE: Final = "".join(map(chr, range(0x21)))
_TAB_AND_NEWLINE: Final = dict.fromkeys(b"\t\n\r")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _slashes(text: str) -> int:
    """How many slashes, of either kind, the text starts with."""
    found = _SLASHES.match(text)
    return found.end() if found else 0


def _absolute(scheme: str, rest: str) -> str | None:
    """The URL whose host, path and query are ``rest``; ``None`` without a valid host."""
    found = _AUTHORITY.match(rest)
    end = found.end() if found else 0
    origin = _origin(scheme, rest[:end])
    if origin is None:
        return None
    path, mark, query = rest[end:].partition("?")
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
        host = _percent_decode(host)
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
    if labels[-1] == "" and len(labels) > 1:
        labels.pop()
    if _HOST_NUMERIC.fullmatch(labels[-1]):
        return _ipv4(labels)
    return host


def _percent_decode(text: str) -> str:
    """Bytes written as ``%XX`` put back, then read as UTF-8."""
    raw = re.sub(
        rb"%([0-9A-Fa-f]{2})", lambda found: bytes((int(found[1], 16),)), text.encode("utf-8")
    )
    return raw.decode("utf-8", "replace")


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
                numbers.append(int(part, 8 if len(part) > 1 and part[0] == "0" else 10))
        except ValueError:
            return None
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 256 ** (4 - len(numbers)):
        return None
    value = last + sum(number << (24 - 8 * place) for place, number in enumerate(numbers))
    return ".".join(map(str, value.to_bytes(4, "big")))


def _ipv6(text: str) -> str | None:
    """An IPv6 address in brackets, shortened as the URL Standard has it, or ``None``."""
    head, gap, tail = text.partition("::")
    if "::" in tail or tail.startswith(":") or len(text) > 45:
        return None
    before = _ipv6_pieces(head, ends=not gap)
    after = _ipv6_pieces(tail, ends=True)
    if before is None or after is None:
        return None
    missing = 8 - len(before) - len(after)
    if missing < 1 if gap else missing:
        return None
    pieces = [*before, *[0] * missing, *after]
    # The first of the longest runs of two or more zeros becomes "::".
    best, length = 0, 1
    for start in range(8):
        run = 0
        while start + run < 8 and pieces[start + run] == 0:
            run += 1
        if run > length:
            best, length = start, run
    hexes = [f"{piece:x}" for piece in pieces]
    if length < 2:
        return f"[{':'.join(hexes)}]"
    return f"[{':'.join(hexes[:best])}::{':'.join(hexes[best + length :])}]"


def _ipv6_pieces(text: str, *, ends: bool) -> list[int] | None:
    """The 16-bit pieces of one side of ``::``; the last may be a dotted IPv4 address."""
    if not text:
        return []
    pieces: list[int] = []
    parts = text.split(":")
    for place, part in enumerate(parts):
        if "." in part and ends and place == len(parts) - 1:
            numbers = part.split(".")
            if len(numbers) != 4 or not all(
                re.fullmatch("0|[1-9][0-9]{0,2}", n) and int(n) < 256 for n in numbers
            ):
                return None
            a, b, c, d = map(int, numbers)
            pieces += [a << 8 | b, c << 8 | d]
        elif re.fullmatch("[0-9A-Fa-f]{1,4}", part):
            pieces.append(int(part, 16))
        else:
            return None
    return pieces


def _path(path: str) -> str:
    """An absolute path in normal form."""
    if "\\" in path:
        path = path.replace("\\", "/")
    if path[0] != "/":
        path = "/" + path
    if _MAYBE_DOTS.search(path):
        path = _without_dots(path)
    return _PATH_UNSAFE.sub(_percent_encode, path) if _PATH_UNSAFE.search(path) else path


def _without_dots(path: str) -> str:
    """A path with its ``.`` and ``..`` segments, also written ``%2e``, carried out."""
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


def _percent_encode(found: re.Match[str]) -> str:
    """The matched characters as ``%XX`` of their UTF-8 bytes."""
    return "".join([f"%{byte:02X}" for byte in found[0].encode("utf-8")])


# --- HTML ---------------------------------------------------------------------

_S = r"[\t\n\f\r ]"
_NAME_END = r"(?=[\t\n\f\r />])"

# Every attribute of a tag, wrong ones included, as the tokenizer reads them.
_VALUE = rf"""(?={_S}*+=){_S}*+={_S}*+
    (?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r "'>][^\t\n\f\r >]*+|)"""
_ATTRIBUTES = rf"(?:[\t\n\f\r /]++|[^\t\n\f\r />][^\t\n\f\r />=]*+(?:{_VALUE})?+)*+"

# A tag that is neither a link nor changes how what follows is read, written
# plainly and without "<", so that the search may go on inside it. First letters
# tell: the names to leave out begin with a, ba, if, ma, no, pl, sc, st, sv, te,
# ti and x; of the end tags only /template counts.
_PLAIN_ATTRIBUTE = rf"""{_S}++[a-z\-]++="[^"<]*+" """
_PLAIN_END = rf"""(?:>|[ ][a-z]++="[^"<]*+">|(?:{_PLAIN_ATTRIBUTE})*+{_S}*+/?+>)"""
_PLAIN_TAG = rf"""(?:/(?:[a-su-z]|t(?!e))[a-z0-9]*+>
    |(?:[c-hj-loqru-wyz]|p(?!l)|b(?!a)|i(?!f)|m(?!a)|n(?!o)|s(?![ctv])|t(?![ei]))
        [a-z0-9]*+{_PLAIN_END}
    |![A-Za-z ]*+>)"""

# A link written plainly, up to the quote that opens its reference.
_PLAIN_LINK = rf"""a(?:[ ]href="|(?:(?!{_S}++href=){_PLAIN_ATTRIBUTE})*+{_S}++href=")
    (?=[^"<&]*+"{_PLAIN_END})"""
# A reference that only needs the origin or a folder put in front: no scheme, no
# "//", no dots but at the start, nothing to encode, no fragment.
_SAFE = r"""(?:/|\./|(?:\.\./)++|(?=\w))(?:[\w~\-]++[./]?+)*+(?:\?[\w.~\-&=+]*+|)(?=["\#])"""
# Any other, captured with the quote or hash that ends it.
_QUOTED = r"""[^"\#]*+["\#]"""

_RAW_TEXT_NAMES = ("style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")


def _raw_text(name: str) -> str:
    """An element whose content is text up to its own end tag."""
    return rf"""(?i:{name}){_NAME_END}{_ATTRIBUTES}>
        [^<]*+(?:(?!</(?i:{name}){_NAME_END})<[^<]*+)*+"""


# The content of a script: between "<!--" and "-->" a "<script" takes a "</script"
# with it (the "script data escaped" and "double escaped" states).
_SCRIPT_START = rf"<(?i:script){_NAME_END}"
_SCRIPT_END = rf"</(?i:script){_NAME_END}"
_SCRIPT_TWICE = rf"""{_SCRIPT_START}
    (?:[^<\-]++|(?!-->|{_SCRIPT_END})[<\-])*+(?:{_SCRIPT_END})?+"""
_SCRIPT_ESCAPED = rf"""(?:[^<\-]++|(?!-->|{_SCRIPT_END}|{_SCRIPT_START})[<\-]
    |(?={_SCRIPT_START}){_SCRIPT_TWICE})*+(?:-->)?+"""
_SCRIPT = rf"""(?i:script){_NAME_END}{_ATTRIBUTES}>
    (?:[^<]++|(?!{_SCRIPT_END}|<!--)<|(?=<!--)<!--(?:-?>|{_SCRIPT_ESCAPED}))*+"""

_COMMENT = r"!--(?:-?>|[^\-]*+(?:(?!--!?>)-[^\-]*+)*+(?:--!?>)?+)"

# SVG and MathML have no raw text of their own ("<svg><style/>" hides nothing), so
# the tokenizer must know where they are; but only where such an element, or a
# CDATA section, is inside. The others are tags like any other.
_FOREIGN = "(?i:svg|math)"
_FOREIGN_PLAIN = rf"""[^<]*+(?:(?!</?+{_FOREIGN}{_NAME_END}|<!|<(?i:script|plaintext|template|
    {"|".join(_RAW_TEXT_NAMES)}){_NAME_END})<[^<]*+)*+</"""

# A tag that needs a closer look.
_TAG = rf"""(?i:a|area|base|/?+template){_NAME_END}{_ATTRIBUTES}>
    |(?i:svg){_NAME_END}{_ATTRIBUTES}>(?!{_FOREIGN_PLAIN}(?i:svg))
    |(?i:math){_NAME_END}{_ATTRIBUTES}>(?!{_FOREIGN_PLAIN}(?i:math))"""

# What a "<" can begin. One of these comes out: a safe reference, bare; another
# plain one with the quote or hash that ended it; the whole of a tag that needs a
# closer look, ">" included; nothing. The last character tells them apart. The
# search goes on behind a plain link's reference: the tag has no further "<".
_TOKEN: Final = re.compile(
    rf"""<(?!{_PLAIN_TAG})(?:{_PLAIN_LINK}|)
    ((?<=")(?:{_SAFE}|{_QUOTED})|{_TAG}|)
    (?:(?<=<)(?:{_COMMENT}
        |{_SCRIPT}
        |{"|".join(map(_raw_text, _RAW_TEXT_NAMES))}
        |(?i:plaintext){_NAME_END}{_ATTRIBUTES}>.*+
        |/?+[A-Za-z][^\t\n\f\r />]*+{_ATTRIBUTES}(?:>|\Z)
        |[!?/][^>]*+)|)""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)

# The href of a tag that came out whole; the first one counts.
_HREF: Final = re.compile(
    rf"""[A-Za-z]++(?:[\t\n\f\r /]++
        |(?!(?i:href)[\t\n\f\r />=])[^\t\n\f\r />][^\t\n\f\r />=]*+(?:{_VALUE})?+)*+
    (?i:href)(?:{_S}*+={_S}*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r "'>][^\t\n\f\r >]*+))?+)?+""",
    re.VERBOSE,
)


def extract(body: bytes, url: str, charset: str | None) -> list[str]:
    """The links of an HTML page: absolute normal URLs, in the order of the page.

    ``url`` is where the page was fetched; ``charset`` is what its Content-Type
    header says, if anything. A byte order mark goes first, then ``charset``,
    then a ``<meta>`` in the first 1024 bytes, then UTF-8; what cannot be decoded
    becomes U+FFFD, and an unknown name means UTF-8. Links that appear twice come
    out twice; a link to a part of the page is a link to the page. Never raises.
    """
    encoding = _encoding(body, charset)
    if encoding in _WHOLE:
        text = body.decode(encoding, "replace")
        encoding = ""
    else:
        text = body.decode("latin-1")
    items = _TOKEN.findall(text)
    folders = _folders(url)
    if folders is None:
        return _with_care(items, text, url, encoding)
    folder, root = folders[0], folders[-1]
    origin = root[:-1]
    base: _Base | None = None
    links: list[str] = []
    add = links.append
    for item in items:
        if item:
            last = item[-1]
            if last > "#" and last != ">":
                first = item[0]
                if first == "/":
                    add(origin + item)
                elif first != ".":
                    add(folder + item)
                elif item[1] == "/":
                    add(folder + item[2:])
                else:
                    steps = item.count("../")  # at the start, or it were not safe
                    above = folders[steps] if steps < len(folders) else folders[-1]
                    add(above + item[3 * steps :])
            elif item == "#":
                add(url)
            elif last != ">":
                if last == '"' and item.startswith(root) and _PLAIN_TAIL.match(item, len(root)):
                    add(item[:-1])
                    continue
                base = base or _split(url)
                if (link := _resolve(base, _decode(item[:-1], encoding))) is not None:
                    add(link)
            elif not _LINK_TAG.match(item):
                # A base, a template or foreign content bears on the whole page.
                return _with_care(items, text, url, encoding)
            elif (href := _href(item, encoding)) is not None:
                base = base or _split(url)
                if (link := _resolve(base, href)) is not None:
                    add(link)
    return links


# What may stand behind the last slash of a path for the whole URL to be normal,
# and a folder in normal form, if normalise agrees.
_FILE: Final = re.compile(r"(?:[\w~\-][\w~\-.%]*+)?+(?:\?[\w.~\-&=+/%]*+)?+\Z", re.ASCII)
_FOLDER: Final = re.compile(
    r"https?://[a-z0-9.\-]++(?::[0-9]++)?+/(?:[\w~\-][\w~\-.%]*+/)*+", re.ASCII
)
# What may stand behind the root for a captured reference to be a normal URL.
_PLAIN_TAIL: Final = re.compile(r'(?:[\w~\-]++[./]?+)*+(?:\?[\w.~\-&=+]*+)?+"', re.ASCII)
_LINK_TAG: Final = re.compile(r"(?i:a(?:rea)?)(?![A-Za-z])")


def _folders(url: str) -> tuple[str, ...] | None:
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


def _with_care(items: list[str], text: str, url: str, encoding: str) -> list[str]:
    """:func:`extract` for a page with a base, templates, foreign content or an odd URL."""
    read = _read(items, encoding)
    if read is None:
        read = _read(_foreign_items(text), encoding)
    hrefs, base_href = read or ([], None)
    base = _base(url) if base_href is None else _base_href(url, base_href)
    return [link for href in hrefs if (link := _resolve(base, href)) is not None]


def _read(items: list[str], encoding: str) -> tuple[list[str], str | None] | None:
    """The references among what :data:`_TOKEN` found, and the first base's.

    ``None`` when SVG or MathML calls for the slow tokenizer.
    """
    hrefs: list[str] = []
    base_href: str | None = None
    templates = 0
    for item in items:
        if not item:
            continue
        if item[-1] != ">":
            if not templates:
                hrefs.append(_decode(item[:-1] if item[-1] in '"#' else item, encoding))
            continue
        found = _NAME.match(item)
        name = found[0].lower() if found else ""
        if name == "template":
            templates += 1
        elif name == "/template":
            templates = max(templates - 1, 0)
        elif name in ("svg", "math"):
            return None
        elif not templates and (href := _href(item, encoding)) is not None:
            if name != "base":
                hrefs.append(href)
            elif base_href is None:
                base_href = href
    return hrefs, base_href


def _href(tag: str, encoding: str) -> str | None:
    """The decoded href of a tag; ``None`` when it has none."""
    found = _HREF.match(tag)
    if not found:
        return None
    return _unescape(_decode(found[1] or found[2] or found[3] or "", encoding))


def _decode(href: str, encoding: str) -> str:
    """A reference read byte by byte, in the page's own encoding."""
    if encoding and not href.isascii():
        href = href.encode("latin-1").decode(encoding, "replace")
    return href.replace("\0", "\ufffd")


def _base_href(url: str, href: str) -> _Base | None:
    """The base that ``<base href>`` makes on the page at ``url``.

    One that is no URL, ``data:`` or ``javascript:`` is ignored; one of another
    scheme leaves relative links without a base.
    """
    link = normalise(url, href)
    if link is not None:
        return _base(link)
    named = _SCHEME.match(_clean(href))
    if named and named[1].lower() not in ("http", "https", "data", "javascript"):
        return None
    return _base(url)


_NAME: Final = re.compile(r"/?+[A-Za-z]++")


# The slow tokenizer: every tag, one at a time, knowing what is SVG or MathML.
_STEP: Final = re.compile(
    rf"""<(?:(/?+[A-Za-z][^\t\n\f\r />]*+)({_ATTRIBUTES})(>|\Z)
        |(!\[CDATA\[)|{_COMMENT}|[!?/][^>]*+)""",
    re.DOTALL | re.VERBOSE,
)
# Where HTML begins again inside either, and the tags that end both.
_HTML_INSIDE: Final = {
    "svg": frozenset(("foreignobject", "desc", "title")),
    "math": frozenset(("mi", "mo", "mn", "ms", "mtext")),
}
_BREAKS_OUT: Final = re.compile(
    r"""b|big|blockquote|body|br|center|code|dd|div|dl|dt|em|embed|h[1-6]|head|hr|i|img|li
    |listing|menu|meta|nobr|ol|p|pre|ruby|s|small|span|strong|strike|sub|sup|table|tt|u|ul|var
    |/p|/br""",
    re.VERBOSE,
)
_DEPTH: Final = 64  # of SVG and MathML; deeper nesting is not followed, as in browsers
_LINKS: Final = frozenset(("a", "area", "base", "template"))


def _foreign_items(text: str) -> list[str]:
    """What :data:`_TOKEN` would find, with SVG and MathML read by their own rules.

    There ``style``, ``title``, ``script`` and the like are elements as any
    other, CDATA sections exist, and most HTML start tags end it all.
    """
    items: list[str] = []
    around: list[str] = []  # svg, math and the elements in them that hold HTML again
    at = 0
    while step := _STEP.search(text, at):
        at = step.end()
        inside = _HTML_INSIDE.get(around[-1]) if around else None
        if step[4]:
            if inside is not None:
                end = text.find("]]>", at)
                at = len(text) if end < 0 else end + 3
            else:
                end = text.find(">", at)
                at = len(text) if end < 0 else end
            continue
        if not step[3]:
            continue
        name = step[1].lower()
        if inside is not None and _BREAKS_OUT.fullmatch(name):
            while around and around[-1] in _HTML_INSIDE:
                around.pop()
            inside = None
        if name.startswith("/"):
            if name[1:] in around and (inside is not None or around[-1] == name[1:]):
                while around.pop() != name[1:]:
                    pass
            elif name == "/template" and inside is None:
                items.append(step[0][1:])
        elif name in _HTML_INSIDE or (inside is not None and name in inside):
            if not step[0].endswith("/>") and len(around) < _DEPTH:
                around.append(name)
        elif name in _LINKS:
            if inside is None or name != "template":
                items.append(step[0][1:])
        elif inside is None and (raw := _RAW.match(text, step.start())):
            at = raw.end()
    return items


_RAW: Final = re.compile(
    rf"""<(?:{_SCRIPT}|{"|".join(map(_raw_text, _RAW_TEXT_NAMES))}
        |(?i:plaintext){_NAME_END}{_ATTRIBUTES}>.*+)""",
    re.DOTALL | re.VERBOSE,
)

_REFERENCE: Final = re.compile(
    r"&(?:#(?:[xX]([0-9A-Fa-f]++)|([0-9]++));?+|([A-Za-z][A-Za-z0-9]*+)(;|=)?+)"
)


def _unescape(value: str) -> str:
    """An attribute's value with its character references decoded.

    Unlike :func:`html.unescape`, which is for text: in an attribute
    ``&copy=1`` and ``&copyright`` stay as they are.
    """
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(found: re.Match[str]) -> str:
    """What one character reference stands for."""
    name = found[3]
    if name:
        # All of the letters and digits belong to the name: a shorter name that is
        # known without its semicolon does not count before a letter or digit.
        if found[4] == ";":
            return html5.get(f"{name};", found[0])
        return found[0] if found[4] else html5.get(name, found[0])
    digits, radix = (found[1], 16) if found[1] else (found[2], 10)
    digits = digits.lstrip("0") or "0"
    code = int(digits, radix) if len(digits) <= 7 else 0
    if 0x80 <= code < 0xA0:
        return bytes((code,)).decode("cp1252", "replace").replace("\ufffd", chr(code))
    if code == 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return chr(code)


# --- character encodings --------------------------------------------------------

_META_CHARSET: Final = re.compile(
    rb"<meta\s[^>]*?charset\s*+=\s*+[\"']?+\s*+([\w.:\-]++)", re.IGNORECASE
)
_PRESCAN: Final = 1024
_LABEL: Final = re.compile(r"\s*+[\"']?+([\w.:\-]{1,40}+)[\"']?+\s*+", re.ASCII)
# Python's names of the encodings of the web. In all but _WHOLE no byte of a longer
# character can be taken for "<", ">", a quote, "&", "#" or "=", so a page is read
# byte by byte and only its references are decoded.
_WEB_CODEC: Final = re.compile(
    r"""utf-8|cp125[0-8]|cp866|cp874|iso8859-\d+|koi8-[ru]|mac-(?:roman|cyrillic)|tis-620
    |gbk|gb18030|gb2312|big5(?:hkscs)?|euc_jp|euc_kr|cp949|shift_jis|cp932
    |utf-16-[bl]e|iso2022_jp""",
    re.VERBOSE,
)
_WHOLE: Final = frozenset(("utf-16-le", "utf-16-be", "iso2022_jp"))
_LABELS: Final = {
    # As every browser reads them.
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "utf-16": "utf-16-le",
    "gb2312": "gbk",
}
_MARKS: Final = {
    b"\xef\xbb": "utf-8",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


def _encoding(body: bytes, charset: str | None) -> str:
    """The Python codec that reads a page."""
    if (marked := _MARKS.get(body[:2])) is not None:
        return marked
    if charset is not None:
        return _codec(charset)
    if named := _META_CHARSET.search(body, 0, _PRESCAN):
        codec = _codec(named[1].decode("ascii", "replace"))
        # A page whose <meta> could be read is not in UTF-16, whatever it says.
        return "utf-8" if codec.startswith("utf-16") else codec
    return "utf-8"


@lru_cache(maxsize=64)
def _codec(label: str) -> str:
    """The Python codec of an encoding label, UTF-8 for one that is not of the web."""
    plain = _LABEL.fullmatch(label)
    if not plain:
        return "utf-8"
    try:
        name = codecs.lookup(plain[1]).name
    except LookupError:
        return "utf-8"
    name = _LABELS.get(name, name)
    return name if _WEB_CODEC.fullmatch(name) else "utf-8"
