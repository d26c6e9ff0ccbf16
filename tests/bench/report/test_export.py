"""The flat table of trials, and how to cite a campaign."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main
from bench.cli import DONE
from bench.plan.profiles import profile
from bench.report import cite, export
from bench.store import Records
from tests.bench.cli.test_cli import save
from tests.bench.synthetic import campaign


@pytest.fixture
def records() -> Records:
    return store.sort_out(campaign(blocks=2, samples=200, voids=1), Path("made"))


@pytest.fixture
def file(records: Records, tmp_path: Path) -> Path:
    return save(tmp_path / "made", records.all) / store.FILE_NAME


def test_every_trial_is_a_row_with_the_same_columns(records: Records) -> None:
    rows = export.table(records)
    assert len(rows) == len(records.trials)
    assert len({tuple(row) for row in rows}) == 1
    assert all(value is None or isinstance(value, int | float | str) for value in rows[0].values())
    held = next(row for row in rows if row["workload"] == "c10k")
    trial = next(trial for trial in records.trials if trial.workload == "c10k")
    assert trial.memory is not None
    assert held["memory_held_user_bytes"] == trial.memory.held.user_bytes
    assert held["cpu_client_user_s"] is None
    assert any(row["status"] == "void" for row in rows)


def test_what_sets_trials_of_a_label_apart_is_a_column() -> None:
    """Trials of one label against a server awake and asleep looked the same.

    A point lists its modes; each trial has one.
    """
    planned = {name for p in profile("full").points for name in p.params} - {"modes"}
    apart = {"server", "mode", "recorder"}
    assert planned | apart <= {*export.PARAMS.split(), "switch_interval_s"}


def test_csv_holds_the_table(records: Records) -> None:
    assert list(csv.DictReader(io.StringIO(export.to_csv(records)))) == [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in export.table(records)
    ]


def test_no_text_in_csv_is_a_formula(records: Records) -> None:
    """Spreadsheets run what begins like one; numbers stay numbers."""
    texts = ["=cmd|'/C calc'!A0", "@SUM(1)", "+1", "-1", "\t=1"]
    trials = [
        trial.model_copy(update={"reason": text, "late_starts": -1})
        for trial, text in zip(records.trials, texts, strict=False)
    ]
    rows = list(csv.DictReader(io.StringIO(export.to_csv(replace(records, trials=trials)))))
    assert [row["reason"] for row in rows] == [f"'{text}" for text in texts]
    assert {row["late_starts"] for row in rows} == {"-1"}


def test_the_command_writes_to_a_file_or_to_standard_output(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.with_name("trials.csv")
    assert main(["export", str(file), "--out", str(out)]) == DONE
    assert capsys.readouterr().out == ""
    assert main(["export", str(file)]) == DONE
    assert capsys.readouterr().out == out.read_text()


def test_a_citation_names_the_campaign_and_its_checksum(
    file: Path, records: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cite", str(file)]) == DONE
    text = capsys.readouterr().out
    assert text.count(records.campaign.campaign) >= 2
    assert text.count(cite.checksum(file)) == 2
    assert "@misc{c10k-crawlers-20261121-051200-1a2b3c,\n" in text


def test_a_name_cannot_break_the_bibtex_entry(records: Records) -> None:
    head = records.campaign.model_copy(update={"campaign": "a}, b_{\\input x%", "profile": "p"})
    entry = cite.bibtex(head, "0" * 64)
    assert entry.startswith("@misc{c10k-crawlers-abinputx,\n")
    assert "Campaign a, b\\_input x\\%," in entry
    assert entry.count("{") == entry.count("}")


def test_the_example_in_the_docs_runs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "exporting.md").read_text()
    code = page.partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(file.parent)
    assert main(["export", str(file), "--out", "trials.csv"]) == DONE
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    ).stdout
    assert "callbacks" in said
    assert "of 2 trials" in said
