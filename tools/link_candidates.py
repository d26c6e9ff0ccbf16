"""What link extraction costs: our scanner beside the parsers it was chosen over.

``python -m tools.link_candidates [--html DIR]`` times each candidate on a small
page, on a page full of links, and on every HTML file below ``DIR`` (Debian's
python3-doc when it is there), and counts the pages on which its set of links
differs from lexbor's, a browser-grade parser. Every candidate ends in the same
place: absolute normal URLs. The time shown is the least of many rounds, in
microseconds a page, so that other work on the machine counts little; it is a
comparison of candidates, not a figure for the report.
"""

from __future__ import annotations

import argparse
import re
import sys
import timeit
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from crawlers.links import extract
from crawlers.urls import normalise

DOCUMENTATION = Path("/usr/share/doc/python3-doc/html")
URL = "http://127.0.0.1:8000/section/shelf/page.html"
ROUNDS = 40
ROUND_S = 0.02
PAGES = 200  # of a directory, at most, evenly spread over its sorted list

Candidate = Callable[[bytes, str], list[str]]


class Page(NamedTuple):
    """A page to read and where it is."""

    body: bytes
    url: str


def resolved(hrefs: Sequence[str], url: str) -> list[str]:
    """References as absolute normal URLs, those of other schemes left out."""
    return [link for href in hrefs if (link := normalise(url, href)) is not None]


def scanner(body: bytes, url: str) -> list[str]:
    """What the crawlers use."""
    return extract(body, url, "utf-8")


def load_lexbor() -> Candidate:
    """selectolax's lexbor; raises ImportError without it."""
    from selectolax.lexbor import LexborHTMLParser

    def lexbor(body: bytes, url: str) -> list[str]:
        tree = LexborHTMLParser(body)
        base = tree.css_first("base[href]")
        if base is not None:
            url = normalise(url, base.attributes["href"] or "") or url
        nodes = tree.css("a[href],area[href]")
        return resolved([node.attributes["href"] or "" for node in nodes], url)

    return lexbor


def load_lxml() -> Candidate:
    """lxml's HTML parser (libxml2); raises ImportError without it."""
    from lxml import etree

    def lxml(body: bytes, url: str) -> list[str]:
        tree = etree.fromstring(body, etree.HTMLParser(encoding="utf-8"))
        if tree is None:
            return []
        for base in tree.iter("base"):
            if (href := base.get("href")) is not None:
                url = normalise(url, str(href)) or url
                break
        hrefs = [element.get("href") for element in tree.iter("a", "area")]
        return resolved([str(href) for href in hrefs if href is not None], url)

    return lxml


class _Links(HTMLParser):
    """The standard library's parser, collecting references."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.base: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "area", "base"):
            for name, value in attrs:
                if name == "href":
                    if tag != "base":
                        self.hrefs.append(value or "")
                    elif self.base is None:
                        self.base = value
                    break


def html_parser(body: bytes, url: str) -> list[str]:
    """The standard library's html.parser."""
    parser = _Links()
    parser.feed(body.decode("utf-8", "replace"))
    parser.close()
    if parser.base is not None:
        url = normalise(url, parser.base) or url
    return resolved(parser.hrefs, url)


_BARE = re.compile(rb"<a\s[^>]*?href=[\"']?([^\"'\s>]+)", re.IGNORECASE)


def bare_expression(body: bytes, url: str) -> list[str]:
    """The expression everybody writes first. It is wrong: see the last column."""
    return resolved([href.decode("utf-8", "replace") for href in _BARE.findall(body)], url)


_NAIVE = re.compile(rb'<a href="([^"]*)"')


def bare_join(body: bytes, url: str) -> list[str]:
    """A floor, not a candidate: one form of link only, glued to the origin unread."""
    origin = url[: url.index("/", 8)]
    return [origin + href for href in [found.decode() for found in _NAIVE.findall(body)]]


