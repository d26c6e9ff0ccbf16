"""Hostile HTML, charsets, links, redirect targets and start URLs.

The expected links are those of a browser without scripts. Each page and redirect is also
served to every backend, and all must send the same requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from crawlers.conformance.scripted import ScriptedServer, page
from crawlers.job import JobError
from crawlers.links import extract
from crawlers.origins import normal_root
from crawlers.page import content_type
from crawlers.urls import normalise
from tests.torture.attacks.answers import Rows

HOST: Final = "site.test"
PAGE: Final = f"http://{HOST}/a/b"


@dataclass(frozen=True, slots=True)
class Html:
    """A page and the targets of its links on its own host, "!" for a link elsewhere."""

    name: str
    body: str | bytes
    wanted: tuple[str, ...] = ()
    charset: str | None = None  # of the Content-Type header
    encoding: str = "utf-8"  # of the bytes

    def raw(self, host: str = HOST) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.replace(HOST, host).encode(self.encoding, "surrogatepass")


@dataclass(frozen=True, slots=True)
class Target:
    """A reference and the URL it leads to from :data:`PAGE`, None for none."""

    name: str
    reference: str
    wanted: str | None


def link(reference: str) -> str:
    return f'<a href="{reference}">'


TAGS: Final = (
    Html("a base after the links", link("x") + '<base href="/c/">', ("/c/x",)),
    Html("a base without href first", '<base target=x><base href="/d/">' + link("x"), ("/d/x",)),
    Html("a base of another host", '<base href="//else.test/">' + link("x"), ("!",)),
    Html("a base with a user", '<base href="http://u:p@site.test/c/">' + link("x"), ("/c/x",)),
    Html("a base with a query", '<base href="/c/?q/r">' + link("x") + link(""),
         ("/c/x", "/c/?q/r")),
    Html("a base of mailto:", '<base href="mailto:x">' + link("y"), ()),
    Html("a base that is broken", '<base href="http://[">' + link("y"), ("/a/y",)),
    Html("a base in a template", '<template><base href="/c/"></template>' + link("y"), ("/a/y",)),
    Html("a base with a BOM in it", '<base href="\ufeff/c/">' + link("y"), ("/a/%EF%BB%BF/c/y",)),
    Html("a comment that ends early", "<!-->" + link("x"), ("/a/x",)),
    Html("a comment that ends with --!>", "<!-- a --!>" + link("x"), ("/a/x",)),
    Html("a bogus end tag", "</ a>" + link("x"), ("/a/x",)),
    Html("CDATA in HTML", "<![CDATA[ > " + link("x") + " ]]>", ("/a/x",)),
    Html("CDATA in SVG", "<svg><![CDATA[ > " + link("x") + " ]]></svg>" + link("y"), ("/a/y",)),
    Html("a script in a script", "<script><!--<script></script>" + link("x"), ()),
    Html("a style that does not close", "<style></styl e>" + link("x"), ()),
    Html("plaintext", "<plaintext></plaintext>" + link("x"), ()),
    Html("an attribute that is never closed", '<a title="' + link("x"), ()),
    Html("an href that is never closed", '<a href="x', ()),
    Html("a tag in a tag", "<a <a href=x>", ("/a/x",)),
    Html("two hrefs", "<a href=x href=y>", ("/a/x",)),
    Html("a quote before href", "<a \"href=x>", ()),
    Html("a quote in an unquoted href", "<a href=x\"y>", ("/a/x%22y",)),
    Html("backticks around href", "<a href=`x`>", ("/a/%60x%60",)),
    Html("form feeds and line feeds", "<a\fhref\n=\r\n'x'\f>", ("/a/x",)),
    Html("a NUL in the attribute's name", "<a hr\0ef=x>", ()),
    Html("a NUL in href", "<a href='x\0y'>", ("/a/x%EF%BF%BDy",)),
    Html("a Kelvin sign", "<linK href=x><a href=y>", ("/a/y",)),
    Html("a prefix of a", "<abbr href=x><a-b href=y>", ()),
    Html("templates that do not match", "</template><template><template></template>" + link("x")
         + "</template>" + link("y"), ("/a/y",)),
    Html("ten thousand open tags", "<div>" * 10_000 + link("x"), ("/a/x",)),
    Html("ten thousand open comments", "<!--" * 10_000 + link("x"), ()),
    Html("ten thousand attributes", "<a " + "a=b " * 10_000 + "href=x>", ("/a/x",)),
    Html("a name of 100,000 letters", "<" + "a" * 100_000 + ">" + link("x"), ("/a/x",)),
    Html("quotes a hundred thousand times", "<a " + "'" * 100_000 + " href=x>" + link("y"),
         ("/a/x", "/a/y")),
    Html("a number of 100,000 digits", link("x&#" + "9" * 100_000 + ";y"), ("/a/x%EF%BF%BDy",)),
    Html("entities in href", link("&#x2f;x&colon;&Tab;y&nbsp;&amp;amp;"), ("/x:y%C2%A0&amp;",)),
    Html("a scheme in entities", link("java&Tab;script&colon;alert()"), ()),
    Html("an entity without its end", link("/x?a=1&copy=2&reg"), ("/x?a=1&copy=2%C2%AE",)),
    Html("entities of surrogates", link("/&#xD800;&#xDFFF;"), ("/%EF%BF%BD%EF%BF%BD",)),
    Html("an entity of C1", link("/x&#128;"), ("/x%E2%82%AC",)),
)  # fmt: skip
CHARSETS: Final = (
    Html("UTF-7", "+ADw-a href=x+AD4-" + link("y"), ("/a/y",), "utf-7"),
    Html("UTF-16 with a mark", "\ufeff" + link("/é"), ("/%C3%A9",), None, "utf-16-le"),
    Html("UTF-16 that the header names", link("/é"), ("/%C3%A9",), "UTF-16LE", "utf-16-le"),
    Html("UTF-16 that meta names", '<meta charset="utf-16">' + link("/é"), ("/%C3%A9",)),
    Html("a mark against the header", "\ufeff" + link("/é"), ("/%C3%A9",), "koi8-r"),
    Html("half a unit of UTF-16", ("\ufeff" + link("/x")).encode("utf-16-le") + b"<", ("/x",)),
    Html("half a pair in UTF-16", "\ufeff" + link("/\ud800x"), ("/%EF%BF%BDx",), None, "utf-16-le"),
    Html("a surrogate in UTF-8", link("/\udcff"), ("/%EF%BF%BD%EF%BF%BD%EF%BF%BD",)),
    Html("an overlong slash", b'<a href="\xc0\xafx">', ("/a/%EF%BF%BD%EF%BF%BDx",)),
    Html("beyond Unicode", b'<a href="/\xf4\x90\x80\x80">', ("/" + "%EF%BF%BD" * 4,)),
    Html("a codec that is no charset", link("/é"), ("/%C3%A9",), "punycode"),
    Html("undefined as a charset", link("/é"), ("/%C3%A9",), "undefined"),
    Html("unicode_escape as a charset", link(r"\x2f\x2f"), ("/x2f/x2f",), "unicode_escape"),
    Html("a charset with a NUL", link("/é"), ("/%C3%A9",), "utf\0-8"),
    Html("ISO-8859-1 is windows-1252", link("/€"), ("/%E2%82%AC",), "latin1", "cp1252"),
    Html("ISO-2022-JP", link("/日"), ("/%E6%97%A5",), "iso-2022-jp", "iso2022_jp"),
    Html("an escape to hide a quote", b'<a href="\x1b$B">' + b'<a href="/x">', (),
         "iso-2022-jp"),
    Html("meta after 1024 bytes", " " * 1024 + "<meta charset=koi8-r>" + link("/é"),
         ("/%C3%A9",)),
    Html("a name of 100,000 letters as meta", f"<meta charset={'x' * 100_000}>" + link("/x"),
         ("/x",)),
    Html("all bytes", bytes(range(256)) * 50 + b"'\"><a href=/x>", ("/x",)),
)  # fmt: skip


def to(name: str, reference: str, wanted: str | None) -> Target:
    """A target; a path is one on the page's own host."""
    if wanted is not None and wanted.startswith("/"):
        wanted = f"http://{HOST}{wanted}"
    return Target(name, reference, wanted)


