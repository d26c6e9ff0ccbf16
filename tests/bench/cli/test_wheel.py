"""The suite installed as a wheel, used in an empty folder: from the installation to the report."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from bench.launch import ROOT
from tests.programs import Done, python

pytestmark = pytest.mark.slow

SCRIPT = """\
import sys
from bench.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""What an installer makes of the entry point c10k-bench. The processes that draw import it too."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site-packages folder with the installed wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    source, site = folder / "source", folder / "site-packages"
    for package in ("bench", "crawlers", "server"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, source / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    made = python("-c", build, cwd=source)
    assert made.returncode == 0, made.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (folder / "c10k-bench").write_text(SCRIPT)
    return site


def c10k_bench(site: Path, cwd: Path, *arguments: str) -> Done:
    """Run the installed command."""
    return python(
        str(site.parent / "c10k-bench"), *arguments, cwd=cwd, env={"PYTHONPATH": str(site)}
    )


def files_in(site: Path) -> list[Path]:
    """What was installed, without the bytecode that Python adds."""
    return sorted(path for path in site.rglob("*") if "__pycache__" not in path.parts)


def test_a_wheel_works_in_an_empty_folder(site: Path, tmp_path: Path) -> None:
    installed = files_in(site)
    asked = ("--profile", "smoke", "--only", "waiting-10", "--backends", "callbacks,generators")
    done = c10k_bench(site, tmp_path, "run", *asked)
    assert done.returncode == 0, done.stderr
    paths = re.findall(r"^(?:records|page|charts|tables): +(\S+)$", done.stdout, re.MULTILINE)
    assert len(paths) == 4
    for path in paths:
        assert path.startswith("results/")
        assert (tmp_path / path).exists()

    (campaign,) = (tmp_path / "results").iterdir()
    for command in (["report", "--check"], ["study", "claims"], ["talk"]):
        done = c10k_bench(site, tmp_path, *command, campaign.name)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert files_in(site) == installed


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["study", "claims"],
            "name one, as in c10k-bench study claims results/CAMPAIGN, or ",
        ),
        (["report", "A"], "A: no campaign here (no trials.jsonl); run one with: c10k-bench run"),
        (["advise"], "no campaign here (no trials.jsonl); run one with: c10k-bench run"),
        (["study", "tasks", "--redraw"], "measure one with c10k-bench study"),
    ],
)
def test_hints_are_those_of_the_installed_command(
    site: Path, tmp_path: Path, command: list[str], message: str
) -> None:
    done = c10k_bench(site, tmp_path, *command)
    assert done.returncode == 2
    assert message in done.stderr
    assert "python -m bench" not in done.stderr
    assert list(tmp_path.iterdir()) == []
