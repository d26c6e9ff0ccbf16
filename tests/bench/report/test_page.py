"""The report of a campaign: what it says, and that it works in a browser and for everybody."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jinja2 import DictLoader, UndefinedError
from markupsafe import escape

from bench import store
from bench.claims import ledger, verdict
from bench.palette import dark_of
from bench.questions import analysis_of
from bench.report import charts, cite, export, files, findings, markup, page, summary
from bench.schema import PointParams, PointPlan
from bench.store import Records
from bench.text import unbroken
from tests.bench import committed
from tests.bench.cli.test_cli import save
from tests.bench.study.made import experiments as experimented
from tests.bench.study.made import kept
from tests.bench.synthetic import (
    MODELS,
    altered,
    analysed,
    campaign,
    environment,
    gathered,
    replaced,
    rungs,
)
from tests.browsing import barriers, opened

DRAWN = ("throughput", "memory")
HOSTILE = '</script><img src=x onerror=alert(1)>"&'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of a small campaign, and all that is made from them but most of the charts."""
    records = campaign(
        samples=1100,
        workloads=("throughput", "c10k", "ladder", "regime", "fairness"),
        ladder=rungs(MODELS),
        blocks=5,
        voids=1,
    )
    folder = save(tmp_path_factory.mktemp("campaigns") / "made", records)
    file = folder / store.FILE_NAME
    kept(verdict.STUDY, folder, *experimented({"awaiting.task_turns": [2.0, 2.0]}))
    with pytest.MonkeyPatch.context() as patch:
        whole = charts.story
        patch.setattr(charts, "story", lambda analysis: {n: whole(analysis)[n] for n in DRAWN})
        page.build(analysis_of(store.load(file)), folder, file, ledger.sections)
    return folder


