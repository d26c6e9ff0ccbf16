"""Link extraction: tables, properties, and a comparison with another parser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawlers import links, tokens
from crawlers.links import extract
from crawlers.urls import normalise
from tests.crawlers.tables import rows
from tests.crawlers.test_urls import PAGE, assert_normal

TOKENIZER = ((links, "TOKEN"), (links, "HREF"), (tokens, "STEP"), (tokens, "RAW"))


@pytest.fixture(scope="module", params=["possessive groups", "greedy groups"], autouse=True)
def patterns(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test runs with the patterns for a correct ``re`` and for a faulty one."""
    if request.param == "possessive groups":
        if tokens.WORKAROUND:
            pytest.skip("the re module of this interpreter is faulty")
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        for module, name in TOKENIZER:
            pattern = getattr(module, name)
            greedy = re.compile(tokens.without_possessive_groups(pattern.pattern), pattern.flags)
            patch.setattr(module, name, greedy)
        yield


def found(html: str, url: str = PAGE, charset: str | None = "utf-8") -> list[str]:
    """The links of a page, with the page's own origin left out."""
    links = extract(html.encode("utf-8", "surrogatepass"), url, charset)
    return [link.removeprefix("http://host") for link in links]


# --- what is a link -------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "links"),
    [
        *rows("links", "links"),
        ("<a " + "'" * 100_000 + " href=x>", ["/dir/x"]),
    ],
)
def test_links(html: str, links: list[str]) -> None:
    assert found(html) == links


@pytest.mark.parametrize("hidden", [row for (row,) in rows("links", "hidden")])
@pytest.mark.parametrize("link", ['<a href="no">', "<A HREF=no>"])
def test_hidden_links(hidden: str, link: str) -> None:
    html = hidden.replace("{}", link)
    if hidden.startswith("<?"):
        link = link[:-1]  # a bogus comment ends at the first ">"
        html = hidden.replace("{}", link) + ">"
    assert found(f"{html}<a href=/seen>") == ["/seen"]


@pytest.mark.parametrize("shown", [row for (row,) in rows("links", "shown")])
@pytest.mark.parametrize("link", ['<a href="/seen">', "<A HREF=/seen>"])
def test_links_in_odd_places(shown: str, link: str) -> None:
    assert found(shown.replace("{}", link)) == ["/seen"]


@pytest.mark.parametrize("name", ["script", "style", "title", "textarea", "plaintext", "xmp"])
def test_text_that_never_ends(name: str) -> None:
    assert found(f"<a href=b><{name}><a href=no></p><a href='no'>") == ["/dir/b"]


@pytest.mark.parametrize(
    ("attribute", "link"),
    [*rows("links", "references"), ('"?&#' + "9" * 9999 + ';"', "?%EF%BF%BD")],
)
def test_character_references(attribute: str, link: str) -> None:
    assert found(f"<a href={attribute}>", "http://host/") == [f"/{link}"]


@pytest.mark.parametrize(("base", "links"), rows("links", "bases"))
def test_base(base: str, links: list[str]) -> None:
    for plain in ('<a href="b"><a href="/c">', "<a href=b><a href=/c>"):
        assert found(f"{base}{plain}") == links
        assert found(f"{plain}{base}") == links


def test_a_page_url_that_is_not_normal() -> None:
    for url in ("HTTP://host/a/x", "http://host:80/a/x", "http://host/b/../a/x", "http://host/a/é"):
        assert found('<a href="b"><a href="/c"><a href="../d">', url) == ["/a/b", "/c", "/d"]


# --- properties -----------------------------------------------------------------

WORDS = r"""
    < > / = " ' - ! & x é #f ?q= ../ href=" <p> </p> <b/ </a>
    <!-- --> --!> <!--> <!---> <! <? </ <![CDATA[ ]]> &amp; &copy= &copy; &#47; /p/1 p.html
    <script> <style> <title> <textarea> <xmp> <noscript>
    </script> </style> </title> </textarea> </xmp> </noscript>
    <iframe> </iframe> <noembed> </noembed> <noframes> </noframes> <template> </template>
"""
TAGS = """<a href="
<a href='
<a href=
<A HREF=
<a class="a>b" href="/k">
<a id=1 href=/w href=/z>
<area href=v>
<p title="
"""
PIECES = [*WORDS.split(), *TAGS.splitlines(), "<script ", " ", "\n", "\0"]
FOREIGN = ["<svg>", "</svg>", "<svg/>", "<math>", "</math>", "<title/>", "<style/>", "<desc>"]
SOUP = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
FOREIGN_SOUP = st.lists(st.sampled_from(PIECES + FOREIGN), max_size=14).map("".join)


