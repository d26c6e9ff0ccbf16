"""The findings, and that the README says what the reference campaign says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import findings, store
from tests.bench.synthetic import campaign

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results" / "reference"


def test_findings_come_from_the_records() -> None:
    said = findings.markdown(campaign(blocks=6))
    assert "A connection that waits costs" in said
    assert "One backend against itself" in said


def test_nothing_is_said_without_data() -> None:
    assert findings.findings([]) == []


def test_the_readme_quotes_the_reference_campaign() -> None:
    """Rebuild with: python -m bench findings results/reference."""
    file = REFERENCE / store.FILE_NAME
    if not file.exists():
        pytest.skip("no reference campaign here")
    said = findings.markdown(store.load(file).all)
    assert findings.block_of((ROOT / "README.md").read_text()) == said
