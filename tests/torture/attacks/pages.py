"""Hostile HTML, charsets, links, redirect targets and start URLs.

The expected links are those of a browser without scripts. Each page and redirect is also
served to every backend, and all must send the same requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from crawlers.conformance.scripted import ScriptedServer, page
from crawlers.job import JobError
from crawlers.links import extract
from crawlers.origins import normal_root
from crawlers.page import content_type
from crawlers.urls import normalise

HOST: Final = "site.test"
PAGE: Final = f"http://{HOST}/a/b"
FOLDED: Final = "http://{}/a/"


@dataclass(frozen=True, slots=True)
class Html:
    """A page and the targets of its links on its own host, "!" for a link elsewhere."""

    name: str
    body: str | bytes
    wanted: tuple[str, ...] = ()
    charset: str | None = None  # of the Content-Type header
    encoding: str = "utf-8"  # of the bytes

    def raw(self, host: str = HOST) -> bytes:
        """The bytes of the page."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.replace(HOST, host).encode(self.encoding, "surrogatepass")


@dataclass(frozen=True, slots=True)
class Target:
    """A reference and the URL it leads to from :data:`PAGE`, None for none."""

    name: str
    reference: str
    wanted: str | None


@dataclass(frozen=True, slots=True)
class Root:
    """A start URL as typed, and its normal form, None for a refusal."""

    typed: str
    wanted: str | None


def link(reference: str) -> str:
    """An anchor."""
    return f'<a href="{reference}">'


