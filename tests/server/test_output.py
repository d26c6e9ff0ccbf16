"""Standard output that is closed, full, or in an encoding that lacks a character."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.server.fixture_server import PATIENCE, command


def shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the server with a redirection of the shell."""
    line = f"exec {shlex.join(command(*arguments))} {redirection}"
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize(
    ("redirection", "said"), [(">&-", "it is closed"), ("> /dev/full", "no space left on device")]
)
@pytest.mark.parametrize("arguments", [["--json"], [], ["--site", "faults:20"]])
def test_a_ready_line_that_cannot_be_written_ends_it(
    redirection: str, said: str, arguments: list[str]
) -> None:
    done = shell(redirection, *arguments)
    assert done.returncode == 1
    assert done.stderr == f"python -m server: cannot write to standard output: {said}\n"


def test_help_on_a_full_disk_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # argparse ignores errors of write()
    done = shell("> /dev/full", "--help")
    assert done.returncode == 1
    assert done.stderr == (
        "python -m server: cannot write to standard output: no space left on device\n"
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_path_can_be_printed(tmp_path: Path, encoding: str) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff-\xe2\x82\xac"
    os.mkdir(folder)
    Path(os.fsdecode(folder), "index.html").write_bytes(b"hello")
    process = subprocess.Popen(
        command("--site", "dir:" + os.fsdecode(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    with process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert first.startswith(b"serving dir:")
    assert rb"/\udcff-" in first