TARGETS: Final = (
    to("a user and password", "http://u:p@site.test/x", "/x"),
    to("an at sign after a host", "http://site.test@else.test/x", "http://else.test/x"),
    to("an encoded at sign", "http://site.test%40else.test/x", None),
    to("a backslash before an at sign", "http://site.test\\@else.test/x", "/@else.test/x"),
    to("backslashes as slashes", "\\\\site.test\\x", "/x"),
    to("no slash after the scheme", "http:x", "/a/x"),
    to("a scheme with tabs", "ht\ttp:\n//site.test/x", "/x"),
    to("a tab in the host", "http://si\tte.test/x", "/x"),
    to("a NUL in the host", "http://site.test\0/x", None),
    to("a newline in the path", "/x\r\nHost: evil\r\n\r\n", "/xHost:%20evil"),
    to("an encoded newline", "/x%0d%0aHost:evil", "/x%0d%0aHost:evil"),
    to("port 0", "http://site.test:0/x", "http://site.test:0/x"),
    to("port 65536", "http://site.test:65536/x", None),
    to("an empty port", "http://site.test:/x", "/x"),
    to("a port of 5,000 digits", "http://site.test:" + "9" * 5000 + "/x", None),
    to("a port in Arabic digits", "http://site.test:٨٠/x", None),
    to("IPv6 in full", "http://[0:0:0:0:0:0:0:1]/x", "http://[::1]/x"),
    to("IPv6 with a zone", "http://[fe80::1%25eth0]/x", None),
    to("IPv6 with IPv4", "http://[::ffff:127.0.0.1]/x", "http://[::ffff:7f00:1]/x"),
    to("IPv6 of nine pieces", "http://[1:2:3:4:5:6:7:8:9]/x", None),
    to("IPvFuture", "http://[v1.x]/x", None),
    to("IPv4 in octal", "http://0177.0.0.01/x", "http://127.0.0.1/x"),
    to("IPv4 as a number", "http://2130706433/x", "http://127.0.0.1/x"),
    to("IPv4 with a bad octal", "http://127.0.0.08/x", None),
    to("IPv4 in fullwidth", "http://１２７.０.０.１/x", "http://127.0.0.1/x"),
    to("an ideographic dot", "http://site。test/x", "/x"),
    to("a soft hyphen in a host", "http://si\u00adte.test/x", "/x"),
    to("a host outside ASCII", "http://bücher.test/x", "http://xn--bcher-kva.test/x"),
    to("a host of 100,000 letters", "http://" + "é" * 100_000 + "/x", None),
    to("a label of punycode that is none", "http://xn--\u00fc/x", None),
    to("an encoded slash in a host", "http://site.test%2Fx/", None),
    to("a surrogate in a host", "http://\ud800.test/x", None),
    to("encoded dots", "/c/%2e%2E/x", "/x"),
    to("twice encoded dots", "/c/%252e%252e/x", "/c/%252e%252e/x"),
    to("dots and a backslash", "/c\\..\\x", "/x"),
    to("above the root", "/../../../../etc/passwd", "/etc/passwd"),
    to("a percent sign alone", "/x%", "/x%"),
    to("a question mark alone", "?", "/a/b?"),
    to("blanks", " \t\r\n\f ", "/a/b"),
    to("a colon first", ":x", "/a/:x"),
    to("data:", "data:text/html,<a href=/x>", None),
    to("javascript:", "JavaScript:location='/x'", None),
    to("an unknown scheme", "x-y+z.1:/x", None),
    to("a path of 60,000 bytes", "/" + "x" * 60_000, "/" + "x" * 60_000),
    to("ten thousand dots above", "../" * 10_000 + "y", "/y"),
    to("a brace and a bar", "/{x|y}^`", "/%7Bx|y%7D%5E%60"),
    to("quotes", "/'\"<>?'\"<>", "/'%22%3C%3E?%27%22%3C%3E"),
    to("an emoji", "/\U0001f577", "/%F0%9F%95%B7"),
)