TAGS: Final = (
    Html("a base after the links", link("x") + '<base href="/c/">', ("/c/x",)),
    Html("two bases", '<base href="/c/"><base href="/d/">' + link("x"), ("/c/x",)),
    Html("a base without href first", '<base target=x><base href="/d/">' + link("x"), ("/d/x",)),
    Html("a base of another host", '<base href="//else.test/">' + link("x"), ("!",)),
    Html("a base with a user", '<base href="http://u:p@site.test/c/">' + link("x"), ("/c/x",)),
    Html("a base of dots", '<base href="../../../..">' + link("x"), ("/x",)),
    Html("a base with a query", '<base href="/c/?q/r">' + link("x") + link(""),
         ("/c/x", "/c/?q/r")),
    Html("a base that is a fragment", '<base href="#x">' + link("y"), ("/a/y",)),
    Html("a base of data:", '<base href="data:,x">' + link("y"), ("/a/y",)),
    Html("a base of mailto:", '<base href="mailto:x">' + link("y"), ()),
    Html("a base that is broken", '<base href="http://[">' + link("y"), ("/a/y",)),
    Html("a base in a comment", '<!--<base href="/c/">-->' + link("y"), ("/a/y",)),
    Html("a base in a template", '<template><base href="/c/"></template>' + link("y"), ("/a/y",)),
    Html("a base in a script", '<script><base href="/c/"></script>' + link("y"), ("/a/y",)),
    Html("a base with a BOM in it", '<base href="\ufeff/c/">' + link("y"), ("/a/%EF%BB%BF/c/y",)),
    Html("a comment that is cut", "<!-- " + link("x"), ()),
    Html("a comment that ends early", "<!-->" + link("x"), ("/a/x",)),
    Html("a comment that ends with --!>", "<!-- a --!>" + link("x"), ("/a/x",)),
    Html("a comment in a comment", "<!-- <!-- -->" + link("x"), ("/a/x",)),
    Html("a bogus comment", "<?php echo '>" + link("x"), ("/a/x",)),
    Html("a bogus end tag", "</ a>" + link("x"), ("/a/x",)),
    Html("CDATA in HTML", "<![CDATA[ > " + link("x") + " ]]>", ("/a/x",)),
    Html("CDATA in SVG", "<svg><![CDATA[ > " + link("x") + " ]]></svg>" + link("y"), ("/a/y",)),
    Html("a title that is never closed", "<title>" + link("x"), ()),
    Html("a script in a script", "<script><!--<script></script>" + link("x"), ()),
    Html("a script that closes oddly", "<script></script/x>" + link("x"), ("/a/x",)),
    Html("a style that does not close", "<style></styl e>" + link("x"), ()),
    Html("plaintext", "<plaintext></plaintext>" + link("x"), ()),
    Html("an attribute that is never closed", '<a title="' + link("x"), ()),
    Html("an href that is never closed", '<a href="x', ()),
    Html("a tag that is never closed", '<a href="x"', ()),
    Html("a tag in a tag", "<a <a href=x>", ("/a/x",)),
    Html("two hrefs", "<a href=x href=y>", ("/a/x",)),
    Html("a slash before href", "<a/href=x>", ("/a/x",)),
    Html("a slash in href", "<a href=x/>", ("/a/x/",)),
    Html("a quote before href", "<a \"href=x>", ()),
    Html("an equals sign before href", "<a =href=x>", ()),
    Html("a quote in an unquoted href", "<a href=x\"y>", ("/a/x%22y",)),
    Html("backticks around href", "<a href=`x`>", ("/a/%60x%60",)),
    Html("form feeds and line feeds", "<a\fhref\n=\r\n'x'\f>", ("/a/x",)),
    Html("a vertical tab before href", "<a\vhref=x>", ()),
    Html("a NUL in the tag's name", "<a\0 href=x>", ()),
    Html("a NUL in the attribute's name", "<a hr\0ef=x>", ()),
    Html("a NUL in href", "<a href='x\0y'>", ("/a/x%EF%BF%BDy",)),
    Html("upper case", "<A HREF=X>", ("/a/X",)),
    Html("a Kelvin sign", "<linK href=x><a href=y>", ("/a/y",)),
    Html("a dotless i in a name", "<scrıpt></scrıpt>" + link("x"), ("/a/x",)),
    Html("a prefix of a", "<abbr href=x><a-b href=y>", ()),
    Html("a namespace", "<svg:a href=x><x:href a=y>", ()),
    Html("xlink", "<svg><a xlink:href=x></svg>", ()),
    Html("a link in MathML", "<math><mi><a href=x></mi></math>", ("/a/x",)),
    Html("templates that do not match", "</template><template><template></template>" + link("x")
         + "</template>" + link("y"), ("/a/y",)),
    Html("ten thousand open tags", "<div>" * 10_000 + link("x"), ("/a/x",)),
    Html("ten thousand open brackets", "<" * 10_000 + link("x"), ("/a/x",)),
    Html("ten thousand open comments", "<!--" * 10_000 + link("x"), ()),
    Html("ten thousand templates", "<template>" * 10_000 + link("x"), ()),
    Html("ten thousand attributes", "<a " + "a=b " * 10_000 + "href=x>", ("/a/x",)),
    Html("a name of 100,000 letters", "<" + "a" * 100_000 + ">" + link("x"), ("/a/x",)),
    Html("a value of a million bytes", '<a title="' + "x" * 1_000_000 + '" href=x>', ("/a/x",)),
    Html("quotes a hundred thousand times", "<a " + "'" * 100_000 + " href=x>" + link("y"),
         ("/a/x", "/a/y")),
    Html("equals signs a hundred thousand times", "<a " + "=" * 100_000 + ">" + link("y"),
         ("/a/y",)),
    Html("an entity of 100,000 letters", link("x&" + "a" * 100_000 + ";"), ("!",)),
    Html("a number of 100,000 digits", link("x&#" + "9" * 100_000 + ";y"), ("/a/x%EF%BF%BDy",)),
    Html("entities in href", link("&#x2f;x&colon;&Tab;y&nbsp;&amp;amp;"), ("/x:y%C2%A0&amp;",)),
    Html("a scheme in entities", link("java&Tab;script&colon;alert()"), ()),
    Html("an entity without its end", link("/x?a=1&copy=2&reg"), ("/x?a=1&copy=2%C2%AE",)),
    Html("entities of surrogates", link("/&#xD800;&#xDFFF;"), ("/%EF%BF%BD%EF%BF%BD",)),
    Html("an entity of NUL", link("/x&#0;"), ("/x%EF%BF%BD",)),
    Html("an entity of C1", link("/x&#128;"), ("/x%E2%82%AC",)),
)  # fmt: skip
CHARSETS: Final = (
    Html("UTF-7", "+ADw-a href=x+AD4-" + link("y"), ("/a/y",), "utf-7"),
    Html("UTF-16 with a mark", "\ufeff" + link("/é"), ("/%C3%A9",), None, "utf-16-le"),
    Html("UTF-16 of the other end", "\ufeff" + link("/é"), ("/%C3%A9",), None, "utf-16-be"),
    Html("UTF-16 that the header names", link("/é"), ("/%C3%A9",), "UTF-16LE", "utf-16-le"),
    Html("UTF-16 that meta names", '<meta charset="utf-16">' + link("/é"), ("/%C3%A9",)),
    Html("a mark against the header", "\ufeff" + link("/é"), ("/%C3%A9",), "koi8-r"),
    Html("half a unit of UTF-16", ("\ufeff" + link("/x")).encode("utf-16-le") + b"<", ("/x",)),
    Html("half a pair in UTF-16", "\ufeff" + link("/\ud800x"), ("/%EF%BF%BDx",), None, "utf-16-le"),
    Html("a surrogate in UTF-8", link("/\udcff"), ("/%EF%BF%BD%EF%BF%BD%EF%BF%BD",)),
    Html("an overlong slash", b'<a href="\xc0\xafx">', ("/a/%EF%BF%BD%EF%BF%BDx",)),
    Html("half a character", b'<a href="/\xe2\x82">', ("/%EF%BF%BD",)),
    Html("beyond Unicode", b'<a href="/\xf4\x90\x80\x80">', ("/" + "%EF%BF%BD" * 4,)),
    Html("a mark twice", "\ufeff\ufeff" + link("x"), ("/a/x",)),
    Html("UTF-32", "\ufeff" + link("x"), (), None, "utf-32-le"),
    Html("an empty charset", link("/é"), ("/%C3%A9",), ""),
    Html("a codec that is no charset", link("/é"), ("/%C3%A9",), "punycode"),
    Html("a codec of bytes", link("/é"), ("/%C3%A9",), "zlib"),
    Html("idna as a charset", link("/é"), ("/%C3%A9",), "idna"),
    Html("mbcs as a charset", link("/é"), ("/%C3%A9",), "mbcs"),
    Html("undefined as a charset", link("/é"), ("/%C3%A9",), "undefined"),
    Html("unicode_escape as a charset", link(r"\x2f\x2f"), ("/x2f/x2f",), "unicode_escape"),
    Html("a charset with a NUL", link("/é"), ("/%C3%A9",), "utf\0-8"),
    Html("a charset with a newline", link("/é"), ("/%C3%A9",), "utf-8\n"),
    Html("a charset outside ASCII", link("/é"), ("/%C3%A9",), "ütf-8"),
    Html("ISO-8859-1 is windows-1252", link("/€"), ("/%E2%82%AC",), "latin1", "cp1252"),
    Html("Shift JIS with a backslash", link("/表"), ("/%E8%A1%A8",), "shift_jis", "shift_jis"),
    Html("ISO-2022-JP", link("/日"), ("/%E6%97%A5",), "iso-2022-jp", "iso2022_jp"),
    Html("an escape to hide a quote", b'<a href="\x1b$B">' + b'<a href="/x">', (),
         "iso-2022-jp"),
    Html("meta after 1024 bytes", " " * 1024 + "<meta charset=koi8-r>" + link("/é"),
         ("/%C3%A9",)),
    Html("a name of 100,000 letters as meta", f"<meta charset={'x' * 100_000}>" + link("/x"),
         ("/x",)),
    Html("nothing", b"", ()),
    Html("all bytes", bytes(range(256)) * 50 + b"'\"><a href=/x>", ("/x",)),
)  # fmt: skip


