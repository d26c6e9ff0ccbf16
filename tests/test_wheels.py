"""Nothing in the main job needs a compiler: there are wheels for the CPythons that we admit."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from bench.launch import ROOT
from bench.machine.interpreters import RELEASES

TIMEOUT_S = 300

OLDEST_AND_NEWEST = RELEASES[0], [each for each in RELEASES if not each.endswith("t")][-1]
"""A library that has wheels for both has them for those between."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * TIMEOUT_S)]


def resolved(release: str, requirements: str) -> subprocess.CompletedProcess[str]:
    """Ask for the wheels of requirements and of all that they need; install nothing."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("no uv here: pip install uv")
    return subprocess.run(
        [uv, "pip", "compile", "--only-binary", ":all:", "--python-version", release, "-"],
        input=requirements,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def index() -> None:
    if resolved(RELEASES[0], "pip").returncode:
        pytest.skip("no package index can be reached")


@pytest.mark.parametrize("release", OLDEST_AND_NEWEST)
def test_the_main_job_needs_no_compiler(release: str) -> None:
    done = resolved(release, "c10k-crawlers[bench,variants] @ .")
    assert done.returncode == 0, done.stderr
    assert "uvloop==" in done.stdout


def test_a_source_alone_is_refused_and_markers_are_those_of_the_release() -> None:
    """Otherwise the test above would pass whatever is required."""
    requirement = "curio; python_version < '3.12'"
    assert "curio" in resolved("3.11", requirement).stderr
    assert resolved("3.12", requirement).returncode == 0