def candidates() -> dict[str, Candidate | None]:
    """Every candidate by name; ``None`` for one whose package is not installed."""
    table: dict[str, Candidate | None] = {"scanner (used)": scanner}
    for name, load in (("selectolax (lexbor)", load_lexbor), ("lxml", load_lxml)):
        try:
            table[name] = load()
        except ImportError:
            table[name] = None
    return table | {
        "html.parser": html_parser,
        "bare expression": bare_expression,
        "bare join (floor)": bare_join,
    }


def made_page(links: int, size: int) -> Page:
    """A page of about ``size`` bytes with so many links, half relative, as a site writes them."""
    items = "".join(
        f'<li><a href="{("/section/shelf/", "")[place % 2]}page-{place * 37}.html">'
        f"Page {place * 37}</a>\n"
        for place in range(links)
    )
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Page</title></head>\n'
        f"<body><h1>Page</h1>\n<ul>\n{items}</ul>\n<p>"
    )
    filler = "The quick brown fox jumps over the lazy dog. " * (size // 40)
    return Page(
        f"{head}{filler[: max(0, size - len(head) - 20)]}</p></body></html>\n".encode(), URL
    )


def real_pages(directory: Path) -> list[Page]:
    """HTML files below a directory, symbolic links followed, evenly chosen."""
    root = directory.resolve()
    files = sorted(path for path in root.rglob("*.html") if path.is_file())
    chosen = files[:: max(1, -(-len(files) // PAGES))]
    return [
        Page(path.read_bytes(), normalise(URL, f"/{path.relative_to(root)}") or URL)
        for path in chosen
    ]


def microseconds(candidate: Candidate, pages: Sequence[Page]) -> float:
    """The least time a page takes, over many short rounds; few for many pages."""

    def run() -> None:
        for page in pages:
            candidate(page.body, page.url)

    once = min(timeit.repeat(run, number=1, repeat=2))
    number = max(1, int(ROUND_S / once))
    rounds = ROUNDS if once < ROUND_S else 3
    return min(timeit.repeat(run, number=number, repeat=rounds)) / number / len(pages) * 1e6


def disagreements(candidate: Candidate, judge: Candidate, pages: Sequence[Page]) -> tuple[int, int]:
    """On how many pages the sets of links differ, and by how many links in all."""
    differences = [
        len(set(candidate(page.body, page.url)) ^ set(judge(page.body, page.url))) for page in pages
    ]
    return sum(map(bool, differences)), sum(differences)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 2 when the directory asked for holds no HTML."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.link_candidates", description="What link extraction costs."
    )
    parser.add_argument("--html", type=Path, metavar="DIR", help="real pages to read as well")
    html: Path | None = parser.parse_args(arguments).html
    if html is None and DOCUMENTATION.is_dir():
        html = DOCUMENTATION
    sets = {"2 KB, 5 links": [made_page(5, 2048)], "3.4 KB, 60 links": [made_page(60, 3400)]}
    if html is not None:
        pages = real_pages(html)
        if not pages:
            print(f"{html}: no .html files; give a directory of HTML pages", file=sys.stderr)
            return 2
        mean = sum(len(page.body) for page in pages) / len(pages) / 1024
        sets[f"{len(pages)} real pages, {mean:.0f} KB each"] = pages
    table = candidates()
    judge = table["selectolax (lexbor)"]
    for title, pages in sets.items():
        print(f"\n{title}\n  {'candidate':22}{'µs/page':>12}   differs from lexbor")
        for name, candidate in table.items():
            if candidate is None:
                print(f"  {name:22}{'missing':>12}")
                continue
            verdict = "unknown: selectolax is missing"
            if judge is not None:
                wrong, links = disagreements(candidate, judge, pages)
                verdict = f"{wrong} of {len(pages)} pages, {links} links" if wrong else "never"
            print(f"  {name:22}{microseconds(candidate, pages):12.1f}   {verdict}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