def to(name: str, reference: str, wanted: str | None) -> Target:
    """A target; a path is one on the page's own host."""
    if wanted is not None and wanted.startswith("/"):
        wanted = f"http://{HOST}{wanted}"
    return Target(name, reference, wanted)


TARGETS: Final = (
    to("a user and password", "http://u:p@site.test/x", "/x"),
    to("two at signs", "http://u@v@site.test/x", "/x"),
    to("an at sign after a host", "http://site.test@else.test/x", "http://else.test/x"),
    to("an encoded at sign", "http://site.test%40else.test/x", None),
    to("a backslash before an at sign", "http://site.test\\@else.test/x", "/@else.test/x"),
    to("an empty user", "http://@site.test/x", "/x"),
    to("a user without a host", "http://u@/x", None),
    to("backslashes as slashes", "\\\\site.test\\x", "/x"),
    to("mixed slashes", "/\\site.test/x", "/x"),
    to("six slashes", "//////site.test/x", "/x"),
    to("no slash after the scheme", "http:x", "/a/x"),
    to("one slash after the scheme", "http:/x", "/x"),
    to("a scheme with tabs", "ht\ttp:\n//site.test/x", "/x"),
    to("a tab in the host", "http://si\tte.test/x", "/x"),
    to("a space in the host", "http://si te.test/x", None),
    to("a NUL in the host", "http://site.test\0/x", None),
    to("a NUL at both ends", "\0/x\0", "/x"),
    to("a newline in the path", "/x\r\nHost: evil\r\n\r\n", "/xHost:%20evil"),
    to("an encoded newline", "/x%0d%0aHost:evil", "/x%0d%0aHost:evil"),
    to("a newline in a user", "http://a\r\n@site.test/x", "/x"),
    to("port 0", "http://site.test:0/x", "http://site.test:0/x"),
    to("port 65535", "http://site.test:65535/x", "http://site.test:65535/x"),
    to("port 65536", "http://site.test:65536/x", None),
    to("port -1", "http://site.test:-1/x", None),
    to("an empty port", "http://site.test:/x", "/x"),
    to("port 00080", "http://site.test:00080/x", "/x"),
    to("a port of 5,000 zeros", "http://site.test:" + "0" * 5000 + "80/x", "/x"),
    to("a port of 5,000 digits", "http://site.test:" + "9" * 5000 + "/x", None),
    to("a port in Arabic digits", "http://site.test:٨٠/x", None),
    to("a port of letters", "http://site.test:http/x", None),
    to("two ports", "http://site.test:80:80/x", None),
    to("IPv6", "http://[::1]/x", "http://[::1]/x"),
    to("IPv6 in full", "http://[0:0:0:0:0:0:0:1]/x", "http://[::1]/x"),
    to("IPv6 with a zone", "http://[fe80::1%25eth0]/x", None),
    to("IPv6 with a bare zone", "http://[fe80::1%eth0]/x", None),
    to("IPv6 with IPv4", "http://[::ffff:127.0.0.1]/x", "http://[::ffff:7f00:1]/x"),
    to("IPv6 of nine pieces", "http://[1:2:3:4:5:6:7:8:9]/x", None),
    to("IPv6 with two gaps", "http://[1::2::3]/x", None),
    to("IPv6 of three colons", "http://[:::]/x", None),
    to("IPv6 that is not closed", "http://[::1/x", None),
    to("IPv6 with a surplus", "http://[::1]x/x", None),
    to("IPv6 in letters", "http://[g::]/x", None),
    to("IPvFuture", "http://[v1.x]/x", None),
    to("IPv4 in octal", "http://0177.0.0.01/x", "http://127.0.0.1/x"),
    to("IPv4 in hexadecimal", "http://0x7f000001/x", "http://127.0.0.1/x"),
    to("IPv4 as a number", "http://2130706433/x", "http://127.0.0.1/x"),
    to("IPv4 of three parts", "http://127.0.1/x", "http://127.0.0.1/x"),
    to("IPv4 of five parts", "http://1.2.3.4.5/x", None),
    to("IPv4 with 256", "http://127.0.0.256/x", None),
    to("IPv4 with an end dot", "http://127.0.0.1./x", "http://127.0.0.1/x"),
    to("IPv4 with a bad octal", "http://127.0.0.08/x", None),
    to("IPv4 in fullwidth", "http://１２７.０.０.１/x", "http://127.0.0.1/x"),
    to("IPv4 percent-encoded", "http://%31%32%37.0.0.1/x", "http://127.0.0.1/x"),
    to("a host of dots", "http://../x", "http://../x"),
    to("an ideographic dot", "http://site。test/x", "/x"),
    to("a soft hyphen in a host", "http://si\u00adte.test/x", "/x"),
    to("a host outside ASCII", "http://bücher.test/x", "http://xn--bcher-kva.test/x"),
    to("a host of 100,000 letters", "http://" + "é" * 100_000 + "/x", None),
    to("a label of punycode that is none", "http://xn--\u00fc/x", None),
    to("a percent sign in a host", "http://a%b/x", None),
    to("an encoded slash in a host", "http://site.test%2Fx/", None),
    to("an encoded NUL in a host", "http://site.test%00/x", None),
    to("a surrogate in a host", "http://\ud800.test/x", None),
    to("a surrogate in a path", "/\ud800", "/%EF%BF%BD"),
    to("encoded dots", "/c/%2e%2E/x", "/x"),
    to("a dot and an encoded dot", "/c/.%2e/%2e/x", "/x"),
    to("twice encoded dots", "/c/%252e%252e/x", "/c/%252e%252e/x"),
    to("dots and a backslash", "/c\\..\\x", "/x"),
    to("an encoded backslash", "/c%5c..%5cx", "/c%5c..%5cx"),
    to("above the root", "/../../../../etc/passwd", "/etc/passwd"),
    to("three dots", "/c/.../x", "/c/.../x"),
    to("dots in a query", "/x?/../..", "/x?/../.."),
    to("a percent sign alone", "/x%", "/x%"),
    to("percent and half a byte", "/x%2/y", "/x%2/y"),
    to("a question mark alone", "?", "/a/b?"),
    to("a hash alone", "#", "/a/b"),
    to("hashes", "/x##y?z", "/x"),
    to("empty", "", "/a/b"),
    to("blanks", " \t\r\n\f ", "/a/b"),
    to("a colon first", ":x", "/a/:x"),
    to("a digit before a colon", "1:x", "/a/1:x"),
    to("data:", "data:text/html,<a href=/x>", None),
    to("javascript:", "JavaScript:location='/x'", None),
    to("mailto:", "mailto:a@b", None),
    to("file:", "file:///etc/passwd", None),
    to("view-source:", "view-source:http://site.test/", None),
    to("blob:", "blob:http://site.test/1", None),
    to("about:", "about:blank", None),
    to("an unknown scheme", "x-y+z.1:/x", None),
    to("https", "https://site.test/x", "https://site.test/x"),
    to("a path of 60,000 bytes", "/" + "x" * 60_000, "/" + "x" * 60_000),
    to("ten thousand folders", "/" + "x/" * 10_000 + "../" * 10_000 + "y", "/y"),
    to("ten thousand dots above", "../" * 10_000 + "y", "/y"),
    to("a brace and a bar", "/{x|y}^`", "/%7Bx|y%7D%5E%60"),
    to("quotes", "/'\"<>?'\"<>", "/'%22%3C%3E?%27%22%3C%3E"),
    to("an emoji", "/\U0001f577", "/%F0%9F%95%B7"),
    to("right to left", "/\u202ex", "/%E2%80%AEx"),
    to("a noncharacter", "/\uffff", "/%EF%BF%BF"),
)