ROOTS: Final = {
    **dict.fromkeys(("", " ", "http://", "//", "/", "http:///", ":80", "a b", "http://[::1"), None),
    **dict.fromkeys(("http:", "http:80", "https:/127.0.0.1/"), None),  # were hosts of that name
    **dict.fromkeys(("ftp://127.0.0.1/", "javascript://127.0.0.1/", "data:,x"), None),
    **dict.fromkeys(("\x1b[2J", "\x00", "http://\ud800/", "x" * 100_000 + ":1:1"), None),
    "127.0.0.1": "http://127.0.0.1/",
    "127.0.0.1:8000/x y": "http://127.0.0.1:8000/x%20y",
    "HTTPS://127.0.0.1/": "https://127.0.0.1/",
    "localhost#x": "http://localhost/",
    "localhost?x": "http://localhost/?x",
    "-": "http://-/",
}
"""Start URLs as typed, and their normal forms, None for a refusal."""


def links(case: Html) -> str | None:
    kind = content_type(f"text/html; charset={case.charset}".encode())[2] if case.charset else None
    charset = case.charset if case.charset is not None and kind is None else kind
    found = extract(case.raw(), PAGE, charset)
    prefix = f"http://{HOST}/"
    shown = [url[len(prefix) - 1 :] if url.startswith(prefix) else "!" for url in found]
    wanted = list(case.wanted)
    if wanted == ["!"]:
        return None if len(shown) == 1 else f"{len(shown)} links"
    return None if shown == wanted else f"{shown!r:.300} instead of {wanted!r:.200}"


