"""What every part says of a made-up record, and redraws from it alone; and a small run.

A file under golden/ has what each says. REWRITE=1 writes it: read the difference.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from bench.__main__ import main
from bench.cli import DONE, FAILED, USAGE
from bench.micro import hops, parts, pool, startup
from bench.micro.hops import SUBMIT
from bench.micro.startup import BARE
from bench.show.alt import alt
from bench.show.figures import Figure
from bench.study import runner
from bench.study.record import Run, StudyError
from crawlers.backend import Backend
from tests.bench.micro import made
from tests.bench.study.made import kept

QUIET = Console(quiet=True)
ABSENT = "no_such_backend"


GOLDEN: Final = Path(__file__).with_name("golden")
USUAL: Final = {
    run.head.study: run for run in (made.tasks(), made.startup(), made.hops(), made.pool())
}
CASES: Final[dict[str, dict[str, Run[Any]]]] = {
    "tasks": {"nothing counts": made.tasks({})},
    "startup": {"memory cannot be read": made.startup(unread=True)},
    "hops": {
        "nothing can be pinned": made.hops(pinned=False),
        "two repeats": made.hops(2),
        "no difference": made.hops(gap=0),
        "nothing counts": made.hops(0),
    },
    "pool": {
        "httpx takes twice as long with its limit": made.pool(httpx=2),
        "two repeats": made.pool(2),
        "no difference": made.pool(gap=0),
        "nothing counts": made.pool(0),
    },
}
"""Part -> what is different -> its record. The file has what it says then and not as usual."""


def told(run: Run[Any]) -> list[str]:
    """The summary, with pictures in words; a line for each sentence."""
    report = parts.report([(parts.PARTS[run.head.study], run)])
    drawn = [design for design in report.designs if isinstance(design, Figure)]
    pictures = [(design.headline or "", alt(design.title, design.data)) for design in drawn]
    texts = [report.summary(), *map("\n".join, pictures)]
    return "\n".join(texts).replace(". ", ".\n").splitlines()


@pytest.mark.parametrize("name", USUAL)
def test_it_says_what_it_said(name: str) -> None:
    usual = told(USUAL[name])
    lines = [*usual]
    for case, run in CASES[name].items():
        lines += ["", f"=== {case}", "", *(line for line in told(run) if line not in usual)]
    said, file = "\n".join(lines) + "\n", GOLDEN / f"{name}.txt"
    if "REWRITE" in os.environ:
        file.write_text(said)
    assert said == file.read_text()


@pytest.mark.parametrize("run", USUAL.values(), ids=USUAL)
def test_a_record_is_shown_and_redrawn_to_the_byte(run: Run[Any], tmp_path: Path) -> None:
    part = parts.PARTS[run.head.study]
    kept(part.STUDY, tmp_path, run)
    assert part.STUDY.last(tmp_path) == run
    report = parts.report(parts.last(tmp_path))
    report.write(tmp_path, QUIET)
    summary = (tmp_path / "summary.md").read_text()
    assert ": 2026-11-25, Intel(R) Xeon(R) Processor @ 2.60GHz, CPython 3.11.9.\n" in summary
    for table in part.tables(run):
        assert table.caption.endswith("(CPython 3.11.9)")
        assert f"\n## {table.caption}\n" in summary
    for design in report.designs:
        assert isinstance(design, Figure)
        assert "CPython 3.11.9" in design.footer[0]
        assert (tmp_path / "charts" / f"{design.name}.svg").stat().st_size > 1000
    (tmp_path / "summary.md").unlink()
    code = FAILED if run.bad else DONE
    assert main(["study", "micro", "--redraw", "--out", str(tmp_path)]) == code
    assert (tmp_path / "summary.md").read_text() == summary


def test_no_record_and_an_unknown_part_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StudyError, match="measure with python -m bench study micro"):
        parts.last(tmp_path)
    assert main(["study", "micro", "--only", "prices", "--out", str(tmp_path)]) == USAGE
    words = "no part 'prices': choose from tasks, startup, hops, pool"
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("days", "wanted"),
    [
        ((25, None), [True, False]),
        ((25, 20), [True, False]),  # of an earlier run, perhaps of other code
        ((25, 26), [True, True]),
        ((None, None), [True, True]),  # without any record, nothing can be resumed
    ],
)
def test_a_part_that_the_interrupted_run_did_not_reach_is_measured(
    days: tuple[int | None, ...],
    wanted: list[bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C in the first part left nothing of the second, and no run could be finished."""
    resumed: list[bool] = []

    def run(*_: object, resume: bool) -> bool:
        resumed.append(resume)
        return True

    monkeypatch.setattr(runner, "run", run)
    runs: list[Run[Any]] = [made.pool(), made.hops()]
    for part, day, found in zip((pool, hops), days, runs, strict=True):
        monkeypatch.setattr(part, "programs", lambda _: [])
        if day is not None:
            head = found.head.model_copy(update={"created": f"2026-11-{day}T02:00:00+00:00"})
            kept(part.STUDY, tmp_path, replace(found, head=head))
    parts.measure(["pool", "hops"], tmp_path, 1, QUIET, resume=True)
    assert resumed == wanted


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_command_measures_what_there_is_and_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [
        Backend("callbacks", "", "", "callbacks", 10),
        Backend(ABSENT, "", "", missing="it has no wheel"),
    ]
    monkeypatch.setattr("bench.plan.backends.look_up", lambda: known)
    monkeypatch.setattr(hops, "WAYS", {SUBMIT: "", "to_thread": "", "x": "no_such_library"})
    monkeypatch.setattr(hops, "CALLS", 200)
    worker = "asyncio with workers"
    ways = {worker: pool.WAYS[worker], "y": ("no_such", "workers")}
    for name, value in {"WAYS": ways, "PAGES": 60, "LIMIT": 5}.items():
        monkeypatch.setattr(pool, name, value)
    asked = ["--only", "startup,hops,pool", "--repeats", "1", "--out", str(tmp_path)]
    assert main(["study", "micro", *asked]) == FAILED

    starts = startup.STUDY.last(tmp_path)
    assert {name: len(found) for name, found in starts.by_program().items()} == {
        BARE: 2,
        "callbacks": 2,
    }
    row = startup.measured(starts).row("callbacks")
    assert row["modules"].median > 20
    assert "private" not in row or row["private"].median > 0
    assert starts.reasons() == {ABSENT: "it has no wheel"}

    calls = hops.STUDY.last(tmp_path)
    assert {way: len(each) for way, each in calls.by_program().items()} == {
        SUBMIT: 2,
        "to_thread": 2,
    }
    assert calls.by_program()["to_thread"][0].many is not None
    assert calls.reasons() == {"x": "no_such_library is not installed"}

    pages = pool.STUDY.last(tmp_path)
    assert {way: len(each) for way, each in pages.by_program().items()} == {worker: 2}
    assert "No module named 'crawlers.no_such'" in pages.reasons()["y"]