class Tags(HTMLParser):
    """Every tag with its attributes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_the_page_holds_all_it_needs_and_its_links_lead_somewhere(folder: Path) -> None:
    text = (folder / files.PAGE).read_text()
    assert len(text) < 5_000_000
    tags = Tags(text)
    ids = {attributes["id"] for _, attributes in tags.found if "id" in attributes}
    found = [str(attributes["id"]) for _, attributes in tags.found if "id" in attributes]
    assert len(found) == len(ids), "no two charts share an id"
    assert tags.of("svg")
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= ids
    assert {str(use["xlink:href"]).removeprefix("#") for use in tags.of("use")} <= ids
    assert not [*tags.of("link"), *tags.of("img")]
    for link in tags.of("a"):
        address = str(link["href"])
        if address.startswith("#"):
            assert address[1:] in ids
        elif address.startswith("https://"):
            assert link["rel"] == "noreferrer", "a claim's source"
        elif not address.startswith("data:"):
            assert (folder / unquote(address)).is_file()


def test_the_page_says_what_the_records_say(folder: Path) -> None:
    text = (folder / files.PAGE).read_text()
    records = store.load(folder)
    for word in (
        "An idle connection uses",
        records.campaign.campaign,
        cite.checksum(folder / store.FILE_NAME),
        "digest differs from the site",  # the void trial's reason
        "noise floor",
        "BibTeX",
    ):
        assert word in text
    images = Tags(text).of("svg")
    drawn = list((folder / files.CHARTS).glob("*.txt"))
    assert len(images) > len(drawn) > 0, "each again for a phone"
    assert {image["role"] for image in images} == {"img"}
    assert {f"{image['aria-label']}\n" for image in images} == {f.read_text() for f in drawn}


def test_what_the_page_offers_for_download_is_what_the_records_give(folder: Path) -> None:
    records = store.load(folder)
    links = Tags((folder / files.PAGE).read_text()).of("a")
    held = {
        str(link["download"]): gzip.decompress(base64.b64decode(address.partition(",")[2])).decode()
        for link in links
        if (address := str(link["href"])).startswith("data:application/gzip;base64,")
    }
    assert held == {"trials.csv.gz": export.to_csv(records)}


def test_a_page_has_the_picture_of_the_file_in_either_theme(folder: Path) -> None:
    """But for its last decimals and its ids."""

    def plain(svg: str) -> list[str]:
        pieces = re.findall(r"#[0-9a-f]{6}\b|<text[^>]*>[^<]*|<(?:path|use|rect|clipPath)\b", svg)
        return [re.sub(r"<text[^>]*>", "text ", piece) for piece in pieces]

    text = (folder / files.PAGE).read_text()
    for name in DRAWN:
        figure = text[text.index(f'<figure id="chart-{name}">') :]
        figure = figure[figure.index('<div class="wide">') :]
        held = figure[figure.index("<svg") : figure.index("</svg>")]
        drawn = (folder / f"charts/{name}.svg").read_text()
        in_light = drawn[drawn.index("</style>") :]
        in_dark = in_light
        for light, dark in dark_of(drawn).items():
            in_dark = in_dark.replace(light, dark)
        for theme, file in (("light", in_light), ("dark", in_dark)):
            style = re.search(rf"color-scheme: {theme};([^}}]*)", text)
            assert style is not None
            colours = dict(re.findall(r"(--c\d+): (#[0-9a-f]{6});", style.group(1)))
            shown = held
            for variable, colour in colours.items():
                shown = shown.replace(f"var({variable})", colour)
            assert plain(shown) == plain(file)


def test_a_campaign_without_trials_enough_has_a_page_too(tmp_path: Path) -> None:
    few = campaign(samples=200, workloads=("throughput",), blocks=1, twin=None)
    text = page.page(analysed(few), [], tmp_path, "0" * 64)
    assert "too small for a finding" in text
    assert "Well-known claims" not in text


def test_the_page_has_every_table_of_the_summary(folder: Path) -> None:
    text = (folder / files.PAGE).read_text()
    tables = summary.tables(analysis_of(store.load(folder)))
    assert len(tables) == 5
    for table in tables:
        start = text.index(f"<caption>{escape(table.caption)}</caption>")
        end = text.index("</table>", start)
        rest = text[end : text.find("<caption>", end)]
        shown = text[start:end]
        assert all(str(escape(unbroken(title))) in shown for title in table.header)
        assert all(str(escape(unbroken(cell))) in shown for row in table.rows for cell in row)
        assert all(unbroken(line) in unescape(rest) for line in (table.about, *table.notes))


def test_the_page_shows_the_verdict_on_every_claim_that_was_tested(folder: Path) -> None:
    text = (folder / files.PAGE).read_text()
    section = unescape(text[text.index('<span id="claims">') : text.index('id="environment"')])
    found = verdict.of_campaign(analysis_of(store.load(folder)), folder)
    assert {"thread-50k", "await-task"} <= {each.claim.name for each in found}
    for each in found:
        claim = each.claim
        for words in (claim.title, claim.sentence, claim.url, claim.source):
            assert words in section
        for judged in each.judged:
            words = re.sub("`(.+?)`", r"<code>\1</code>", unbroken(judged.words))
            assert f"{unbroken(ledger.now(judged))}</strong> {words}" in section
    # Commands stood there in backquotes.
    assert "<code>python -m bench study claims" in section
    assert "`" not in section


def test_a_number_stands_on_one_line_with_its_unit(folder: Path) -> None:
    """On a phone "82" ended a line and "% less" began the next."""
    text = (folder / files.PAGE).read_text()
    text = re.sub(r"(?s)<(style|script|svg|pre)\b.*?</\1>", "", text)
    assert (
        re.findall(r"\d (?:µs|ms|KiB|MiB|%|times|pages/s)(?!\w)", re.sub("<[^>]*>", "", text)) == []
    )
    assert "95\N{NO-BREAK SPACE}%" in text


def test_the_short_answer_is_yes_or_says_why_not(folder: Path) -> None:
    records = store.load(folder)
    found = page.trusted(analysis_of(records))
    assert found.yes
    assert re.match(r"[\d,]+ of [\d,]+ trials count", found.why)
    assert '<p class="verdict yes"><strong>Yes:</strong>' in (folder / files.PAGE).read_text()
    half = [altered(t, status="void", reason="x") if t.trial % 2 else t for t in records.trials]
    found = page.trusted(analysis_of(Records(records.campaign, half)))
    assert not found.yes
    assert "not measured to its end and" in found.why
    assert re.search(r"\d+ of [\d,]+ trials do not count", found.why)
    labels = ["x"] * (len(records.trials) + 2)
    asked: PointParams = {"slots": 1, "delay": "none"}
    plan = PointPlan(point="p", workload="w", blocks=1, labels=labels, params=asked)
    lost = Records(altered(records.campaign, plan=[plan]), records.trials, end=records.end)
    assert re.match(r"2 of [\d,]+ planned trials are missing", page.trusted(analysis_of(lost)).why)
    few = page.trusted(analysed(campaign(blocks=3, samples=30, workloads=("throughput",))))
    assert few == page.Trusted(False, "3 blocks are too few for an interval.")
    one = page.trusted(analysed(campaign(blocks=1, samples=30, workloads=("throughput",))))
    assert one == page.Trusted(False, "1 block is too few for an interval.")
    lines = campaign(blocks=5, samples=30, workloads=("throughput",))
    without_twins = replaced(lines, lambda t: [] if "#" in t.label else t)
    found = page.trusted(analysed(without_twins))
    assert found == page.Trusted(
        True,
        "80 of 80 trials count, each checked page by page; no backend was compared with itself.",
    )


def test_one_block_on_one_processor_is_in_the_singular() -> None:
    lines = campaign(blocks=1, samples=30, workloads=("throughput",))
    head = altered(lines[0], environment__cpu_count=1)
    found = analysed([head, *lines[1:]])
    text = summary.to_markdown(found) + findings.source(found)
    assert ", 1 processor, " in text
    assert "(1 processor)" in text
    assert ", 1 block, " in text


def test_every_reader_sees_the_ten_charts_of_a_quick_run() -> None:
    assert len(page.FIRST) == page.MOST == 10
    names = [str(number) for number in range(20)]
    assert page.shown_first(names) == names[:10]
    assert page.shown_first([*names, "memory", "cpu"]) == ["cpu", "memory"]
    drawn = {*charts.story(committed.analysis())}
    assert set(page.FIRST) - drawn <= {"open_loop"}, "at no rate was everybody late"


def test_names_cannot_break_out_of_the_page(folder: Path, tmp_path: Path) -> None:
    records = store.load(folder)
    void = {"label": HOSTILE, "status": "void", "reason": HOSTILE}
    trials = [altered(trial, **void) for trial in records.trials[:3]]
    head = altered(records.campaign, campaign=HOSTILE, base=HOSTILE)
    analysis = analysis_of(Records(head, trials + records.trials[3:]))
    text = page.page(analysis, [], tmp_path, "0" * 64)
    assert "<img" not in text
    assert text.count("</script>") == 1
    assert "&lt;img src=x onerror" in text
    assert Tags(text).found[-1][0] == "script"


# --- in a browser -------------------------------------------------------------------------


@pytest.fixture
def shown(browser: Any, folder: Path) -> Iterator[Any]:
    with opened(browser, folder / files.PAGE) as page:
        yield page


def numbers(page: Any, column: int) -> list[float]:
    cells = page.locator(f"table >> nth=0 >> css=tbody td:nth-child({column})").all_inner_texts()
    return [float(cell.split()[0].replace(",", "")) for cell in cells]


def test_tables_are_sorted_by_keyboard(shown: Any) -> None:
    button = shown.locator("table >> nth=0 >> css=thead th:nth-child(2) button")
    head = shown.locator("table >> nth=0 >> css=thead th:nth-child(2)")
    assert head.get_attribute("aria-sort") == "none"
    button.focus()
    shown.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    rising = numbers(shown, 2)
    assert rising == sorted(rising)
    shown.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert numbers(shown, 2) == rising[::-1] != rising


def test_the_theme_is_the_systems_or_the_readers(shown: Any) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    drawn = "getComputedStyle(document.querySelector('svg.chart path')).fill"
    light = shown.evaluate(ground)
    assert shown.evaluate(drawn) == light
    shown.select_option("#theme", "dark")
    dark = shown.evaluate(ground)
    assert dark != light
    assert shown.evaluate(drawn) == dark
    shown.select_option("#theme", "")
    assert shown.evaluate(ground) == shown.evaluate(drawn) == light
    shown.emulate_media(color_scheme="dark")
    assert shown.evaluate(ground) == shown.evaluate(drawn) == dark
    shown.emulate_media(media="print")
    assert shown.evaluate(ground) == shown.evaluate(drawn) == light


def test_the_page_fits_a_phone_and_the_findings_a_screen(shown: Any) -> None:
    for width, height in ((1280, 720), (390, 844)):
        shown.set_viewport_size({"width": width, "height": height})
        assert shown.locator(".answers > li").count() == 2, "no open loop was measured"
        box = shown.locator(".answers").bounding_box()
        assert box["y"] + box["height"] <= height
        assert shown.evaluate("document.documentElement.scrollWidth") == width
    shown.set_viewport_size({"width": 360, "height": 740})
    assert shown.evaluate("document.documentElement.scrollWidth") == 360


def test_the_page_of_the_reference_fits_too(browser: Any, tmp_path: Path) -> None:
    """It has findings with long commands, which could not be wrapped."""
    file = tmp_path / files.PAGE
    file.write_text(page.page(committed.analysis(), [], tmp_path, "0" * 64))
    with opened(browser, file) as shown:
        for width in (1280, 390):
            shown.set_viewport_size({"width": width, "height": 800})
            assert shown.evaluate("document.documentElement.scrollWidth") == width


def test_on_a_phone_a_claim_has_its_verdict_below_it(shown: Any) -> None:
    """The verdict was beside the screen, and most of what was on it empty."""
    shown.set_viewport_size({"width": 390, "height": 800})
    shown.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    width = "each => each.parentElement.scrollWidth - each.parentElement.clientWidth"
    assert shown.locator(".claims").evaluate(width) <= 0


def test_on_a_phone_the_caption_of_a_table_stays_where_the_table_is_moved(shown: Any) -> None:
    """It was as wide as the table, and went away with the first column's neighbours."""
    shown.set_viewport_size({"width": 390, "height": 800})
    caption = shown.locator("section > .scroll caption").first
    before = caption.bounding_box()["x"]
    caption.evaluate("each => { each.closest('.scroll').scrollLeft = 150 }")
    assert caption.evaluate("each => each.closest('.scroll').scrollLeft") > 0, "nothing to scroll"
    assert caption.bounding_box()["x"] == pytest.approx(before, abs=1)