def target(case: Target) -> str | None:
    """What is wrong with a resolved reference, None if nothing is."""
    found = normalise(PAGE, case.reference)
    if found != case.wanted:
        return f"{found!r:.300} instead of {case.wanted!r:.200}"
    return None if found is None or normalise(found, found) == found else "not normal"


def root(typed: str) -> str | None:
    """What is wrong with a start URL, None if nothing is."""
    try:
        found: str | None = normal_root(typed)
    except JobError as error:
        found = None
        if "\n" in str(error):
            return "an error of several lines"
    wanted = ROOTS[typed]
    return None if found == wanted else f"{found!r:.300} instead of {wanted!r:.200}"


def wrong() -> dict[str, str]:
    """What is wrong with any page, link or start URL, by its name."""
    found = {
        **{f"page: {case.name}": links(case) for case in (*TAGS, *CHARSETS)},
        **{f"link: {case.name}": target(case) for case in TARGETS},
        **{f"start: {typed!r:.40}": root(typed) for typed in ROOTS},
    }
    return {name: text for name, text in found.items() if text is not None}


SERVED: Final = 8000
"""Bytes that a reference may have to be served: aiohttp and httpx refuse longer ones."""


def load(server: ScriptedServer) -> None:
    """Serve every page, and every target as a redirect."""
    host = server.url.removeprefix("http://").rstrip("/")
    paths = []
    for at, html in enumerate((*TAGS, *CHARSETS)):
        kind = "text/html" + (f"; charset={html.charset}" if html.charset else "")
        body = html.raw(host)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        if not set(kind) & set("\n\0") and html.wanted != ("!",):
            paths.append(f"/a/{at}")
            server.script[paths[-1]] = head.encode() + body
    for at, each in enumerate(TARGETS):
        location = each.reference.replace(HOST, host).encode("utf-8", "replace")
        if not set(location) & set(b"\r\n\0") and len(location) < SERVED:
            paths.append(f"/r/{at}")
            server.script[paths[-1]] = (
                b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
            )
    server.script["/"] = page(*paths)


def seen(server: ScriptedServer, rows: Rows) -> dict[str, list[Any]]:
    """What a crawl made of every URL, and how often the server was asked for it."""
    found: dict[str, list[Any]] = {
        url.replace(server.url, "/"): [
            *(status, error),
            redirect and redirect.partition("://127.0.0.1:")[2][5:],
        ]
        for url, (status, error, redirect, _) in rows.items()
    }
    for path, count in server.requests.items():
        found.setdefault(path, []).append(count)
    return found