ROOTS: Final = (
    Root("", None),
    Root(" ", None),
    Root("http://", None),
    Root("http:", None),
    Root("http:80", None),
    Root("https:/127.0.0.1/", None),
    Root("//", None),
    Root("/", None),
    Root("http:///", None),
    Root("127.0.0.1", "http://127.0.0.1/"),
    Root("127.0.0.1:8000/x y", "http://127.0.0.1:8000/x%20y"),
    Root(":80", None),
    Root("a b", None),
    Root("http://127.0.0.1:99999/", None),
    Root("http://[::1", None),
    Root("ftp://127.0.0.1/", None),
    Root("ws://127.0.0.1/", None),
    Root("HTTPS://127.0.0.1/", "https://127.0.0.1/"),
    Root("javascript://127.0.0.1/", None),
    Root("data:,x", None),
    Root("unix:///run/x", None),
    Root("http+unix://x", None),
    Root("localhost#x", "http://localhost/"),
    Root("localhost?x", "http://localhost/?x"),
    Root("\x1b[2J", None),
    Root("http://\ud800/", None),
    Root("\x00", None),
    Root("-", "http://-/"),
    Root("x" * 100_000 + ":1:1", None),
)


def links(case: Html) -> str | None:
    """What is wrong with the links of a page, None if nothing is."""
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


