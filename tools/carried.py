"""Write what a wheel carries of the reference: its answers, and the slides of the talk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from bench import filesystem, store
from bench.analysis.analysis import Analysis
from bench.capacity import model
from bench.cli.reference import ANSWERS, TALK, Answers
from bench.report import campaigns, cite, findings
from bench.talk import slides
from bench.talk.material import Material

DIGITS: Final = 6
"""Of each number: more than any table shows."""


def write(out: Path, campaign: Path, fleet: Path) -> None:
    """Write answers and slides, made from the records of a campaign and of a fleet."""
    filesystem.make_folder(out)
    if campaigns.FOLDER.is_dir():  # first: all that follows quotes it
        combined = campaigns.combine([]).model_dump_json()
        filesystem.write_text(out / campaigns.PUBLISHED.name, one_a_line(combined))
        campaigns.published.cache_clear()
    material = Material.load(campaign, fleet)
    filesystem.write_text(out / ANSWERS, text_of(material.analysis, store.trials_file(campaign)))
    filesystem.write_text(out / TALK, slides.html(slides.tell(material)))


def text_of(analysis: Analysis, file: Path) -> str:
    """The answers as JSON, a line for each value."""
    costs = model.costs(analysis)
    assert costs is not None, "the reference compares backends"
    plan: dict[str, list[str]] = {"plan": [], "rungs": [], "points": [], "command": []}
    found = Answers(
        campaign=analysis.campaign.model_copy(update=plan),
        sha256=cite.checksum(file),
        findings=findings.named(analysis),
        source=findings.source(analysis),
        costs=costs,
    )
    return one_a_line(found.model_dump_json())


def one_a_line(text: str) -> str:
    """JSON with a line for each value, its numbers rounded."""
    values = json.loads(text, parse_float=_rounded)
    return json.dumps(values, ensure_ascii=False, separators=(",\n", ":")) + "\n"


def _rounded(digits: str) -> float:
    return float(f"{float(digits):.{DIGITS}g}")
