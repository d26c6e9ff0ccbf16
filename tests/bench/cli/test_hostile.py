"""Campaigns, archives and folders whose names and reasons would drive a terminal."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main
from bench.schema import AnyRecord, CampaignRecord, EndRecord, TrialRecord
from tests.bench.synthetic import campaign

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b\u202e"
MARKUP = "[variants] [/b] [red]"
HOSTILE = MARKUP + ESCAPES
COMMANDS = (
    ["check", "A"],
    ["cite", "A"],
    ["findings", "A"],
    ["compare", "A", "A"],
    ["claims", "A"],
    ["report", "A"],
)


def changed(record: AnyRecord) -> AnyRecord:
    """The record with hostile words in it."""
    match record:
        case CampaignRecord():
            head = record.environment.model_copy(update={"cpu_model": HOSTILE, "commit": HOSTILE})
            return record.model_copy(update={"campaign": HOSTILE, "environment": head})
        case TrialRecord() if record.trial == 1:
            return record.model_copy(update={"status": "void", "reason": HOSTILE})
        case EndRecord():
            return record.model_copy(update={"complete": False, "reason": HOSTILE})
        case _:
            return record


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a hostile campaign, with a hostile name."""
    folder = tmp_path_factory.mktemp("campaigns") / MARKUP.replace("/", "∕")
    folder.mkdir()
    records = campaign(blocks=5, samples=10, workloads=["throughput"])
    lines = [changed(record).model_dump_json() for record in records]
    (folder / store.FILE_NAME).write_text("\n".join(lines) + "\n")
    return folder


def clean(text: str) -> bool:
    """Whether a terminal would show every character of this text."""
    return not set(text) & set(ESCAPES) - {"[", "]", "0", ";", *"title2J"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_escape_sequence_reaches_the_terminal(
    command: list[str],
    hostile: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.report.charts.CHARTS", ())  # drawing takes long
    out = ["--out", str(tmp_path / "out")] if command[0] in ("claims", "report") else []
    main([str(hostile) if word == "A" else word for word in command] + out)
    printed = capsys.readouterr()
    assert printed.out
    assert clean(printed.out + printed.err)


def test_words_in_brackets_are_shown_as_they_are(
    hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", str(hostile)])
    assert MARKUP.replace(" ", "") in "".join(capsys.readouterr().out.split())


def test_an_archive_cannot_drive_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.tar"
    with tarfile.open(file, "w") as archive:
        member = tarfile.TarInfo(f"top/{HOSTILE}")
        member.type = tarfile.SYMTYPE
        archive.addfile(member, io.BytesIO())
    assert main(["bundle", "--verify", str(file)]) == 2
    text = capsys.readouterr().err
    assert "is not" in text
    assert clean(text)


def test_an_error_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", HOSTILE]) == 2
    text = capsys.readouterr().err
    assert MARKUP in text
    assert clean(text)
