"""Stopping: Ctrl-C, SIGTERM and SIGHUP at any moment, without a traceback."""

from __future__ import annotations

import signal

import pytest

from tests.server.fixture_server import PATIENCE, get, running

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


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
