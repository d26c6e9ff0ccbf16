"""Stopping: Ctrl-C, SIGTERM and SIGHUP at any moment, without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.server.fixture_server import PATIENCE, command, get, running

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]

# Runs ``python -m server``, and sends a signal just before the import of a module.
STOPPED_AT = """
import os, runpy, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), number)

_, module, number, *sys.argv[1:] = sys.argv
number = int(number)
sys.meta_path.insert(0, Finder())
runpy.run_module("server", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    with running("--site", "list:3:10") as server, server.connect() as sock:
        server.control("/hold", {"n": 0})
        sock.sendall(get("/p/0"))
        server.wait_for("/hold", lambda state: state["held"] == 1)
        server.process.send_signal(number)
        out, errors = server.process.communicate(timeout=PATIENCE)
        assert server.process.returncode == 0
        assert (out, errors) == ("", "")


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("argparse", signal.SIGINT),
        ("server.sites.specs", signal.SIGINT),
        ("uvloop", signal.SIGINT),
        ("httptools", signal.SIGINT),
        ("argparse", signal.SIGTERM),
        ("argparse", signal.SIGHUP),
        ("server.polling", signal.SIGHUP),
    ],
)
def test_a_signal_while_it_starts_is_no_error(module: str, number: signal.Signals) -> None:
    arguments = [sys.executable, "-c", STOPPED_AT, module, str(int(number)), *command()[3:]]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nohup_keeps_it_running() -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        server = running("--site", "list:3:10")
        with server as started:
            started.process.send_signal(signal.SIGHUP)
            assert started.control("/cpu")[0] == 200
            assert started.process.poll() is None
    finally:
        signal.signal(signal.SIGHUP, ignored)
