"""Interpreters: found, asked, and measured side by side."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main
from bench.cli import USAGE
from bench.machine import interpreters
from bench.machine.interpreters import FoundInterpreter, InterpreterError
from bench.plan import backends
from bench.plan.participants import Label
from bench.schema import Interpreter
from bench.show import words
from crawlers.backend import Backend
from tests.bench.small import harness
from tests.programs import program

HERE = Path(sys.executable)


def found(name: str, path: str = "/nowhere", pgo: bool = True) -> FoundInterpreter:
    version = tuple(int(part) for part in name.rstrip("t").split("."))
    return FoundInterpreter(Interpreter(name=name, build={"pgo": pgo}), version, Path(path))


def test_an_interpreter_tells_what_it_is() -> None:
    here = interpreters.examine(HERE)
    assert here.name.rstrip("t") == platform.python_version()
    assert here.version == sys.version_info[:3]
    assert here.record.build["compiler"] == platform.python_compiler()
    assert here.release in here.name


OLD = json.dumps({"implementation": "CPython", "version": [3, 9], "name": "3.9.2", "build": {}})


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "No such file"),
        ("exit 127", "does not run"),
        ("echo hello", "does not run"),
        (f"echo '{OLD}'", r"CPython 3\.9\.2, but .* 3\.11 and later"),
    ],
)
def test_anything_else_is_refused_in_one_line(
    script: str | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "python3.13"
    if script is not None:
        program(path, f"#!/bin/sh\n{script}\n")
    with pytest.raises(InterpreterError, match=rf"python3\.13: [^\n]*{said}[^\n]*$"):
        interpreters.examine(path)


def test_found_on_the_path_and_under_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, each once, and not the ones that do not run."""
    release = f"{sys.version_info[0]}.{sys.version_info[1]}"
    first, second = tmp_path / "bin", tmp_path / "versions" / "x" / "bin"
    for folder in (first, second):
        folder.mkdir(parents=True)
        (folder / f"python{release}").symlink_to(HERE.resolve())
    broken = program(first / "python3.15t", "#!/bin/sh\nexit 127\n")
    monkeypatch.setenv("PATH", str(first))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert interpreters.candidates() == [HERE.resolve(), broken]
    there, missing = interpreters.find()
    assert [each.path for each in there] == [HERE.resolve()]
    assert set(missing) == set(interpreters.RELEASES) - {there[0].release}


def test_two_interpreters_of_one_name_are_refused(tmp_path: Path) -> None:
    """Their trials would have the same labels, whatever their builds are."""
    second = tmp_path / "python3"
    second.symlink_to(HERE)
    with pytest.raises(InterpreterError, match=r"are both CPython 3\.[^\n]+: give one"):
        interpreters.chosen([HERE, second])


