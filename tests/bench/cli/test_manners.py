"""``python -m bench`` as a program: its streams, its signals, and where it puts things."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bench import launch, store
from bench.__main__ import main
from bench.cli import options
from bench.cli.command import in_one_line
from bench.filesystem import write_text
from bench.launch import ROOT
from bench.run.trial import block_seed
from bench.schema import ResumeRecord
from bench.store import Log
from tests.bench.cli.test_cli import save
from tests.bench.synthetic import campaign
from tests.programs import python

BENCH = (sys.executable, "-m", "bench")


def bench(*arguments: str, shell: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the program with this redirection."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", *BENCH, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(cwd)},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a made-up campaign."""
    folder = tmp_path_factory.mktemp("campaign") / "made"
    return save(folder, campaign(samples=10, workloads=["throughput"]))


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["--help", slow("export"), slow("cite")])
def test_a_full_disk_is_one_line(command: str, recorded: Path) -> None:
    done = bench(command, *([] if "-" in command else [str(recorded)]), shell="> /dev/full")
    assert done.returncode == 1
    assert done.stderr == "python -m bench: standard output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_an_error_that_nobody_can_read_keeps_its_exit_code() -> None:
    """It was 120: Python flushed once more."""
    codes = {"--bogus": 2, "list --profile none": 2, "doctor --connections 999999999": 1}
    for line, code in codes.items():
        assert bench(*line.split(), shell="2> /dev/full").returncode == code
    assert in_one_line(Mock(side_effect=KeyboardInterrupt)) == 130


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 1), (errno.EACCES, 2)])
@pytest.mark.parametrize("path", ["trials.jsonl", "new/trials.jsonl", "text", "new/text"])
def test_a_disk_that_is_full_is_no_bad_usage(
    number: int, code: int, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign that filled the disk ended like a misspelt option."""

    def writes(*_: object) -> None:
        if path.endswith("text"):
            write_text(tmp_path / path, "text")
        with Log(tmp_path / path, create=True) as log:
            log.append(ResumeRecord(resumed="x", done=1))

    def fails(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("bench.cli.commands.list.run", writes)
    for module, name in ((os, "write"), (Path, "write_bytes"), (Path, "mkdir")):
        monkeypatch.setattr(module, name, fails)
    assert main(["list"]) == code


@pytest.mark.parametrize("shell", [slow(">&-"), "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["--help", slow("cite")])
def test_closed_streams_are_no_error(command: str, shell: str, recorded: Path) -> None:
    done = bench(command, *([] if "-" in command else [str(recorded)]), shell=shell)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_reader_that_leaves_is_no_traceback(recorded: Path) -> None:
    """Of a tool it was one."""
    for words in (["bench", "export", str(recorded)], ["tools.sidebyside"]):
        command = ["sh", "-c", '"$@" | head -c 1', "sh", sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert (len(done.stdout), done.stderr) == (1, "")


def test_a_locale_without_our_characters_is_no_error(recorded: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = python("-m", "bench", "cite", str(recorded), "--finding", "all", env=locale)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert "\\xb1" in done.stdout


def test_matplotlib_is_quiet_where_there_is_no_home() -> None:
    """It printed two lines above the report: mkdir failed, and how to set MPLCONFIGDIR."""
    program = "import bench.cli.command as c; c.draw_to_files(); import matplotlib.font_manager"
    done = python("-c", program, env={"MPLCONFIGDIR": "/proc/none"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("bench.cli", signal.SIGINT),
        ("bench.cli", signal.SIGTERM),
        *(slow(name, signal.SIGINT) for name in ("rich.segment", "numpy", "matplotlib")),
    ],
)
def test_a_signal_during_the_start_is_one_line(
    module: str, number: signal.Signals, recorded: Path
) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-X", "importtime", *BENCH[1:]),
            *("report", str(recorded), "--out", str(recorded / "out")),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.rpartition("|")[2].strip() == module:
            break
    process.send_signal(number)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    others = [line for line in stderr.splitlines() if not line.startswith("import time:")]
    assert others == ["interrupted"]


READERS = {
    options.positive: "a whole number above 0, at most 10,000,000",
    options.blocks: "a whole number above 0, at most 10,000",
    options.seconds: "a number of seconds above 0, at most 1,000,000",
    options.seed: "a whole number of at most 15 digits",
}
"""What reads a number, and how it is named where there is none of this kind."""


@pytest.mark.parametrize(("read", "words"), READERS.items())
def test_a_number_has_ascii_digits_and_can_be_measured(
    read: Callable[[str], float], words: str
) -> None:
    """--blocks 1000000000 planned until the memory was used up."""
    signed = "digits" in words
    beyond = ("9" * 16, "-" + "9" * 16) if signed else ("0", "-1", "1000000000", "1e300")
    for text in ("९", "९9", "٣", "²", "x", "", "nan", "inf", "9" * 5000, *beyond):
        with pytest.raises(ArgumentTypeError, match=f"must be {words}, not ") as caught:
            read(text)
        assert len(str(caught.value)) < 120


def test_numbers_are_read() -> None:
    assert [read("20") for read in READERS] == [20, 20, 20.0, 20]
    assert options.seconds("2e-1") == 0.2
    assert (options.blocks("10000"), options.positive("10000000")) == (10_000, 10_000_000)


@pytest.mark.parametrize("text", ["9" * 15, "-" + "9" * 15])
def test_the_seeds_of_a_campaign_fit_into_its_records(text: str) -> None:
    """With a seed of 19 digits, the schedule's had 22, and no report could read the records."""
    largest = block_seed(options.seed(text), options.MAX_BLOCKS)
    assert len(str(abs(largest))) <= store.MOST_DIGITS
    for more in ("1", "11111"):
        with pytest.raises(Exception, match="at most 15 digits"):
            options.seed(text + more)


def test_an_overloaded_machine_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: object, **options: Any) -> None:
        raise subprocess.TimeoutExpired("python", options["timeout"])

    monkeypatch.setattr(subprocess, "run", run)
    assert main(["list", "--backends"]) == 2
    assert (
        "the backends did not load in 60 s: this machine is overloaded" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("number", "limit"), [(errno.EMFILE, "ulimit -n"), (errno.EAGAIN, "ulimit -u or pids.max")]
)
def test_a_limit_too_low_to_start_a_process_is_one_line(
    number: int, limit: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a traceback."""
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=OSError(number, "No")))
    assert main(["list", "--backends"]) == 1
    assert capsys.readouterr().err == f"python -m bench: No: raise {limit}\n"


def test_openblas_starts_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it could not, it sent SIGINT: the user was told "interrupted"."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert main(["list"]) == 0
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


# --- where it puts things ---------------------------------------------------------------


def test_a_clone_puts_campaigns_in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.RESULTS == ROOT / "results"
    monkeypatch.chdir(ROOT)
    assert launch.install("bench") == "python -m pip install '.[bench]'"
    monkeypatch.chdir(ROOT / "tests")
    assert launch.install("bench") == f"python -m pip install '{ROOT}[bench]'"


def test_paths_are_shown_as_you_would_type_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "results" / "a", Path("results/a"), Path("x/../results/a")):
        assert launch.shown(path) == Path("results/a")
    assert launch.shown(Path("/elsewhere/a")) == Path("/elsewhere/a")
