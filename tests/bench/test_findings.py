"""The findings, and that the README says what the reference campaign says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import findings, gallery, store
from bench.__main__ import DONE, USAGE, main
from tests.bench.synthetic import across, campaign

ROOT = Path(__file__).parents[2]


def test_findings_come_from_the_records() -> None:
    said = findings.markdown(campaign(blocks=6))
    assert "A connection that waits costs" in said
    assert "One backend against itself" in said


def test_nothing_is_said_without_data() -> None:
    assert findings.findings([]) == []


@pytest.mark.parametrize(
    ("page", "campaign", "charts"),
    [("README.md", "reference", 4), ("docs/interpreters.md", "interpreters", 1)],
)
def test_a_page_quotes_its_campaign(page: str, campaign: str, charts: int) -> None:
    """Rebuild with: python -m bench findings results/reference --into README.md."""
    folder = ROOT / "results" / campaign
    if not folder.exists():
        pytest.skip(f"no {campaign} campaign here")
    records = store.load(folder / store.FILE_NAME).all
    text = (ROOT / page).read_text()
    assert findings.block_of(text) == findings.markdown(records)
    address = Path(os.path.relpath(folder / "charts", (ROOT / page).parent)).as_posix()
    shown = gallery.markdown(records, address, folder / "charts")
    assert findings.block_of(text, gallery.BEGIN, gallery.END) == shown
    assert shown.count("<img ") >= charts


def test_what_each_release_changed_is_said_step_by_step() -> None:
    said = findings.markdown(across())
    assert "**Processor time per page, 3.13.9 → 3.14.1**: `" in said
    assert "**User memory per connection, 3.11.7 → 3.12.1**: no difference shown for `" in said
    assert "3.12.1 → 3.13.9" not in said  # another build
    assert "Not measured: CPython 3.14t" in said
    assert "A connection that waits costs" not in said


def test_the_gallery_of_a_campaign_across_interpreters_is_its_chart(tmp_path: Path) -> None:
    (tmp_path / "interpreters.png").touch()
    shown = gallery.markdown(across(), "charts", tmp_path)
    assert shown.count("<img ") == 1
    assert 'src="charts/interpreters.png"' in shown


def test_a_readme_gets_new_findings_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    around = ("before\n", "between", "after\n")
    marks = (findings.BEGIN + "old" + findings.END, gallery.BEGIN + "old" + gallery.END)
    page.write_text(around[0] + marks[0] + around[1] + marks[1] + around[2])
    (tmp_path / "a").mkdir()
    records = campaign(blocks=5, samples=200, workloads=("c10k",))
    lines = "".join(record.model_dump_json() + "\n" for record in records)
    (tmp_path / "a" / store.FILE_NAME).write_text(lines)
    assert main(["findings", str(tmp_path / "a"), "--into", str(page)]) == DONE
    text = page.read_text()
    assert "A connection that waits costs" in findings.block_of(text)
    assert "old" not in text
    assert all(words in text for words in around)
    page.write_text("no marks")
    assert main(["findings", str(tmp_path / "a"), "--into", str(page)]) == USAGE
    assert page.read_text() == "no marks"
