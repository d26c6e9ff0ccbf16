"""The terminal: no control code reaches it, and no error of it ends a campaign."""

from __future__ import annotations

import io
import os
import signal
from unittest.mock import Mock

import pytest
from rich.table import Table
from rich.text import Text

from bench.terminal import Output, Phases, Terminal

HOSTILE = "a\x1b[2Jb\x07c\x9bd\u202ee\r"


def shown(*printed: object) -> str:
    file = io.StringIO()
    console = Terminal(file)
    console.print(*printed, markup=False)
    return file.getvalue()


def test_no_control_character_reaches_the_terminal() -> None:
    table = Table("name")
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE, style="red"))
    for printed in (HOSTILE, Text(HOSTILE), table):
        text = shown(printed)
        assert r"\x1b[2J" in text
        assert set(text) & set("\x1b\x07\x9b\u202e\r") == set()


def test_zero_columns_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert shown("a word") == "a word\n"


def test_what_runs_in_the_background_says_how_to_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell makes what it starts with & ignore Ctrl-C, and nothing said so."""
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    file = io.StringIO()
    Phases(Terminal(file)).phase("a campaign")
    said = f"Ctrl-C is ignored, as in the background; to stop: kill {os.getpid()}"
    assert file.getvalue().strip() == said


def test_an_error_of_the_output_is_remembered() -> None:
    write = Mock(side_effect=OSError(28, "No space left on device"))
    with open("/dev/null", "w") as target:
        output = Output(Mock(write=write, fileno=target.fileno))
        assert output.write("text") == 4
        output.flush()
    assert output.error is not None
    assert output.error.strerror == "No space left on device"
