"""``python -m bench doctor``: its table, its JSON and its exit codes."""

from __future__ import annotations

import json

import pytest

from bench.__main__ import main


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "--connections", "10"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    results = json.loads(printed.out)
    assert {tuple(result) for result in results} == {("check", "level", "found", "effect", "fix")}
    assert {result["level"] for result in results} <= {"ok", "note", "warning", "refusal"}


def test_a_table_without_colour_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--connections", "10"]) == 0
    printed = capsys.readouterr().out
    assert "descriptors" in printed
    assert "\x1b" not in printed


def test_a_refusal_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--connections", "100000000"]) == 1
    assert "refusal" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("--connections", "x"), ("--threads", "-1"), ("--what",)])
def test_bad_usage_is_exit_code_2(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", *arguments])
    assert stopped.value.code == 2
    assert "usage" in capsys.readouterr().err