@given(
    st.binary() | FOREIGN_SOUP.map(str.encode),
    st.text() | st.sampled_from([PAGE, "http://host"]),
    st.none() | st.text() | st.sampled_from(["utf-8", "latin-1", "utf-16", "gb18030", "idna"]),
)
@example(b"\xfe\xff\xd8", PAGE, None)
def test_extract_never_raises(body: bytes, url: str, charset: str | None) -> None:
    page = normalise(url, url) or url
    for link in extract(body, page, charset):
        assert_normal(link)


@given(st.from_regex(r"[/\w.~?&=+#%:\-]{0,16}", fullmatch=True), st.sampled_from(["", " class=x"]))
@example("#", "")
@example("/a./../b", "")
@example("//", "")
def test_plain_links_are_resolved_as_any_other(href: str, more: str) -> None:
    href = href.replace("&", "")
    for url in (PAGE, "http://host/", "http://host/a/b/?c=/d/", "http://host/a.b/.c/d"):
        url = normalise(url, url) or url
        expected = normalise(url, href)
        assert extract(f'<a{more} href="{href}">'.encode(), url, None) == (
            [] if expected is None else [expected]
        )


# --- another parser ----------------------------------------------------------------


def lexbor_links(html: str) -> set[str]:
    """The links that selectolax's lexbor, a browser-grade parser, finds."""
    lexbor = pytest.importorskip("selectolax.lexbor")
    nodes = lexbor.LexborHTMLParser(html.encode()).css("a[href],area[href]")
    hrefs = [node.attributes["href"] or "" for node in nodes]
    return {link for href in hrefs if (link := normalise(PAGE, href)) is not None}


@given(SOUP, st.sampled_from(["", ">", '<a href="/end">', '"><a href="/end">']))
@example('<script><!--<script></script><a href="', "")
def test_lexbor_agrees(soup: str, end: str) -> None:
    # <body> first: a page whose first tag is odd may get another tree than tokens.
    html = f"<!doctype html><body>{soup}{end}"
    assert set(extract(html.encode(), PAGE, "utf-8")) == lexbor_links(html)


# --- hostile input ----------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        lambda n: "<" * n,
        lambda n: "<a " * n,
        lambda n: "</" * n,
        lambda n: "<!--" * n,
        lambda n: "<!-- -" * n,
        lambda n: '<a href="' * n,
        lambda n: "<p title='" * n,
        lambda n: '<p a="b"' * n,
        lambda n: '<a href="' + "x" * n + '">',
        lambda n: "<a " + "b " * n + "href=c>",
        lambda n: "<a " + " " * n + "href",
        lambda n: "<a b" + " =" * n,
        lambda n: "<script><!--" + "<script>" * n,
        lambda n: "<script>" + "<!--" * n,
        lambda n: "<textarea>" + "</textare" * n,
        lambda n: "<title>" * n,
        lambda n: "<svg>" * n,
        lambda n: "<svg><title>" * n,
        lambda n: "<svg>" + "<math></svg>" * n,
        lambda n: "<template>" * n,
        lambda n: '<a href="' + "../" * n + '">',
        lambda n: '<a href="' + "a/%2e%2e/" * n + '">',
        lambda n: '<a href="' + "&#1" * n + '">',
        lambda n: "<a href=http://" + "1." * n + ">",
        lambda n: "<a href=http://" + "é" * n + ">",
        lambda n: "<meta charset" * n,
    ],
)
def test_time_grows_with_the_size_of_the_page(page: Callable[[int], str]) -> None:
    """Eight times the page may take thirty times as long; quadratic would be sixty-four."""

    def seconds(size: int) -> float:
        body = page(size).encode()
        start = time.process_time()
        extract(body, PAGE, None)
        return time.process_time() - start

    for _ in range(4):  # the machine is shared: one good round is proof
        small = min(seconds(8_000), seconds(8_000))  # the first may be slow, and hide what grows
        if seconds(64_000) < 30 * max(small, 1e-4):
            return
    pytest.fail("the time grows faster than the page")
