"""The site: its order, its links, and how it reads in a browser without a network."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bench import store
from bench.launch import RESULTS, ROOT
from tests.bench.synthetic import campaign as records_of
from tests.bench.synthetic import gathered
from tools.site import __main__ as site
from tools.site import finish, links, navigation, stage

pytestmark = pytest.mark.timeout(1800)
"""The site is built once, in the time of the first test that reads it."""


def test_every_page_of_the_repository_is_in_the_navigation() -> None:
    """Add it to a section in tools/site/navigation.py."""
    found = stage.pages(ROOT)
    assert navigation.unplaced(found) == []
    assert {navigation.START, "docs/method.md"} <= set(found)


def test_the_navigation_begins_with_the_readme_and_ends_with_the_project() -> None:
    titles = [section.title for section in navigation.SECTIONS]
    assert titles[0] == "Start"
    assert titles.index("Choose") < titles.index("Results") < titles.index("Method")
    assert titles[-1] == "The project"
    pages = [page for section in navigation.SECTIONS for page in section.pages]
    assert len(pages) == len(set(pages))


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
    with pytest.raises(stage.SiteError, match=r"docs/lost\.md.*navigation\.py"):
        staged(root, tmp_path / "out")


def test_pages_keep_their_places_and_files_come_along(tmp_path: Path) -> None:
    root = write(
        tmp_path / "root",
        README="# Start\n\n[m](docs/method.md) [code](crawlers/a.py)",
        docs__method='# M\n\n[home](../README.md#start) <img src="../results/x.svg">',
        docs__cards__README="# Cards\n\n[b](b.md) [a](a.md)",
        docs__cards__a="# A\n\n[home](../../README.md) [all](README.md)",
        docs__cards__b="# B\n\n[r](../../results/r.html)\n\n```\n[x](../README.md)\n```",
    )
    for name in ("crawlers/a.py", "results/x.svg", "results/r.html"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(name)
    pages = staged(root, tmp_path / "out")
    assert "README.md" not in pages
    assert "[m](docs/method.md)" in pages["index.md"]
    assert "[home](../index.md#start)" in pages["docs/method.md"]
    assert "[home](../../index.md) [all](README.md)" in pages["docs/cards/a.md"]
    assert '<a href="../../results/r.html">r</a>' in pages["docs/cards/b.md"]
    assert "```\n[x](../README.md)\n```" in pages["docs/cards/b.md"]
    order = pages["docs/cards/README.md"]
    assert order.index("\n/docs/cards/b\n") < order.index("\n/docs/cards/a\n")
    assert "\nself\n" in pages["index.md"]
    assert "\n/docs/method\n" in pages["index.md"]
    assert "/docs/fleet\n" not in pages["index.md"]
    for name in ("crawlers/a.py", "results/x.svg", "results/r.html"):
        assert (tmp_path / "out" / name).read_text() == name


def test_pages_lead_to_the_slides_and_to_the_form(tmp_path: Path) -> None:
    root = write(tmp_path / "root", docs__talk="# Talk\n\nIt begins.", docs__advice="# A\n\nB")
    pages = staged(root, tmp_path / "out")
    assert pages["docs/talk.md"].startswith('# Talk\n\n<p><a href="../results/reference/talk.html"')
    assert pages["docs/talk.md"].endswith("</p>\n\nIt begins.")
    for page, link in (("docs/advice.md", '="../results'), ("report.md", '="results')):
        assert f"{link}/reference/report.html#advice" in pages[page]


def test_the_changelog_is_not_in_the_search(tmp_path: Path) -> None:
    pages = staged(write(tmp_path / "root", CHANGELOG="# C", README="# S"), tmp_path / "out")
    assert pages["CHANGELOG.md"] == "---\nnosearch: true\n---\n\n# C"
    assert "nosearch" not in pages["index.md"]


def test_anchors_set_by_hand_become_targets() -> None:
    assert stage.moved('a\n\n<a id="here-1"></a>\n\nb', "a.md") == "a\n\n(here-1)=\n\nb"


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


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(site, "NEEDED", ("no_such_module",))
    with pytest.raises(stage.SiteError, match=r"no_such_module; pip install '\.\[docs\]'"):
        site.build(tmp_path / "site", RESULTS / "reference")


# --- the whole, and in a browser ----------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository. Building it checks its links."""
    if missing := [name for name in site.NEEDED if find_spec(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)} (the extra docs)")
    if not (RESULTS / "reference").is_dir():
        pytest.skip("there is no reference campaign")
    folder = tmp_path_factory.mktemp("docs") / "site"
    site.build(folder, RESULTS / "reference")
    return folder


