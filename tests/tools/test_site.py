"""The site: its order, its links, and how it reads in a browser without a network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bench.launch import RESULTS, ROOT
from bench.report.charts.look import Format
from bench.report.charts.slide import Slide
from bench.talk import slides as talk_slides
from tests.bench import committed
from tests.bench.synthetic import campaign as records_of
from tests.bench.synthetic import gathered
from tests.browsing import barriers, opened
from tools.site import __main__ as site
from tools.site import links, stage

pytestmark = pytest.mark.timeout(1800)
"""The site is built once, in the time of the first test that reads it."""


def test_every_page_of_the_repository_is_in_the_navigation() -> None:
    """Add it to a section in tools/site/navigation.toml."""
    found = stage.pages(ROOT)
    assert stage.unplaced(found) == []
    assert {stage.START, "docs/method.md"} <= set(found)


def write(root: Path, **texts: str) -> Path:
    """A repository of these pages; ``docs__a`` is ``docs/a.md``."""
    for name, text in texts.items():
        file = root / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def staged(root: Path, out: Path) -> dict[str, str]:
    campaign = gathered(records_of(blocks=1, samples=10, workloads=())).campaign
    stage.stage(root, out, campaign)
    return {f.relative_to(out).as_posix(): f.read_text() for f in out.rglob("*.md")}


def test_a_page_outside_of_the_navigation_stops_the_build(tmp_path: Path) -> None:
    root = write(tmp_path / "root", README="# Start", docs__method="# M", docs__lost="# Lost")
    with pytest.raises(stage.SiteError, match=r"docs/lost\.md.*navigation\.toml"):
        staged(root, tmp_path / "out")


def test_pages_keep_their_places_and_files_come_along(tmp_path: Path) -> None:
    root = write(
        tmp_path / "root",
        README="# Start\n\n[m](docs/method.md) [code](crawlers/a.py)",
        docs__method='# M\n\n[home](../README.md#start) <img src="../results/x.svg">',
        docs__notebook__README="# Notes\n\n[b](b.md) [a](a.md)",
        docs__notebook__a="# A\n\n[home](../../README.md) [all](README.md)",
        docs__notebook__b="# B\n\n[r](../../results/r.html)\n\n```\n[x](../README.md)\n```",
    )
    for name in ("crawlers/a.py", "results/x.svg", "results/r.html"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(name)
    pages = staged(root, tmp_path / "out")
    assert "README.md" not in pages
    assert "[m](docs/method.md)" in pages["index.md"]
    assert "[home](../index.md#start)" in pages["docs/method.md"]
    assert "[home](../../index.md) [all](README.md)" in pages["docs/notebook/a.md"]
    assert '<a href="../../results/r.html">r</a>' in pages["docs/notebook/b.md"]
    assert "```\n[x](../README.md)\n```" in pages["docs/notebook/b.md"]
    assert "\n/docs/notebook/b\n/docs/notebook/a\n" in pages["docs/notebook/README.md"]
    assert "\nself\n" in pages["index.md"]
    assert "\n/docs/method\n" in pages["index.md"]
    assert "/docs/fleet\n" not in pages["index.md"]
    for name in ("crawlers/a.py", "results/x.svg", "results/r.html"):
        assert (tmp_path / "out" / name).read_text() == name


def test_a_page_leads_to_the_slides(tmp_path: Path) -> None:
    root = write(tmp_path / "root", docs__talk="# Talk\n\nIt begins.")
    pages = staged(root, tmp_path / "out")
    assert pages["docs/talk.md"].startswith('# Talk\n\n<p><a href="../results/reference/talk.html"')
    assert pages["docs/talk.md"].endswith("</p>\n\nIt begins.")


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    pages = {
        "a.html": '<a href="b.html#there">1</a> <a href="#up">2</a> <i id="up"></i>'
        '<a href="#">3</a>',
        "b.html": '<p id="there"></p> <a href="gone.html">1</a> <a href="a.html#gone">2</a>'
        '<a href="https://example.org/">3</a> <a href="mailto:a@b">4</a> <img src="data:,">',
        "deep/c.html": '<a href="../../out.html">1</a> <img srcset="x.svg 2x, ../b.html">'
        '<script src="https://example.org/x.js"></script> <a href="../a%2Ehtml#up">2</a>',
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert links.wrong(tmp_path) == [
        "b.html: gone.html: there is no such file",
        "b.html: a.html#gone: there is no such anchor",
        "deep/c.html: asks the net for https://example.org/x.js",
        "deep/c.html: ../../out.html: leads out of the site",
        "deep/c.html: x.svg: there is no such file",
    ]


# --- the whole, and in a browser ----------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository. Building it checks its links."""
    if missing := [name for name in site.NEEDED if find_spec(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)} (the extra docs)")
    if not (RESULTS / "reference").is_dir():
        pytest.skip("there is no reference campaign")
    folder = tmp_path_factory.mktemp("docs") / "site"
    with pytest.MonkeyPatch.context() as patch:
        for module in (site, talk_slides):
            patch.setattr(module, "analysis_in", lambda file: committed.analysis(file.parent.name))
        patch.setattr(Slide, "save", partialmethod(save, Slide.save))
        site.build(folder, RESULTS / "reference")
    return folder


def save(slide: Slide, usual: Callable[..., None], path: Path, kind: Format) -> None:
    """Save an SVG; a PNG is the same drawing, takes longer, and is only linked to."""
    if kind == "svg":
        usual(slide, path, kind)
    else:
        path.touch()


PAGES = (
    "index.html",
    "report.html",
    "search.html",
    "docs/which-one.html",
    "docs/notebook/libraries.html",
    "docs/side-by-side.html",
    "docs/stack-ripping.html",
)
"""Pages with everything that pages have: charts, wide tables, code in color, HTML."""


@pytest.mark.slow
def test_the_site_has_every_page_and_the_report(built: Path) -> None:
    for name in stage.pages(ROOT):
        page = Path(stage.staged(name)).with_suffix(".html")
        assert (built / page).is_file(), name
    campaign = committed.records().campaign.campaign
    assert campaign in (built / stage.REFERENCE).read_text()
    assert campaign in (built / "report.html").read_text()
    assert "c10k" in (built / stage.SLIDES).read_text()


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