def test_one_may_be_named_by_its_release(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [found("3.13.5"), found("3.13.5t", "/free"), found("3.14.2")]
    monkeypatch.setattr(interpreters, "find", lambda: (there, {}))
    named, missing = interpreters.chosen([Path("3.13t"), Path("3.13"), HERE])
    own = interpreters.examine(HERE)
    assert named == interpreters.in_order([there[0], there[1], own])
    assert own.release == "3.14" or missing["3.14"] == "not among those given"
    with pytest.raises(InterpreterError, match=r"no CPython 3\.15t on PATH.*give its path"):
        interpreters.chosen([Path("3.15t")])


def test_what_one_interpreter_lacks_runs_on_none(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = {"/old": {"subinterpreters"}, "/new": {"gevent"}}

    def on_one(python: Sequence[str], names: Sequence[str]) -> list[Backend]:
        return [
            Backend(name, "", "", "f", 1, missing="no" if name in lacks[python[0]] else None)
            for name in names
        ]

    monkeypatch.setattr("bench.plan.backends.on_one", on_one)
    names = ["callbacks", "subinterpreters", "gevent"]
    known = backends.look_up(names, ["/old"], ["/new"])
    assert [one.name for one in known] == names
    assert [one.name for one in known if one.missing is None] == ["callbacks"]


def test_oldest_first_and_none_twice() -> None:
    names = ["3.13.10", "3.13.2t", "3.11.9", "3.13.2", "3.11.9"]
    ordered = interpreters.in_order(found(name, f"/{n}") for n, name in enumerate(names))
    assert [each.name for each in ordered] == ["3.11.9", "3.13.2", "3.13.2t", "3.13.10"]
    assert ordered[0].path == Path("/2")
    assert [each.release for each in ordered] == ["3.11", "3.13", "3.13t", "3.13"]


@pytest.fixture
def with_a_jit(tmp_path: Path) -> FoundInterpreter:
    """An interpreter that says of itself what one with a JIT says."""
    answer = {"implementation": "CPython", "version": [3, 15, 2], "name": "3.15.2"}
    texts = [json.dumps({**answer, "build": {"jit": jit}}) for jit in ("enabled", "disabled")]
    script = f"#!/bin/sh\n[ \"$PYTHON_JIT\" ] && echo '{texts[0]}' || echo '{texts[1]}'"
    return interpreters.examine(program(tmp_path / "python3.15", script))


def test_one_with_a_jit_is_two_interpreters(with_a_jit: FoundInterpreter) -> None:
    """Off and on are the same program, so they are in one kind of build."""
    others = [found("3.13.5t"), found("3.14.0")]
    there = interpreters.with_jit([*others, with_a_jit])
    assert [each.name for each in there] == ["3.13.5t", "3.14.0", "3.15.2", "3.15.2j"]
    assert [each.record.build.get("jit") for each in there[2:]] == ["disabled", "enabled"]
    assert [each.release for each in there[2:]] == ["3.15", "3.15"]
    assert there[3].command == ("env", "PYTHON_JIT=1", *there[2].command)
    assert len(words.by_build(each.record for each in there[2:])) == 1
    assert interpreters.with_jit(there) == there
    assert interpreters.again([there[3].record], [with_a_jit]) == [there[3]]


def test_an_interpreter_without_a_jit_is_not_run_with_it() -> None:
    if interpreters.examine(HERE).record.build.get("jit") == "disabled":
        pytest.skip("this interpreter has a JIT")
    with pytest.raises(InterpreterError, match=r"PYTHON_JIT=1 does not switch a JIT on"):
        interpreters.examine(HERE, jit=True)


def test_a_resumed_campaign_needs_the_same_builds() -> None:
    recorded = [found("3.11.9").record, found("3.13.2").record]
    here = [found("3.13.2"), found("3.11.9"), found("3.14.0")]
    assert [each.name for each in interpreters.again(recorded, here)] == ["3.11.9", "3.13.2"]
    for lost in (here[:1], [here[0], found("3.11.9", pgo=False)]):
        with pytest.raises(InterpreterError, match=r"3\.11\.9.*same build"):
            interpreters.again(recorded, lost)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it runs here")
def test_a_backend_must_run_on_every_interpreter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--backends", "subinterpreters", "--results", str(tmp_path))
    assert main(["study", "interpreters", str(HERE), *options]) == USAGE
    assert "needs Python 3.14 or later" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_campaign_on_two_interpreters(tmp_path: Path) -> None:
    own = interpreters.examine(HERE).name
    second = next((each.path for each in interpreters.find()[0] if each.name != own), None)
    if second is None:
        pytest.skip("no other CPython of 3.11 to 3.15 on PATH or under pyenv")
    options = ("--only", "throughput-100", "--blocks", "1", "--backends", "callbacks", "--json")
    both = ("study", "interpreters", str(HERE), str(second))
    done = harness(*both, *options, "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    campaign = Path(json.loads(done.stdout)["folder"])
    records = store.load(campaign)
    names = [each.name for each in records.campaign.interpreters]
    assert len(names) == 2
    assert records.campaign.backends == [f"callbacks@{name}" for name in names]
    assert records.campaign.twin == records.campaign.base == f"callbacks@{names[0]}"
    assert str(HERE) not in (campaign / "trials.jsonl").read_text()
    assert [trial.status for trial in records.trials] == ["ok"] * 3
    for trial in records.trials:
        name = Label.parse(trial.backend).interpreter
        assert trial.mechanism["python"] == name.rstrip("t")
        assert trial.mechanism["gil"] == ("disabled" if name.endswith("t") else "enabled")
        assert trial.mechanism["jit"] in ("absent", "disabled")
        assert trial.mechanism["parser"] == "python"
    assert (campaign / "charts" / "interpreters.svg").is_file()
    assert not (campaign / "charts" / "throughput.svg").exists()


def test_missing_releases_are_reported_and_none_at_all_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert main(["study", "interpreters"]) == USAGE
    said = capsys.readouterr()
    for release in interpreters.RELEASES:
        assert f"NOT MEASURED: CPython {release}:" in said.out
    assert "no CPython found" in said.err
    assert os.linesep not in said.err.strip()
