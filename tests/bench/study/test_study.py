"""One runner and one record for all studies: rounds, crashes, Ctrl-C, and what is missing."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console

from bench.schema import Record
from bench.store import StoreError
from bench.study import Run, Study, StudyError, runner
from bench.study.runner import Lost, Process, Program
from tests.bench.children import huge_pages


class Seen(Record):
    """What a made-up program saw."""

    round: int


STUDY: Study[Seen] = Study("things", "things", Seen)


class Programs:
    """Programs a, b and c, which note their turns; Ctrl-C comes before the turn ``stop``."""

    def __init__(self, stop: int | None = None, bad: Sequence[str] = ()) -> None:
        self.stop, self.bad = stop, bad
        self.turns: list[str] = []

    def measure(self, name: str, repeat: int) -> Seen:
        if len(self.turns) == self.stop:
            raise KeyboardInterrupt
        self.turns.append(f"{name}{repeat}")
        if self.turns[-1] in self.bad:
            raise Lost("it broke", void=True)
        return Seen(round=repeat)

    def run(self, folder: Path, repeats: int = 2, **options: bool) -> bool:
        programs: list[Program[Seen]] = [
            Program(name, lambda repeat, name=name: self.measure(name, repeat))  # type: ignore[misc]
            for name in "abc"
        ]
        programs.append(Program("d", lambda _: Seen(round=-1), refused="no room"))
        quiet = Console(quiet=True)
        settings = {"pages": 500}
        return runner.run(STUDY, folder, programs, repeats, quiet, settings=settings, **options)


def last(folder: Path) -> Run[Seen]:
    return STUDY.last(folder)


def test_every_round_has_every_program_once_and_its_own_order(tmp_path: Path) -> None:
    made = Programs()
    assert made.run(tmp_path, repeats=20)
    rounds = [made.turns[place : place + 3] for place in range(0, 60, 3)]
    for number, found in enumerate(rounds):
        assert sorted(found) == [f"a{number}", f"b{number}", f"c{number}"]
    assert len({"".join(turn[0] for turn in found) for found in rounds}) > 1
    run = last(tmp_path)
    assert run.by_program()["b"] == {number: Seen(round=number) for number in range(20)}
    assert (run.head.repeats, run.head.settings) == (20, {"pages": 500})
    assert run.reasons() == {"d": "no room"}
    assert not run.bad, "what was refused is no fault"


def test_a_program_that_is_lost_says_so_and_the_others_go_on(tmp_path: Path) -> None:
    assert Programs(bad=["b0", "b1"]).run(tmp_path)
    run = last(tmp_path)
    assert run.bad
    assert set(run.by_program()) == {"a", "c"}
    assert run.reasons() == {"d": "no room", "b": "void: it broke"}


def test_ctrl_c_keeps_what_there_is_and_another_run_finishes_it(tmp_path: Path) -> None:
    early, late = Programs(stop=4, bad=["a0"]), Programs()
    assert not early.run(tmp_path)
    assert len(last(tmp_path).samples) == 1 + 4
    assert late.run(tmp_path, resume=True)
    assert sorted([*early.turns, *late.turns]) == ["a0", "a0", "a1", "b0", "b1", "c0", "c1"]
    (run,) = STUDY.runs(tmp_path)
    assert {name: len(found) for name, found in run.by_program().items()} == dict.fromkeys("abc", 2)
    more = Programs()
    assert more.run(tmp_path, repeats=3, resume=True)
    assert sorted(more.turns) == ["a2", "b2", "c2"]


def test_a_torn_line_is_cut_off_and_measured_again(tmp_path: Path) -> None:
    Programs().run(tmp_path, repeats=1)
    file = STUDY.file(tmp_path)
    file.write_bytes(file.read_bytes()[:-20])
    assert len(last(tmp_path).by_program()) == 2
    late = Programs()
    late.run(tmp_path, repeats=1, resume=True)
    assert len(late.turns) == 1
    assert len(last(tmp_path).by_program()) == 3
    assert file.read_text().endswith("}\n")


def test_a_run_never_loses_the_one_before(tmp_path: Path) -> None:
    Programs().run(tmp_path)
    before = STUDY.file(tmp_path).read_bytes()
    Programs(stop=1).run(tmp_path)
    assert STUDY.file(tmp_path).read_bytes().startswith(before)
    assert len(STUDY.runs(tmp_path)) == 2


def test_only_what_was_measured_alike_is_resumed(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"record; measure one with python -m bench study things$"):
        Programs().run(tmp_path, resume=True)
    Programs(stop=1).run(tmp_path)
    file = STUDY.file(tmp_path)
    file.write_text(file.read_text().replace('"pages":500', '"pages":400'))
    with pytest.raises(StudyError, match=r"measured differently \(settings\)"):
        Programs().run(tmp_path, resume=True)


def test_without_anything_that_can_run_nothing_is_written(tmp_path: Path) -> None:
    nothing: Program[Seen] = Program("d", lambda _: Seen(round=0), refused="no room")
    with pytest.raises(StudyError, match="no room"):
        runner.run(STUDY, tmp_path, [nothing], 1, Console(quiet=True))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", r"things\.jsonl:2: not a valid record: Input should be"),
        ("no JSON", r"things\.jsonl:2: not JSON"),
        ('{"kind": "sample", "run": "x"}', r"things\.jsonl:2: not a valid record"),
        (
            '{"kind": "sample", "run": "x", "program": "a", "repeat": 0, "part": {"round": 0}}',
            "a sample of no run",
        ),
    ],
)
def test_what_is_no_record_is_one_clear_line(line: str, words: str, tmp_path: Path) -> None:
    Programs().run(tmp_path, repeats=1)
    file = STUDY.file(tmp_path)
    head, *rest = file.read_text().splitlines()
    file.write_text("\n".join([head, line, *rest]) + "\n")
    with pytest.raises(StoreError, match=words):
        STUDY.runs(tmp_path)
    other: Study[Seen] = Study("others", "others", Seen)
    file.rename(other.file(tmp_path))
    with pytest.raises(StoreError):
        other.runs(tmp_path)


def test_a_process_whose_memory_is_read_has_no_huge_pages() -> None:
    with Process("a child", ["-c", "print('1'); input()"], []) as child:
        assert child.answer() == 1
        assert huge_pages(child.pid) in ("0", None)


def test_a_process_that_fails_is_one_clear_line() -> None:
    with (
        Process("trio", ["-m", "bench.tasks.nonesuch"], []) as child,
        pytest.raises(Lost, match=r"the process of trio ended: .*nonesuch"),
    ):
        child.ask()
    with (
        Process("trio", ["-c", "print('ready')"], []) as child,
        pytest.raises(Lost, match="Expecting value"),
    ):
        child.answer()


def test_a_process_that_does_not_start_loses_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended the study in a traceback."""
    full = Mock(side_effect=BlockingIOError(errno.EAGAIN, "No room"))
    monkeypatch.setattr("bench.sides.process.spawn", full)
    with pytest.raises(Lost, match="the process of trio did not start: No room"):
        Process("trio", ["-c", ""], [])
