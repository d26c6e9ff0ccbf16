"""Links out of HTML.

:func:`extract` is on the measured path of every backend, so it must be right
and cheap beside the exchange it follows. It runs one regular expression,
:data:`crawlers.tokens.TOKEN`, over the page once. Tags without links fail a
lookahead and cost one look. Plain links come out ready to be joined to the
page's origin or folder. Everything else comes out marked and is resolved the
long way.

Followed: ``<a href>`` and ``<area href>``, as a browser without scripts sees
them. Not followed: comments, the text of ``script``, ``style``, ``title``,
``textarea``, ``iframe``, ``xmp``, ``noembed``, ``noframes`` and ``plaintext``,
and the inside of ``<template>``, which is not part of the document.

Only the standard library is used: free-threaded builds lack compiled parsers.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Final

from crawlers.charsets import WHOLE, codec_of
from crawlers.tokens import HREF, TOKEN, foreign_items
from crawlers.urls import SCHEME, Base, base_of, clean, folders_of, normalise, resolve, split

# What may follow the root for a captured reference to be a normal URL.
_PLAIN_TAIL: Final = re.compile(r'(?:[\w~\-]++[./]?+)*(?:\?[\w.~\-&=+]*+)?"', re.ASCII)
_LINK_TAG: Final = re.compile(r"(?i:a(?:rea)?)(?![A-Za-z])")
_NAME: Final = re.compile(r"/?+[A-Za-z]++")
_REFERENCE: Final = re.compile(
    r"&(?:#(?:[xX]([0-9A-Fa-f]++)|([0-9]++));?+|([A-Za-z][A-Za-z0-9]*+)(;|=)?+)"
)


def extract(body: bytes, url: str, charset: str | None) -> list[str]:
    """The links of an HTML page: absolute normal URLs, in the order of the page.

    ``url`` is where the page was fetched, and ``charset`` comes from its
    Content-Type header, None without one. See :mod:`crawlers.charsets` for how
    the encoding is chosen; bytes that cannot be decoded become U+FFFD. A link
    that appears twice comes out twice, and a link to a part of the page is a link
    to the page. Never raises.
    """
    encoding = codec_of(body, charset)
    if encoding in WHOLE:
        text = body.decode(encoding, "replace")
        encoding = ""
    else:
        text = body.decode("latin-1")
    items = TOKEN.findall(text)
    folders = folders_of(url)
    if folders is None:
        return _with_care(items, text, url, encoding)
    folder, root = folders[0], folders[-1]
    origin = root[:-1]
    base: Base | None = None
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
                    steps = item.count("../")  # all at the start
                    above = folders[steps] if steps < len(folders) else folders[-1]
                    add(above + item[3 * steps :])
            elif item == "#":
                add(url)
            elif last != ">":
                if last == '"' and item.startswith(root) and _PLAIN_TAIL.match(item, len(root)):
                    add(item[:-1])
                    continue
                base = base or split(url)
                if (link := resolve(base, _decode(item[:-1], encoding))) is not None:
                    add(link)
            elif not _LINK_TAG.match(item):
                # A base, a template or foreign content changes how the whole page is read.
                return _with_care(items, text, url, encoding)
            elif (href := _href(item, encoding)) is not None:
                base = base or split(url)
                if (link := resolve(base, href)) is not None:
                    add(link)
    return links


def _with_care(items: list[str], text: str, url: str, encoding: str) -> list[str]:
    """:func:`extract` for a page with a base, templates, foreign content or an odd URL."""
    read = _read(items, encoding)
    if read is None:
        read = _read(foreign_items(text), encoding)
    hrefs, base_href = read or ([], None)
    base = base_of(url) if base_href is None else _base_href(url, base_href)
    return [link for href in hrefs if (link := resolve(base, href)) is not None]


def _read(items: list[str], encoding: str) -> tuple[list[str], str | None] | None:
    """The references among the items that :data:`TOKEN` found, and the first base.

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
        named = _NAME.match(item)
        name = named[0].lower() if named else ""
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
    match = HREF.match(tag)
    if not match:
        return None
    return _unescape(_decode(match[1] or match[2] or match[3] or "", encoding))


def _decode(href: str, encoding: str) -> str:
    """A reference read byte by byte, in the page's own encoding."""
    if encoding and not href.isascii():
        href = href.encode("latin-1").decode(encoding, "replace")
    return href.replace("\0", "\ufffd")


def _base_href(url: str, href: str) -> Base | None:
    """The base that ``<base href>`` makes on the page at ``url``.

    A ``data:`` or ``javascript:`` base is ignored, and so is one that is not a
    URL. With a base of another scheme, relative links lead nowhere.
    """
    link = normalise(url, href)
    if link is not None:
        return base_of(link)
    named = SCHEME.match(clean(href))
    if named and named[1].lower() not in ("http", "https", "data", "javascript"):
        return None
    return base_of(url)


def _unescape(value: str) -> str:
    """An attribute's value with its character references decoded.

    Unlike :func:`html.unescape`, which is for text, this leaves ``&copy=1`` and
    ``&copyright`` as they are.
    """
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(match: re.Match[str]) -> str:
    """The text of one character reference."""
    name = match[3]
    if name:
        # All of the letters and digits belong to the name. A shorter known name
        # without its semicolon does not count before a letter or digit.
        if match[4] == ";":
            return html5.get(f"{name};", match[0])
        return match[0] if match[4] else html5.get(name, match[0])
    digits, radix = (match[1], 16) if match[1] else (match[2], 10)
    digits = digits.lstrip("0") or "0"
    code = int(digits, radix) if len(digits) <= 7 else 0
    if 0x80 <= code < 0xA0:
        return bytes((code,)).decode("cp1252", "replace").replace("\ufffd", chr(code))
    if code == 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return chr(code)
