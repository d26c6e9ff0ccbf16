"""Backends that change their whole process, each tested in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT_S = 400.0


@pytest.mark.timeout(TIMEOUT_S + 10)
def test_in_a_process_of_its_own(
    alone: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Run the suite, as much of it as here; show its output if something fails."""
    load = (
        "import sys; from crawlers import registry\n"
        "try: registry.load(sys.argv[1])\n"
        "except registry.BackendError as error: sys.exit(str(error))"
    )
    done = subprocess.run(
        [sys.executable, "-c", load, alone], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    if done.returncode:
        pytest.skip(done.stderr.strip())
    suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    own = [f"--basetemp={tmp_path}/pytest", "-m", request.config.getoption("markexpr")]
    done = subprocess.run(
        [*suite, *own, "--backend", alone, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
