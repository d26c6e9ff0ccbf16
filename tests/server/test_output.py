"""Standard output that is closed, full, or in an encoding that lacks a character."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.programs import python
from tests.server.fixture_server import PATIENCE, command


def shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the server with a redirection of the shell."""
    line = f"exec {shlex.join(command(*arguments))} {redirection}"
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


FULL = "no space left on device"


@pytest.mark.parametrize(
    ("redirection", "arguments", "said"),
    [
        (">&-", ["--site", "list:3:10"], "it is closed"),
        (">&-", ["--json", "--site", "faults:20"], "it is closed"),
        ("> /dev/full", ["--site", "list:3:10"], FULL),
        ("> /dev/full", ["--json", "--site", "list:3:10"], FULL),
        ("> /dev/full", ["--help"], FULL),
    ],
)
def test_what_cannot_be_written_ends_it_without_a_traceback(
    redirection: str, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # argparse ignores errors of write()
    monkeypatch.setenv("PYTHONWARNINGS", "default::ResourceWarning")  # of what it left open
    done = shell(redirection, *arguments)
    assert done.returncode == 1
    assert done.stderr == f"python -m server: cannot write to standard output: {said}\n"


def test_without_any_standard_stream_it_ends_with_1() -> None:
    """A socket with the number of a standard stream made uvloop abort."""
    assert shell("<&- >&- 2>&-").returncode == 1


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
@pytest.mark.parametrize("arguments", ["--tls-version 1.3", "--bogus", "models none"])
def test_an_error_that_nobody_can_read_keeps_its_exit_code(
    redirection: str, arguments: str
) -> None:
    """It came on standard output, or the exit code was 120."""
    done = shell(redirection, *arguments.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_a_system_without_a_thread_for_it_is_one_line() -> None:
    """It was a traceback."""
    work = "import _thread; _thread.start_joinable_thread = _thread.start_new_thread = fail"
    fail = 'def fail(*_, **__): raise RuntimeError("can\'t start new thread")'
    serve = "from server.__main__ import main; raise SystemExit(main(['--exit-with-parent']))"
    left_open = {"PYTHONWARNINGS": "default::ResourceWarning"}
    done = python("-c", "\n".join([fail, work, serve]), env=left_open)
    said = "python -m server: can't start new thread: raise ulimit -u or pids.max\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_help_on_a_full_disk_is_an_error_without_a_buffer_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    done = shell("> /dev/full", "--help")
    assert (done.returncode, done.stderr.count(FULL)) == (1, 1)


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
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
        first, *_, last = (process.stdout.readline() for _ in range(4))
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert re.match(rb"serving dir:.*/\\udcff-.* at http://127\.0\.0\.1:\d+/$", first)
    assert b"control plane: http://127.0.0.1:" in last


def test_one_install_is_named_for_all_that_is_missing() -> None:
    script = (
        "import sys; sys.modules['uvloop'] = None\n"
        "from server.cli import command\n"
        "raise SystemExit(command([]))"
    )
    done = python("-c", script)
    assert done.returncode == 1
    assert done.stderr == (
        "python -m server: uvloop is not installed: in the folder of a clone, "
        "python -m pip install '.[server]'\n"
    )