def test_paper_has_every_table_and_needs_no_words_for_charts(shown: Any) -> None:
    shown.emulate_media(media="print")
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    tables = shown.locator("table")
    assert all(tables.nth(i).is_visible() for i in range(tables.count()))
    assert not any(each.is_visible() for each in shown.locator("figcaption").all())
    assert shown.locator(".wide svg.chart >> nth=0").is_visible()
    shown.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not tables.last.is_visible()


def test_a_link_opens_the_part_that_it_leads_into(shown: Any) -> None:
    assert not shown.locator("dl").is_visible()
    shown.evaluate("location.hash = 'environment'")
    shown.locator("dl").wait_for(state="visible", timeout=5000)
    shown.set_viewport_size({"width": 375, "height": 800})


def test_on_a_phone_a_chart_has_its_title_as_text_and_fits(shown: Any) -> None:
    """It was wider than the screen, and cut in the middle of its title."""
    figures = shown.locator("figure")
    for width, kind, other in ((375, ".narrow", ".wide"), (1280, ".wide", ".narrow")):
        shown.set_viewport_size({"width": width, "height": 800})
        for figure in (figures.nth(n) for n in range(2)):
            assert not figure.locator(other).is_visible()
            for chart in figure.locator(f"{kind} svg").all():
                box = chart.bounding_box()
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width
        assert figures.first.locator("h3").is_visible() == (kind == ".narrow")


