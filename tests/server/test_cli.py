"""The command lines: wrong usage, ports in use, and what is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.server.conftest import Cli
from tests.server.fixture_server import Running

DELAYS = "|slow|fixed|fixed:|fixed:x|fixed:1:2|fixed:９|none:1|lognormal:1:2:3"
"""No delays."""


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
        (["--site", "tree:200:50:2048"], "smaller fanout"),
        (["--site", "tree:0:5:2048"], "PAGES must be from 1"),
        (["--site", "tree:5:0:2048"], "FANOUT must be from 1"),
        (["--site", "tree:1:2:3:4"], "of the form tree:PAGES:FANOUT:BYTES"),
        (["--site", "tree:1000000:5:67108864"], "do not fit"),
        (["--site", "list:0:10"], "N must be from 1"),
        (["--site", "list:2000000:10"], "N must be from 1 to 1000000"),
        (["--site", f"faults:{'9' * 5000}"], "write faults:PAGES"),
        (["--site", "faults:0"], "write faults:PAGES"),
        (["--site", "faults:5:no"], "no fault named 'no'"),
        (["--site", "dir:/nonexistent/folder"], "no such directory"),
        (["--site", "dir:/dev"], "no index.html"),
        (["--site", "dir:"], "not a site"),
        (["--site", ""], "not a site"),
        *((["--delay", spec], "not a delay") for spec in DELAYS.split("|")),
        *((["--delay", f"fixed:{ms}"], "from 0 ms") for ms in ("-1", "nan", "inf", "99999999")),
        (["--delay", "lognormal:50:9"], "sigma must be at most 5"),
        (["--seed", "x"], "invalid number value"),
        (["--seed", "٣"], "invalid number value"),
        (["--frobnicate"], "unrecognized arguments"),
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
        (["models", "forks"], "choose from"),
        (["models"], "NAME"),
        (["models", "threads", "--listen", "0.0.0.0:0"], "--any-address"),
        (["models", "threads", "--limit", "idle=3"], "one of max_head"),
        (["models", "threads", "--limit", "idle_s=never"], "a number above 0"),
        (["models", "threads", "--limit", "max_head=1.5"], "a whole number above 0"),
        (["models", "threads", "--site", "faults:10"], "is for python -m server"),
        (["models", "threads", "--work", "10:10"], "serve a list site"),
        (["models", "threads", "--site", "list:9:9", "--work", "0:1"], "write EVERY:MS"),
        (["models", "bare", "--tls", "ecdsa"], "speaks no TLS"),
        (["models", "waitress", "--limit", "head_s=3"], "has no head_s, only max_head"),
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
