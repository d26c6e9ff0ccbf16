"""The command line: help, wrong usage, ports in use."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from server.__main__ import main
from server.signals import stop_signals
from tests.server.fixture_server import Running

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """Run ``python -m server`` in this process: (exit status, stdout, stderr)."""
    monkeypatch.delenv("C10K_CONTROL_TOKEN", raising=False)
    handlers = {number: signal.getsignal(number) for number in stop_signals()}
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main(["--cache", "", *arguments])
        except SystemExit as exiting:
            status = cast(int, exiting.code)
        return status, *capsys.readouterr()

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--listen", "0.0.0.0:0"], "--any-address"),
        (["--control", "0.0.0.0:0"], "--any-address"),
        (["--listen", "[::]:0"], "--any-address"),
        (["--control", "0.0.0.0:0", "--any-address"], "set C10K_CONTROL_TOKEN"),
        (["--listen", "127.0.0.1"], "write HOST:PORT"),
        (["--listen", "127.0.0.1:x"], "write HOST:PORT"),
        (["--listen", "127.0.0.1:65536"], "from 0 to 65535"),
        (["--listen", "no-such-host.invalid:0"], "no host named no-such-host.invalid"),
        (["--listen", f"127.0.0.1:{'9' * 5000}"], "from 0 to 65535"),
        (["--site", f"tree:{'9' * 5000}"], "whole numbers"),
        (["--site", f"faults:{'9' * 5000}"], "write faults:PAGES"),
        (["--site", "faults:5:drip::"], "write faults:PAGES"),
        (["--site", "forest:1"], "not a site"),
        (["--site", "tree:200:50:2048"], "smaller fanout"),
        (["--site", "dir:/nonexistent/folder"], "no such directory"),
        (["--delay", "slow"], "not a delay"),
        (["--seed", "x"], "invalid number value"),
        (["--seed", "٣"], "invalid number value"),
        (["--frobnicate"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_gets_one_line_and_status_2(cli: Cli, arguments: list[str], said: str) -> None:
    status, out, errors = cli(*arguments)
    assert status == 2
    assert said in errors
    assert errors.count("\n") == 1
    assert out == ""


def test_a_port_in_use_gets_one_line_and_status_1(cli: Cli, server: Running) -> None:
    for option in ("--listen", "--control"):
        status, _, errors = cli(option, server.ready["listening"])
        assert status == 1
        assert "in use" in errors
        assert errors.count("\n") == 1


def test_help_explains(cli: Cli) -> None:
    status, out, _ = cli("--help")
    assert status == 0
    for word in ("tree:PAGES:FANOUT:BYTES", "lognormal", "C10K_CONTROL_TOKEN", "examples"):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tls", "dsa"], "invalid choice"),
        (["--tls-version", "1.3"], "--tls-version needs --tls"),
        (["--no-tickets"], "--no-tickets needs --tls"),
        (["--cafile", "x"], "--cafile needs --tls"),
        (["--tls", "rsa", "--tls-version", "1.1"], "invalid choice"),
        (["--certificate", "x"], "--certificate and --key need each other"),
        (["--key", "x"], "--certificate and --key need each other"),
        (["--tls", "rsa", "--certificate", "x", "--key", "x"], "choose"),
        (["--certificate", "/no/x", "--key", "/no/x"], "--certificate /no/x: no such file"),
        (["--certificate", "x", "--key", "x", "--cafile", "x"], "--cafile is for the authority"),
        (["--tls", "ecdsa", "--cafile", "/no/x"], "--cafile /no/x: no such file"),
        (["--tls", "ecdsa", "--cafile", "/dev/null"], "something else is there"),
    ],
)
def test_wrong_options_for_tls_get_one_line(cli: Cli, arguments: list[str], said: str) -> None:
    status, out, errors = cli(*arguments)
    assert status == 2
    assert said in errors
    assert errors.count("\n") == 1
    assert out == ""


def test_one_install_is_named_for_all_that_is_missing() -> None:
    script = (
        "import sys; sys.modules['uvloop'] = None\n"
        "from server.cli import command\n"
        "raise SystemExit(command([]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "python -m server: uvloop is not installed: in the folder of a clone, "
        "python -m pip install '.[server]'\n"
    )