def test_the_keyboard_skips_to_the_findings(shown: Any) -> None:
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.className") == "skip"
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(shown: Any, theme: str) -> None:
    shown.select_option("#theme", theme)
    assert barriers(shown, theme) == []


def test_no_address_of_the_net_is_in_the_page_itself(folder: Path) -> None:
    """But for the sources of the claims, which a reader may follow."""
    text = re.sub(r"data:[^\"]*", "", (folder / files.PAGE).read_text())
    text = re.sub(r'<a href="https://[^"]*" rel="noreferrer">', "", text)
    assert "http://" not in text
    assert "https://" not in text


def test_markdown_lets_no_html_through_and_no_link_into_docs() -> None:
    text = "<b> **bold** `a<b` [out](https://x.org/?a&b) [in](method.md) [x](javascript:y)"
    line = (
        "&lt;b&gt; <strong>bold</strong> <code>a&lt;b</code> "
        '<a href="https://x.org/?a&amp;b" rel="noreferrer">out</a> in [x](javascript:y)'
    )
    reader = markup.reader()
    assert markup.read_line(reader, text) == line
    assert markup.read(reader, text) == f"<p>{line}</p>\n"


def test_templates_escape_values_and_want_each_of_them() -> None:
    templates = markup.templates(page.__name__, capital=str.upper)
    assert "page.html" in templates.list_templates()
    templates.loader = DictLoader({"one.html": "{{ name }} {{ name | capital }}"})
    shown = templates.get_template("one.html")
    assert shown.render(name="<b>") == "&lt;b&gt; &lt;B&gt;"
    with pytest.raises(UndefinedError, match="name"):
        shown.render()


def test_what_is_not_known_of_a_machine_is_not_listed() -> None:
    """Limits were "cgroup_memory_bytes None, …"."""
    there = environment(limits={"cgroup_memory_bytes": None, "nproc": 7})
    head = gathered(campaign(blocks=1)).campaign
    listed = dict(summary.environment(Records(altered(head, environment=there))))
    assert listed["Limits"] == "nproc 7"


def test_the_short_answer_has_each_floor() -> None:
    """It said ±2.0 %, and the charts below it that nothing below ±3.3 % is claimed."""
    why = page.trusted(committed.analysis("reference")).why
    assert why.endswith(
        "below ±2.7 % by pages/s and ±3.4 % by processor time is called a difference."
    )


def test_a_page_without_charts_has_no_place_for_them(tmp_path: Path) -> None:
    """``results/equal`` had an empty section, and a link to it."""
    made = committed.analysis("equal")
    text = page.page(made, [], tmp_path, "0" * 64)
    assert 'href="#charts"' not in text
    assert 'id="charts"' not in text
