"""A data file of this package that is cut, spoiled or gone: one line with its name."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from bench.claims import verdict
from bench.filesystem import FileError
from bench.launch import ROOT
from bench.report.charts import look
from tests.programs import python

READ = {
    "palette.toml": "bench.palette",
    "machine/doctor.toml": "bench.machine.doctor",
    "plan/weights.toml": "bench.plan.budget",
}
"""Data files, and the modules that read them when they are imported."""

IMPORT = """\
import importlib, sys
from pathlib import Path
from bench.filesystem import FileError
module, file, *damaged = sys.argv[1:]
for data in (None, *damaged):
    Path(file).unlink() if data is None else Path(file).write_bytes(Path(data).read_bytes())
    try:
        importlib.import_module(module)
    except FileError as error:
        print(error)
"""
"""Imports a module whose file is gone, and then again with each kind of damage."""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, to spoil."""
    root = tmp_path_factory.mktemp("copy")
    for package in ("bench", "crawlers", "server"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, root / package, ignore=ignored)
    return root


def torn(data: bytes) -> bool:
    """Whether a table was cut inside a line; between two lines, nobody can tell."""
    try:
        tomllib.loads(data.decode())
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("name", READ)
def test_a_damaged_file_is_named(copied: Path, tmp_path: Path, name: str) -> None:
    file = copied / "bench" / name
    whole = file.read_bytes()
    spoiled = {
        "spoiled": b"\xff" + whole,
        "cut": next(cut for at in range(len(whole) // 2, 0, -1) if torn(cut := whole[:at])),
        "of another shape": b"x = 1\n",
    }
    for damage, data in spoiled.items():
        (tmp_path / damage).write_bytes(data)
    damaged = [str(tmp_path / damage) for damage in spoiled]
    where = {"PYTHONPATH": str(copied)}
    done = python("-c", IMPORT, READ[name], str(file), *damaged, cwd=copied, env=where)
    file.write_bytes(whole)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1 + len(damaged)
    assert all(line.startswith(f"{file}: ") for line in done.stdout.splitlines())


def test_a_claim_that_is_cut_is_named(tmp_path: Path) -> None:
    whole = (verdict.SENTENCES / "thread-50k.toml").read_text()
    (tmp_path / "thread-50k.toml").write_text(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=r"thread-50k\.toml: damaged"):
        verdict.load_all(tmp_path)


def test_a_style_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "STYLE", tmp_path / "charts.mplstyle")
    look._common.cache_clear()
    with pytest.raises(FileError, match=r"charts\.mplstyle: No such file"):
        look._common()
