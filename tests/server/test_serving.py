"""The server as a process: its ready line, its pages and its end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter

import psutil
import pytest

from server.sites import reference
from server.sites.site import Resource
from tests.server.fixture_server import PATIENCE, Running, command, get, receive, running
from tests.server.tls_client import connected


def test_the_ready_line_says_where_and_what(server: Running) -> None:
    ready = server.ready
    assert ready["site"] == "tree:120:5:2048"
    assert (ready["seed"], ready["pages"], ready["delay"]) == (3, 120, "none")
    assert ready["bytes"] == 120 * 2048
    assert ready["pid"] == server.process.pid
    assert (ready["scheme"], ready["tls"]) == ("http", None)
    assert re.fullmatch(r"uvloop \d[\d.]*, httptools \d[\d.]*", ready["server"])
    names = "listening control site seed pages urls digest delay pid server bytes scheme tls"
    assert set(ready) == set(names.split())


@pytest.mark.parametrize("wire", ["server", "secure"])
def test_a_crawl_gives_the_digest_and_the_ledger(wire: str, request: pytest.FixtureRequest) -> None:
    server: Running = request.getfixturevalue(wire)
    with connected(server) as sock:

        def noted(target: bytes) -> Resource:
            sock.sendall(get(target.decode()))
            status, headers, body = receive(sock)
            return Resource(status, headers["content-type"], body, headers.get("location"))

        found, _ = reference.crawl(noted, server.ready["listening"], server.ready["scheme"])
    site = server.control("/site")[1]
    expected = {key: (status, int(crc, 16)) for key, (status, crc) in site["expected"].items()}
    assert found == expected
    assert len(found) == server.ready["urls"] == site["urls"]
    assert site["digest"] == server.ready["digest"]
    ledger = server.ledger()
    assert ledger["requests"] == dict.fromkeys(expected, 1)
    assert ledger["total"] == ledger["distinct"] == len(expected)
    assert ledger["repeated"] == 0
    assert ledger["unknown"] == Counter(status for status, _ in expected.values())[404]
    assert ledger["connections_opened"] == 1
    assert ledger["requests_per_connection"] == {str(len(expected)): 1}
    tls = server.ready["tls"]
    assert ledger["handshakes"] == (tls and {"full": 1, "resumed": 0, "failed": 0})
    assert "requests" not in server.control("/ledger?summary=1")[1]
    assert "expected" not in server.control("/site?summary=1")[1]


def test_it_ends_when_its_parent_is_killed() -> None:
    code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "p.stdout.readline(); print(p.pid, flush=True); time.sleep(60)"
    )
    arguments = command("--json", "--exit-with-parent", "--site", "list:3:10")
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        assert not psutil.wait_procs([server], PATIENCE)[1], "an orphan"


def test_a_wildcard_address_must_be_asked_for_and_then_works() -> None:
    with running("--listen", "0.0.0.0:0", "--any-address", "--site", "tree:40:5:2048") as server:
        _, port = server.address
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
            sock.sendall(get("/"))
            assert receive(sock)[0] == 200


def test_ipv6_loopback_is_loopback() -> None:
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("no IPv6 here")
    with running("--listen", "[::1]:0", "--site", "list:3:10") as server:
        assert server.ready["listening"].startswith("[::1]:")


# --- its end: Ctrl-C, SIGTERM and SIGHUP at any moment, without a traceback ---

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
