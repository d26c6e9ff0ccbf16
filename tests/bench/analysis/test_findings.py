"""The findings, and that the README says what the reference campaign says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main
from bench.analysis.analysis import Analysis
from bench.cli.exits import DONE, USAGE
from bench.report import findings, readme
from bench.report.charts import Design
from bench.report.charts import memory as memory_chart
from bench.schema import AnyRecord, TrialRecord
from bench.text import KIB, block, marks
from tests.bench.synthetic import MODELS, across, analysed, campaign, rungs

ROOT = Path(__file__).parents[3]


def test_findings_come_from_the_records() -> None:
    said = findings.markdown(analysed(campaign(blocks=6, samples=30)))
    assert "An idle connection takes" in said
    assert "One backend compared with itself" in said


def test_a_headline_is_the_bold_part_of_each_finding() -> None:
    analysis = analysed(campaign(blocks=6, samples=30))
    told = findings.headlines(analysis).splitlines()
    lines = [line for line in told if line.startswith("- ")]
    assert len(lines) == len(findings.findings(analysis))
    for line, whole in zip(lines, findings.findings(analysis), strict=True):
        assert whole.startswith(f"**{line.removeprefix('- ').rstrip('.')}")
        assert "**" not in line
        assert line.endswith(".")
        assert not line.endswith("..")
    assert "Every difference is to `threads`; threads had one processor" in told[-1]


def test_models_come_first_and_stacks_stand_apart() -> None:
    backends = (*MODELS, "uvloop", "aiohttp")
    ladder = [
        rung.model_copy(update={"family": "stack"}) if rung.name == "aiohttp" else rung
        for rung in rungs(backends)
    ]
    lines = campaign(
        backends=backends, base="callbacks", ladder=ladder, samples=30, workloads=("throughput",)
    )
    (pages,) = (s for s in findings.findings(analysed(lines)) if "fewer pages" in s)
    headline, details = pages.split(".** ")
    assert headline.startswith("**Async/await crawls 4")
    assert "% fewer pages per second than callbacks, threads 3" in headline
    assert "uvloop" not in headline
    models, variants, stacks = details.split(". ")
    assert models.startswith("A crawl, at 100 slots: `async_await` 4")
    assert variants.startswith("Variants: `uvloop` 2")
    assert stacks.startswith("HTTP stacks: `aiohttp` 8")


def test_a_slow_server_is_told_at_few_slots_and_at_many_with_its_median_and_mean() -> None:
    """At 100 slots alone "no model differs" hid what 1,000 slots show."""
    (said,) = (s for s in findings.findings(analysed(_slow_threads())) if "Behind a delay" in s)
    headline, details = said.split(".** ")
    assert headline.startswith("**Behind a delay with a median of 50 ms (mean 57 ms), at 100 slots")
    assert "; at 1,000 slots threads fetch 6" in headline
    assert "At 1,000 slots: `threads` 6" in details


def _slow_threads() -> list[AnyRecord]:
    """A campaign in which only threads at 1,000 slots fetch fewer pages from a slow server."""
    lines = campaign(
        blocks=6, samples=20, workloads=("waiting",), base="callbacks", effects=False, noise=0.01
    )
    found: list[AnyRecord] = []
    for line in lines:
        if isinstance(line, TrialRecord) and line.pages_per_s:
            slow = (line.point, line.label) == ("waiting-1000", "threads")
            rate = line.pages_per_s * (0.4 if slow else 1.0)
            line = line.model_copy(update={"pages_per_s": rate})
        found.append(line)
    return found


def test_memory_that_was_calculated_is_not_told_as_read() -> None:
    lines: list[AnyRecord] = []
    for line in campaign(blocks=5, samples=20, workloads=("c10k",)):
        if isinstance(line, TrialRecord) and line.memory and line.label == "threads":
            held = line.memory.held.model_copy(
                update={"send_buffer_bytes": 32 * KIB * line.memory.connections}
            )
            sources = {"send_buffer_bytes": "calculated: threads that sent × 32 KiB"}
            memory = line.memory.model_copy(update={"held": held, "sources": sources})
            line = line.model_copy(update={"memory": memory})
        lines.append(line)
    analysis = analysed(lines)
    said = findings.findings(analysis)[0]
    assert "Calculated from the number of threads, not read: 32 of the 86 KiB of `threads`" in said
    design = memory_chart.design(analysis)
    assert isinstance(design, Design)
    assert "Hatched: calculated, not read: 32.0 KiB of threads (send buffers)." in design.notes
    assert "send buffers 32.0 KiB calculated" in design.alt
    assert "Calculated" not in findings.findings(analysed(campaign(workloads=("c10k",))))[0]


def test_nothing_is_said_without_data() -> None:
    assert findings.findings(analysed(campaign(blocks=1, samples=1)[:1])) == []


@pytest.mark.parametrize(
    ("page", "campaign"),
    [("docs/findings.md", "reference"), ("docs/interpreters.md", "interpreters")],
)
def test_a_page_quotes_its_campaign(page: str, campaign: str) -> None:
    """Rebuild with: python -m bench findings results/reference --into docs/findings.md."""
    analysis = Analysis(store.load(ROOT / "results" / campaign))
    assert block((ROOT / page).read_text(), findings.NAME) == findings.markdown(analysis)


def test_the_readme_quotes_the_headlines_of_the_reference() -> None:
    """Rebuild with: python -m bench findings results/reference --into README.md."""
    analysis = Analysis(store.load(ROOT / "results" / "reference"))
    told = block((ROOT / "README.md").read_text(), findings.HEADLINES)
    assert told == findings.headlines(analysis)
    lines = [line for line in told.splitlines() if line.startswith("- ")]
    assert len(lines) == len(findings.findings(analysis))
    assert all(len(line) < 250 for line in lines)


@pytest.mark.parametrize(
    ("page", "campaign", "charts"),
    [("docs/reading-the-charts.md", "reference", 4), ("docs/interpreters.md", "interpreters", 1)],
)
def test_a_page_shows_the_charts_of_its_campaign(page: str, campaign: str, charts: int) -> None:
    """Rebuild with: python -m bench findings results/reference --into docs/reading-the-charts.md.

    Missing charts come from: python -m bench report results/reference.
    """
    folder = ROOT / "results" / campaign
    analysis = Analysis(store.load(folder))
    text = (ROOT / page).read_text()
    address = Path(os.path.relpath(folder / "charts", (ROOT / page).parent)).as_posix()
    shown = readme.markdown(analysis, address, folder / "charts")
    assert block(text, readme.NAME) == shown
    assert shown.count("<img ") >= charts


def test_what_each_release_changed_is_said_step_by_step() -> None:
    said = findings.markdown(analysed(across()))
    assert "**Processor time per page, 3.13.9 → 3.14.1**: `" in said
    assert "**User memory per connection, 3.11.7 → 3.12.1**: within ±2 %: `" in said
    assert "3.12.1 → 3.13.9" not in said  # another build
    assert "Not measured: CPython 3.14t" in said
    assert "An idle connection takes" not in said


def test_the_gallery_of_a_campaign_across_interpreters_is_its_chart(tmp_path: Path) -> None:
    (tmp_path / "interpreters.svg").touch()
    shown = readme.markdown(analysed(across()), "charts", tmp_path)
    assert shown.count("<img ") == 1
    assert 'src="charts/interpreters.svg"' in shown


def test_a_readme_gets_new_findings_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    around = ("before\n", "between", "after\n")
    old = ["old".join(marks(name)) for name in (findings.NAME, readme.NAME)]
    page.write_text(around[0] + old[0] + around[1] + old[1] + around[2])
    (tmp_path / "a").mkdir()
    records = campaign(blocks=5, samples=200, workloads=("c10k",))
    lines = "".join(record.model_dump_json() + "\n" for record in records)
    (tmp_path / "a" / store.FILE_NAME).write_text(lines)
    assert main(["findings", str(tmp_path / "a"), "--into", str(page)]) == DONE
    text = page.read_text()
    assert "An idle connection takes" in block(text, findings.NAME)
    assert "old" not in text
    assert all(words in text for words in around)
    page.write_text("old".join(marks(readme.NAME)))
    assert main(["findings", str(tmp_path / "a"), "--into", str(page)]) == DONE
    assert block(page.read_text(), readme.NAME) == ""
    page.write_text("no marks")
    assert main(["findings", str(tmp_path / "a"), "--into", str(page)]) == USAGE
    assert page.read_text() == "no marks"
