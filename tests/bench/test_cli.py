"""``python -m bench``: help that teaches, exit codes that mean something, one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import runner, store
from bench.__main__ import main, parser
from bench.backends import Known
from bench.schema import AnyRecord, TrialRecord
from tests.bench.synthetic import campaign

DONE, FAILED, USAGE = 0, 1, 2


def save(folder: Path, records: list[AnyRecord]) -> Path:
    folder.mkdir()
    lines = [record.model_dump_json() for record in records]
    (folder / store.FILE_NAME).write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("", "python -m bench doctor"),
        ("list", "profile"),
        ("run", "--resume"),
        ("report", "trials.jsonl"),
        ("cite", "BibTeX"),
        ("export", "parquet"),
        ("bundle", "--verify"),
        ("compare", "noise floor"),
        ("check", "fault"),
        ("micro", "--redraw"),
        ("claims", "--measure"),
        ("tracebacks", "broken"),
        ("sidebyside", "slide"),
    ],
)
def test_help_teaches(command: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), "--help"])
    assert stopped.value.code == DONE
    text = capsys.readouterr().out
    assert word in text
    assert "Exit codes" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--profile", "huge"],
        ["run", "--backends", "nonesuch"],
        ["run", "--only", "nonesuch"],
        ["run", "--resume", "nowhere"],
        ["report", "nowhere"],
        ["bundle", "nowhere"],
        ["bundle", "nowhere", "--rebuild"],
        ["cite", "nowhere"],
        ["export", "nowhere"],
        ["compare", "nowhere", "nowhere"],
        ["check", "nowhere"],
        ["list", "--profile", "huge"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == USAGE
    text = capsys.readouterr().err.strip()
    assert text.startswith("python -m bench: ")
    assert "\n" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["run", "--blocks", "0"],
        ["run", "--blocks", "x"],
        ["run", "--only", ","],
    ],
)
def test_bad_arguments_are_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(arguments)
    assert stopped.value.code == USAGE


def test_list_shows_points_and_backends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [Known("threads", "threads", 10, "one thread per slot", "")]
    monkeypatch.setattr("bench.backends.look_up", lambda names=None: known)
    assert main(["list", "--profile", "quick"]) == DONE
    text = capsys.readouterr().out
    assert "c10k-10000" in text
    assert "one thread per slot" in text
    assert main(["list", "--json"]) == DONE
    listed = json.loads(capsys.readouterr().out)
    assert set(listed["profiles"]) == {"smoke", "quick", "full", "interpreters"}
    assert listed["backends"][0]["name"] == "threads"


def test_compare_exits_1_when_something_got_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = campaign(blocks=6, noise=0.01, drift=0.0, workloads=["throughput"])
    slower = [
        record.model_copy(update={"pages_per_s": record.pages_per_s * 0.7})
        if isinstance(record, TrialRecord) and record.pages_per_s and record.label == "threads"
        else record
        for record in made
    ]
    first, second = save(tmp_path / "a", made), save(tmp_path / "b", slower)
    assert main(["compare", str(first), str(first)]) == DONE
    assert "Nothing got worse" in capsys.readouterr().out
    assert main(["compare", str(first), str(second), "--json"]) == FAILED
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["label"] for row in rows if row["verdict"] == "worse"} == {"threads"}
    assert main(["compare", str(second), str(first)]) == DONE


def test_check_names_every_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save(tmp_path / "a", campaign(blocks=1, voids=1, ended=False))
    (folder / "charts").mkdir()
    (folder / "charts" / "one.png").write_text("no picture")
    assert main(["check", str(folder)]) == FAILED
    text = capsys.readouterr().out
    for fault in ("no end record", "void", "no svg chart", "one.png is no png", "no summary.md"):
        assert fault in text


def test_a_report_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save(tmp_path / "a", campaign(blocks=1)[:1])
    assert main(["report", str(folder)]) == USAGE
    assert "nothing to report" in capsys.readouterr().err


def test_recorded_command_lines_hold_no_folder() -> None:
    given = ["bench", "run", "--results=/home/me/x", "--out", "/tmp/y", "--profile", "full"]
    assert runner.own_command(given) == [
        *("bench", "run", "--results=x", "--out", "y", "--profile", "full"),
    ]