PAGES = (
    "index.html",
    "report.html",
    "search.html",
    "docs/advice.html",
    "docs/cards/README.html",
    "docs/cards/trio.html",
    "docs/claims.html",
    "docs/fairness.html",
    "docs/findings.html",
    "docs/side-by-side.html",
    "docs/stack-ripping.html",
    "docs/talk.html",
)
"""Pages with everything that pages have: charts, wide tables, code in color, HTML."""


@pytest.mark.slow
def test_the_site_has_every_page_and_the_report(built: Path) -> None:
    for name in stage.pages(ROOT):
        page = Path(stage.staged(name)).with_suffix(".html")
        assert (built / page).is_file(), name
    campaign = store.load(store.trials_file(RESULTS / "reference")).campaign.campaign
    assert campaign in (built / stage.REFERENCE).read_text()
    assert campaign in (built / "report.html").read_text()
    assert "c10k" in (built / stage.SLIDES).read_text()


@pytest.mark.slow
def test_what_the_theme_lacks_is_completed(built: Path) -> None:
    """The theme may change what it writes; then nothing would be replaced."""
    texts = [(built / name).read_text() for name in PAGES]
    for short, whole in finish.MISSING:
        assert any(whole in text for text in texts), whole
        assert not any(short in text.replace(whole, "") for text in texts), short


def opened(browser: Any, width: int, theme: str) -> tuple[Any, list[str]]:
    """An empty page, and what it will ask the net for or complain of."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, offline=True
    )
    context.set_default_timeout(120_000)
    page, bad = context.new_page(), []
    page.on("pageerror", lambda error: bad.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(("file:", "data:")) else bad.append(asked.url),
    )
    page.on("console", lambda said: bad.append(said.text) if said.type == "error" else None)
    return page, bad


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 900, 1440])
def test_pages_fit_and_ask_for_nothing(built: Path, browser: Any, width: int) -> None:
    page, bad = opened(browser, width, "light")
    for name in PAGES:
        page.goto((built / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == width, name
    page.context.close()
    assert bad == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(built: Path, browser: Any, theme: str) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text()
    page, _ = opened(browser, 1440, theme)
    for name in PAGES:
        page.goto((built / name).as_uri())
        # Rows of a table are alike: three of each are enough.
        page.evaluate(
            "document.querySelectorAll('tbody')"
            ".forEach(each => [...each.rows].slice(3).forEach(row => row.remove()))"
        )
        page.evaluate(script)
        found = page.evaluate("axe.run()")
        bad = [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
        assert bad == [], name
        assert len(found["passes"]) > 10, "axe ran"
    page.context.close()


@pytest.mark.slow
def test_search_works_from_a_file(built: Path, browser: Any) -> None:
    page, bad = opened(browser, 1000, "light")
    page.goto((built / "index.html").as_uri())
    page.goto(f"{(built / 'search.html').as_uri()}?q=greenlets")
    found = page.locator("#search-results li a", has_text="gevent").first
    found.click()
    page.wait_for_url("**/docs/cards/gevent*.html*")
    page.context.close()
    assert bad == []


@pytest.mark.slow
def test_charts_follow_the_theme_that_the_reader_chooses(built: Path, browser: Any) -> None:
    page, bad = opened(browser, 1440, "light")
    page.goto((built / "index.html").as_uri())
    shown = "document.querySelector('picture img').currentSrc.endsWith('-dark.svg')"
    for theme, dark in (("dark", "true"), ("light", "false"), ("auto", "false")):
        page.evaluate(f"document.body.dataset.theme = '{theme}'")
        page.wait_for_function(f"{shown} === {dark}")
    page.context.close()
    assert bad == []
