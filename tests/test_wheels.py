"""Nothing in the main job needs a compiler: pip finds wheels for the CPythons that we admit."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

import pytest

from bench.launch import ROOT
from bench.machine.interpreters import RELEASES

TIMEOUT_S = 300

PIP_FOR = """
import sys
from pip._vendor.packaging import markers
from pip._internal.cli.main import main

# pip evaluates markers for the Python that runs it, whatever --python-version says.
version, *arguments = sys.argv[1:]
target = {"python_version": version, "python_full_version": f"{version}.0"}
here = markers.default_environment()
markers.default_environment = lambda: here | target
sys.exit(main(arguments))
"""

OLDEST_AND_NEWEST = RELEASES[0], [each for each in RELEASES if not each.endswith("t")][-1]
"""A library that has wheels for both has them for those between."""


@pytest.fixture(scope="module")
def pip(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The start of a command line of the newest pip, which knows the newest tags of wheels."""
    folder = tmp_path_factory.mktemp("pip")
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    newest = [python, "-m", "pip", "install", "-q", "--retries", "1", "-U", "pip"]
    if subprocess.run(newest, capture_output=True, timeout=TIMEOUT_S, check=False).returncode:
        pytest.skip("no package index can be reached")
    return [python, "-c", PIP_FOR]


def resolve(
    pip: list[str], release: str, requirement: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Ask for the wheels of a requirement and of all that it needs; install nothing."""
    wheels = ["--only-binary", ":all:", "--python-version", release]
    nothing = ["install", "-q", "--dry-run", "--target", str(folder)]
    return subprocess.run(
        [*pip, release, *nothing, *wheels, requirement],
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(3 * TIMEOUT_S)
@pytest.mark.parametrize("release", OLDEST_AND_NEWEST)
def test_the_main_job_needs_no_compiler(release: str, pip: list[str], tmp_path: Path) -> None:
    done = resolve(pip, release, f"{ROOT}[bench,variants]", tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3 * TIMEOUT_S)
def test_a_source_alone_is_refused_and_markers_are_those_of_the_release(
    pip: list[str], tmp_path: Path
) -> None:
    """Otherwise the test above would pass whatever is required."""
    requirement = "curio; python_version < '3.12'"
    assert "curio" in resolve(pip, "3.11", requirement, tmp_path).stderr
    assert resolve(pip, "3.12", requirement, tmp_path).returncode == 0