def root(case: Root) -> str | None:
    """What is wrong with a start URL, None if nothing is."""
    try:
        found: str | None = normal_root(case.typed)
    except JobError as error:
        found = None
        if "\n" in str(error):
            return "an error of several lines"
    return None if found == case.wanted else f"{found!r:.300} instead of {case.wanted!r:.200}"


def checks() -> dict[str, Callable[[], str | None]]:
    """Every case as a call: by name, what it does."""
    found: dict[str, Callable[[], str | None]] = {}
    for html in (*TAGS, *CHARSETS):
        found[f"page: {html.name}"] = lambda html=html: links(html)  # type: ignore[misc]
    for each in TARGETS:
        found[f"link: {each.name}"] = lambda each=each: target(each)  # type: ignore[misc]
    for typed in ROOTS:
        found[f"start: {typed.typed!r:.40}"] = lambda typed=typed: root(typed)  # type: ignore[misc]
    return found


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


def seen(server: ScriptedServer, crawled: dict[str, Any]) -> dict[str, list[Any]]:
    """What a crawl made of every URL, and how often the server was asked for it."""
    own = server.url
    found: dict[str, list[Any]] = {
        url.replace(own, "/"): [
            code,
            error,
            redirect and redirect.partition("://127.0.0.1:")[2][5:],
        ]
        for url, (code, error, redirect, *_) in crawled["rows"].items()
    }
    for path, count in server.requests.items():
        found.setdefault(path, []).append(count)
    return found
