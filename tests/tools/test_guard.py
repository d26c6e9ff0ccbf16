"""The guard of our four models: only what really grew fails."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from bench.cli.command import in_one_line
from bench.costs import measure
from bench.machine import instruments
from bench.machine.instruments import Instrument
from bench.study import StudyError
from tools import guard

HERE = "CPython 3.11.7, tool 1"
BEFORE = dict.fromkeys(guard.NAMES, 100_000.0)
DISTURBED = BEFORE | {"fetch callbacks": 102_700.0}
DEARER = BEFORE | {"fetch generators": 102_500.0}

Counting = Callable[..., list[list[str]]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A baseline of this machine and of another."""
    path = tmp_path / "guard.json"
    path.write_text(json.dumps({HERE: BEFORE, "another": BEFORE}))
    return path


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Sets what is counted, try by try, and returns whose counts are asked for.

    The last is counted from then on.
    """

    def set_counts(*counts: dict[str, float], interpreter: str = HERE) -> list[list[str]]:
        left = list(counts)
        asked: list[list[str]] = []

        def count(names: Collection[str]) -> dict[str, float]:
            asked.append(list(names))
            now = left.pop(0) if left[1:] else left[0]
            return {name: now[name] for name in names if name in now}

        monkeypatch.setattr(guard, "interpreter", lambda: interpreter)
        monkeypatch.setattr(guard, "count", count)
        return asked

    return set_counts


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ([BEFORE], 0),
        ([dict.fromkeys(guard.NAMES, 101_500.0)], 0),
        ([dict.fromkeys(guard.NAMES, 50_000.0)], 0),
        ([BEFORE | {"fetch threads": 119_000.0}], 0),
        ([BEFORE | {"fetch threads": 121_000.0}], 1),
        ([DEARER], 1),
        # Beside the tests callbacks took 2.7 % more, alone 1.1 %: CI failed for no reason.
        ([DISTURBED, DEARER], 0),
        ([*[DISTURBED] * guard.TRIES, BEFORE], 1),
    ],
)
def test_each_model_has_its_margin_and_what_was_disturbed_is_counted_again(
    file: Path, counting: Counting, counts: list[dict[str, float]], code: int
) -> None:
    asked = counting(*counts)
    assert guard.check(file) == code
    assert asked[0] == guard.NAMES
    assert all(names == guard.exceeded(counts[0], BEFORE) for names in asked[1:])


def test_some_can_be_counted_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What exceeds its baseline is counted again, each time for seconds under valgrind."""
    asked: list[tuple[str, str]] = []

    def programs(_: object, backends: list[str], workloads: list[str], __: object) -> list[object]:
        asked.extend((workload, who) for workload in workloads for who in backends)
        return []

    monkeypatch.setattr("bench.machine.instruments.cachegrind", lambda: None)  # runs valgrind
    monkeypatch.setattr(measure, "Lane", lambda *_: None)
    monkeypatch.setattr(measure, "programs", programs)
    assert guard.count(["fetch generators", "crawl callbacks"]) == {}
    assert asked == [("fetch", "generators"), ("crawl", "callbacks")]


def test_it_says_what_to_do_and_what_was_not_counted(
    file: Path, counting: Counting, capsys: pytest.CaptureFixture[str]
) -> None:
    counting(DEARER)
    guard.check(file)
    last = capsys.readouterr().out.splitlines()[-1]
    assert "fetch generators" in last
    assert guard.UPDATE in last
    counting({"fetch callbacks": 100_000.0})
    assert guard.check(file) == 0
    assert "fetch threads: not counted" in capsys.readouterr().out.splitlines()
    counting(dict.fromkeys(guard.NAMES, 9e9), interpreter="CPython 3.14.0, tool 1")
    assert guard.check(file) == 0
    assert "no baseline for this interpreter (CPython 3.14.0" in capsys.readouterr().out


def test_a_machine_without_valgrind_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Instrument("instructions", "", missing="valgrind is not installed")
    monkeypatch.setattr(instruments, "cachegrind", lambda: gone)
    assert guard.check() == 0
    assert capsys.readouterr().out == "instructions are not checked: valgrind is not installed\n"
    monkeypatch.setattr(sys, "argv", ["guard", "--update"])
    assert in_one_line(guard.main) == 2
    assert capsys.readouterr().err.endswith(": valgrind is not installed\n")


def test_an_update_needs_every_count_and_keeps_others_unless_something_got_more_expensive(
    file: Path, counting: Counting
) -> None:
    before = file.read_text()
    counting({"fetch callbacks": 1.0})
    with pytest.raises(StudyError, match="fetch threads"):
        guard.update(file)
    assert file.read_text() == before
    less, more = (dict.fromkeys(guard.NAMES, value) for value in (90_000.0, 120_000.0))
    for counts, entries in ((less, {HERE: less, "another": BEFORE}), (more, {HERE: more})):
        counting(counts)
        guard.update(file)
        assert json.loads(file.read_text()) == entries


def test_the_committed_baseline_is_whole() -> None:
    for instructions in json.loads(guard.FILE.read_text()).values():
        assert set(instructions) == set(guard.NAMES)
        assert all(value > 1000 for value in instructions.values())


def test_an_interpreter_is_its_release_build_and_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruments, "cachegrind", lambda: Instrument("instructions", "tool 1"))
    here = guard.interpreter()
    assert platform.python_version() in here
    assert here.endswith(f"{platform.machine()}, tool 1")
