"""The site: its order, its links, and how it reads in a browser without a network."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from bench.launch import RESULTS, ROOT
from bench.report.charts.look import Format
from bench.report.charts.slide import Slide
from bench.talk import slides
from tests.bench import committed
from tests.browsing import barriers, opened
from tools.site import __main__ as site
from tools.site import conf, links

pytestmark = pytest.mark.timeout(1800)
"""The site is built once, in the time of the first test that reads it."""


def test_every_page_of_the_repository_is_in_the_navigation() -> None:
    """Add it to a section in tools/site/navigation.toml; Sphinx stops the build without it."""
    sections = tomllib.loads(conf.NAVIGATION.read_text()).values()
    pages = [file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md")]
    below = {page for page in pages if page.startswith(conf.NOTES)} - {f"{conf.NOTES}README.md"}
    assert {page for pages in sections for page in pages} >= set(pages) - below


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("README", "# Start", [":caption: Start\n\nself\n/docs/install\n", "\n/docs/method\n"]),
        ("docs/talk", "# T\n\nIt begins.", ["# T\n\n<p><a", "talk.html", "</p>\n\nIt begins."]),
        (
            "docs/notebook/README",
            "[b](b.md) [a](3.a.md#x)",
            ["\n/docs/notebook/b\n/docs/notebook/3.a"],
        ),
        ("docs/a", '<a id="there"></a>', ["(there)="]),
        ("CHANGELOG", "# Changes", ["---\nnosearch: true\n---\n\n# Changes"]),
    ],
)
def test_pages_get_what_they_lack_in_the_repository(name: str, text: str, parts: list[str]) -> None:
    source = [text]
    conf.complete(None, name, source)
    assert all(part in source[0] for part in parts)


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    pages = {
        "a.html": '<a href="b.html#there">1</a> <a href="#up">2</a> <i id="up"></i>'
        '<a href="#">3</a> <img src="y.svg">',
        "b.html": '<p id="there"></p> <a href="gone.html">1</a> <a href="a.html#gone">2</a>'
        '<a href="https://example.org/">3</a> <a href="mailto:a@b">4</a><img src="data:,">',
        "deep/c.html": '<a href="../../out.html">1</a> <img srcset="x.svg 2x, ../b.html">'
        '<script src="https://example.org/x.js"></script> <a href="../a%2Ehtml#up">2</a>',
    }
    for name, text in pages.items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(text)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "y.svg").write_text("brought along")
    assert links.wrong(tmp_path / "site", tmp_path / "source") == [
        "b.html: gone.html: there is no such file",
        "b.html: a.html#gone: there is no such anchor",
        "deep/c.html: asks the net for https://example.org/x.js",
        "deep/c.html: ../../out.html: leads out of the site",
        "deep/c.html: x.svg: there is no such file",
    ]
    assert (tmp_path / "site" / "y.svg").read_text() == "brought along"


# --- the whole, and in a browser ----------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository. Building it checks its links."""
    for name in ("furo", "myst_parser", "sphinx"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    if not (RESULTS / "reference").is_dir():
        pytest.skip("there is no reference campaign")
    folder = tmp_path_factory.mktemp("docs") / "site"
    with pytest.MonkeyPatch.context() as patch:
        for module in (site, slides):
            patch.setattr(module, "analysis_in", lambda file: committed.analysis(file.parent.name))
        patch.setattr(Slide, "save", partialmethod(save, Slide.save))
        site.build(folder)
    return folder


def save(slide: Slide, usual: Callable[..., None], path: Path, kind: Format) -> None:
    """Save an SVG; a PNG is the same drawing, takes longer, and is only linked to."""
    if kind == "svg":
        usual(slide, path, kind)
    else:
        path.touch()


PAGES = (
    "index.html",
    "docs/findings.html",
    "search.html",
    "docs/which-one.html",
    "docs/notebook/libraries.html",
    "docs/side-by-side.html",
    "docs/stack-ripping.html",
)
"""Pages with everything that pages have: charts, wide tables, code in color, HTML."""


@pytest.mark.slow
def test_the_site_has_every_page_and_the_report(built: Path) -> None:
    for file in (*ROOT.glob("[A-Z]*.md"), *(ROOT / "docs").rglob("*.md")):
        assert (built / file.relative_to(ROOT)).with_suffix(".html").is_file(), file
    assert committed.records().campaign.campaign in (built / conf.REPORT).read_text()
    assert "c10k" in (built / conf.SLIDES).read_text()


@pytest.mark.slow
def test_what_the_theme_lacks_is_completed(built: Path) -> None:
    """The theme may change what it writes; then nothing would be replaced."""
    texts = [(built / name).read_text() for name in PAGES]
    for short, whole in site.LACKING:
        assert any(whole in text for text in texts), whole
        assert not any(short in text.replace(whole, "") for text in texts), short


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 900, 1440])
def test_pages_fit_and_ask_for_nothing(built: Path, browser: Any, width: int) -> None:
    with opened(browser, width=width) as page:
        for name in PAGES:
            page.goto((built / name).as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == width, name


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(built: Path, browser: Any, theme: str) -> None:
    with opened(browser, width=1440, theme=theme) as page:
        for name in PAGES:
            page.goto((built / name).as_uri())
            assert barriers(page, theme) == [], name


@pytest.mark.slow
def test_search_works_from_a_file(built: Path, browser: Any) -> None:
    with opened(browser, width=1000) as page:
        page.goto((built / "index.html").as_uri())
        page.goto(f"{(built / 'search.html').as_uri()}?q=greenlets")
        page.locator("#search-results li a", has_text="How each library is used").first.click()
        page.wait_for_url("**/docs/notebook/libraries.html*")
