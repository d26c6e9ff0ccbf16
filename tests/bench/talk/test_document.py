"""The talk as a document: what is committed, and what another campaign gets."""

from __future__ import annotations

import re
from pathlib import Path

from bench.launch import ROOT
from bench.talk import document
from tests.bench.talk.samples import FLEET, REFERENCE, committed, made
from tools.rebuild import COMMANDS

PAGE = ROOT / "docs" / "talk.md"


def test_the_committed_talk_is_what_the_records_give() -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    made = document.markdown(committed(), REFERENCE, FLEET, PAGE)
    assert without_source(PAGE.read_text()) == without_source(made)


def without_source(text: str) -> list[str]:
    """Every slide but the one with code: that changes with the models, not with the records."""
    slides = re.split(r"^## ", text, flags=re.MULTILINE)
    return [one for one in slides if "counted in the model files" not in one]


def test_the_documents_command_rebuilds_it() -> None:
    assert document.command(REFERENCE, FLEET, PAGE).removeprefix("python -m bench ") in COMMANDS


def test_every_slide_has_its_notes_a_question_an_answer_and_the_campaign() -> None:
    parts = re.split(r"^## \d+\. ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) == len(committed().slides)
    for part, slide in zip(parts, committed().slides, strict=True):
        assert "**Notes.** " in part
        assert f"**From the floor:** *{slide.question}*" in part
        assert slide.answer in part
        assert "Numbers: " in part


def test_charts_that_were_not_drawn_are_told_in_words(tmp_path: Path) -> None:
    talk = made(workloads=("throughput", "c10k"))
    text = document.markdown(talk, tmp_path, None, tmp_path / "talk.md")
    assert "![" not in text
    assert "Bar chart: CPU time per 1000 pages" in text
    assert "## Left out" in text
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "cpu.svg").write_text("<svg/>")
    text = document.markdown(talk, tmp_path, None, tmp_path / "talk.md")
    assert "](charts/cpu.svg)" in text
    assert "--fleet" not in document.command(tmp_path, None, tmp_path / "talk.md")
