"""The server as a process: command line, pages, control plane, end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from server import reference
from server.site import Resource
from tests.server.fixture_server import PATIENCE, Running, command, ended, get, receive, running


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    with running("--site", "tree:120:5:2048", "--seed", "3") as server:
        yield server


@pytest.fixture
def server(shared: Running) -> Running:
    assert shared.control("/reset", {"delay": "none", "hold": 0}) == (200, {})
    return shared


def test_the_ready_line_says_where_and_what(server: Running) -> None:
    ready = server.ready
    assert ready["site"] == "tree:120:5:2048"
    assert (ready["seed"], ready["pages"], ready["delay"]) == (3, 120, "none")
    assert ready["bytes"] == 120 * 2048
    assert ready["pid"] == server.process.pid
    assert re.fullmatch(r"uvloop \d[\d.]*, httptools \d[\d.]*", ready["server"])
    assert set(ready) == {
        "listening", "control", "site", "seed", "pages", "urls", "digest", "delay", "pid",
        "server", "bytes",
    }  # fmt: skip


def test_a_crawl_over_http_gives_the_digest_and_the_ledger(server: Running) -> None:
    with server.connect() as sock:
        statuses: dict[str, int] = {}

        def noted(target: bytes) -> Resource:
            sock.sendall(get(target.decode()))
            status, headers, body = receive(sock)
            statuses[target.decode()] = status
            return Resource(status, headers["content-type"], body, headers.get("location"))

        found, _ = reference.crawl(noted, server.ready["listening"])
    site = server.control("/site")[1]
    expected = {key: (status, int(crc, 16)) for key, (status, crc) in site["expected"].items()}
    assert found == expected
    assert {key: status for key, (status, _) in expected.items()} == statuses
    assert len(found) == server.ready["urls"] == site["urls"]
    assert site["digest"] == server.ready["digest"]
    ledger = server.ledger()
    assert ledger["requests"] == dict.fromkeys(expected, 1)
    assert ledger["total"] == ledger["distinct"] == len(expected)
    assert ledger["repeated"] == 0
    assert ledger["unknown"] == Counter(status for status, _ in expected.values())[404]
    assert ledger["connections_opened"] == 1
    assert ledger["requests_per_connection"] == {str(len(expected)): 1}
    assert "requests" not in server.control("/ledger?summary=1")[1]
    assert "expected" not in server.control("/site?summary=1")[1]


def test_the_barrier_releases_at_the_nth_request(server: Running) -> None:
    assert server.control("/hold", {"n": 40})[1]["armed"] is True
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(server.connect()) for _ in range(40)]
        for sock in sockets[:-1]:
            sock.sendall(get("/"))
        state = server.wait_for("/hold", lambda state: state["in_flight"] == 39)
        assert state == {"armed": True, "in_flight": 39, "held": 39, "connections": 40}
        sockets[0].settimeout(0.05)
        with pytest.raises(TimeoutError):
            sockets[0].recv(1)
        sockets[0].settimeout(PATIENCE)
        sockets[-1].sendall(get("/"))
        assert {receive(sock)[0] for sock in sockets} == {200}
        state = server.control("/hold")[1]
        assert state == {"armed": False, "in_flight": 0, "held": 0, "connections": 40}
        assert server.ledger()["peak_in_flight"] == 40


def test_release_and_clients_that_gave_up(server: Running) -> None:
    server.control("/hold", {"n": 0})
    with server.connect() as patient, server.connect() as hasty:
        patient.sendall(get("/"))
        hasty.sendall(get("/"))
        server.wait_for("/hold", lambda state: state["held"] == 2)
        hasty.close()
        server.wait_for("/hold", lambda state: state["held"] == 1)
        assert server.control("/release", {}) == (200, {"released": 1})
        assert receive(patient)[0] == 200
    server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


def test_reset_releases_what_is_held(server: Running) -> None:
    server.control("/hold", {"n": 0})
    with server.connect() as sock:
        sock.sendall(get("/"))
        server.wait_for("/hold", lambda state: state["held"] == 1)
        server.control("/reset", {"hold": 0})
        assert receive(sock)[0] == 200
    server.control("/reset", {"hold": 7})
    assert server.control("/hold")[1]["armed"] is True
    server.control("/reset", {})
    assert server.control("/hold")[1]["armed"] is True, "not named, not changed"


def test_delay_and_stall_hold_answers_back(server: Running) -> None:
    """Only lower bounds: a busy machine may take longer, never less."""
    server.control("/reset", {"delay": "fixed:60"})
    with server.connect() as sock:
        started = time.monotonic()
        sock.sendall(get("/"))
        receive(sock)
        assert time.monotonic() - started >= 0.05
        server.control("/reset", {"delay": "none"})
        server.control("/stall", {"at_s": 0.0, "for_s": 0.2})
        started = time.monotonic()
        sock.sendall(get("/"))
        receive(sock)
        assert time.monotonic() - started >= 0.19


def test_idle_connections_by_the_thousand(server: Running) -> None:
    """Many at once, one request each, all held and all answered."""
    count = 2000
    server.control("/hold", {"n": count})
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(server.connect()) for _ in range(count)]
        for sock in sockets:
            sock.sendall(get("/"))
        assert {receive(sock)[0] for sock in sockets} == {200}
        ledger = server.ledger()
    assert ledger["peak_in_flight"] == ledger["connections_opened"] == count
    assert ledger["requests_per_connection"] == {"1": count}
    server.wait_for("/ledger", lambda ledger: ledger["connections_open"] == 0)


def test_closing_and_refusing_reach_the_client(server: Running) -> None:
    for request, status in (
        (get("/", "Connection: close"), 200),
        (get("/", version="1.0"), 200),
        (get("/", "Content-Length: 100000", method="POST") + b"x" * 100_000, 405),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000, 431),
        (b"nonsense\r\n\r\n", 400),
    ):
        with server.connect() as sock:
            sock.sendall(request)
            answered, headers, _ = receive(sock)
            assert answered == status
            assert headers["connection"] == "close"
            assert ended(sock)
    with server.connect() as sock:
        sock.sendall(get("/", method="HEAD") + get("/none"))
        status, headers, _ = _first_head(sock)
        assert (status, headers["content-length"]) == (200, "2048")


def _first_head(sock: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """The answer to HEAD, when the answer to a GET follows at once."""
    data = b""
    while data.count(b"\r\n\r\n") < 2:
        data += sock.recv(65536)
    head, _, rest = data.partition(b"\r\n\r\n")
    assert rest.startswith(b"HTTP/1.1 404 ")
    lines = head.decode().split("\r\n")
    return (
        int(lines[0].split()[1]),
        {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines[1:])},
        b"",
    )


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/hold", {}, "n must be a whole number"),
        ("/hold", {"n": "3"}, "n must be a whole number"),
        ("/hold", {"n": True}, "n must be a whole number"),
        ("/hold", {"m": 3}, "unknown field 'm'"),
        ("/hold", [], "must be a JSON object"),
        ("/reset", {"delay": "slow"}, "not a delay"),
        ("/reset", {"delay": 5}, "delay must be a string"),
        ("/reset", {"hold": 1.5}, "hold must be a whole number"),
        ("/stall", {"at_s": 1}, "for_s must be a number"),
        ("/stall", {"at_s": -1, "for_s": 1}, "from 0 to 3600"),
    ],
)
def test_a_bad_call_says_what_is_wrong(server: Running, path: str, body: object, said: str) -> None:
    status, answer = server.control(path, body)
    assert status == 400
    assert said in answer["error"]
    assert server.control("/hold")[1]["armed"] is False


@pytest.mark.parametrize("per_s", [0, -1, "fast", True])
def test_a_release_needs_a_pace_above_zero(server: Running, per_s: object) -> None:
    assert server.control("/release", {"per_s": per_s})[0] == 400


def test_unknown_calls_are_json_too(server: Running) -> None:
    assert server.control("/nothing")[0] == 404
    status, answer = server.control("/release", method="GET")
    assert status == 405
    assert "error" in answer


def test_cpu_time_grows(server: Running) -> None:
    first = server.control("/cpu")[1]
    assert set(first) == {"user_s", "system_s", "wall_s"}
    second = server.control("/cpu")[1]
    assert second["wall_s"] > first["wall_s"]
    assert second["user_s"] + second["system_s"] >= first["user_s"] + first["system_s"] > 0


def test_the_control_plane_wants_its_token() -> None:
    with running("--site", "list:3:10", token="open sesame") as server:
        assert server.control("/cpu")[0] == 200
        for path in ("/cpu", "/ledger", "/nothing"):
            status, answer = server.control(path, token="wrong")
            assert status == 401
            assert "X-Token" in answer["error"]
        assert server.control("/shutdown", {}, token="")[0] == 401
        with server.connect() as sock:
            sock.sendall(get("/p/2"))
            status, _, body = receive(sock)
        assert (status, len(body)) == (200, 10)
        assert server.control("/site")[1]["expected"]["/p/2"] == [200, f"{crc32(body):08x}"]
        assert server.control("/shutdown", {}) == (200, {})
        assert server.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    with running("--site", "list:3:10") as server, server.connect() as sock:
        server.control("/hold", {"n": 0})
        sock.sendall(get("/p/0"))
        server.wait_for("/hold", lambda state: state["held"] == 1)
        server.process.send_signal(number)
        out, errors = server.process.communicate(timeout=PATIENCE)
        assert server.process.returncode == 0
        assert (out, errors) == ("", "")


def test_it_ends_with_its_parent() -> None:
    with running("--site", "list:3:10") as server:
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(PATIENCE) == 0


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
        pid = int(parent.stdout.readline())
        parent.kill()
        until = time.monotonic() + PATIENCE
        while _is_running(pid):
            assert time.monotonic() < until, "an orphan"
            time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


# --- the command line ---


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


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
        (["--listen", "no-such-host.invalid:0"], "no such host"),
        (["--site", "forest:1"], "not a site"),
        (["--site", "tree:200:50:2048"], "smaller fanout"),
        (["--site", "dir:/nonexistent/folder"], "no such directory"),
        (["--delay", "slow"], "not a delay"),
        (["--seed", "x"], "invalid int value"),
        (["--frobnicate"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_gets_one_line_and_status_2(arguments: list[str], said: str) -> None:
    done = cli(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_port_in_use_gets_one_line_and_status_1(server: Running) -> None:
    for option in ("--listen", "--control"):
        done = cli(option, server.ready["listening"])
        assert done.returncode == 1
        assert "in use" in done.stderr
        assert done.stderr.count("\n") == 1


def test_help_explains() -> None:
    done = cli("--help")
    assert done.returncode == 0
    for word in ("tree:PAGES:FANOUT:BYTES", "lognormal", "C10K_CONTROL_TOKEN", "examples"):
        assert word in done.stdout


def test_without_json_it_speaks_to_people() -> None:
    process = subprocess.Popen(command("--site", "list:3:10"), stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
        rest = process.stdout.read()
    assert re.match(r"serving list:3:10 at http://127\.0\.0\.1:\d+/$", first)
    assert "control plane: http://127.0.0.1:" in rest


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
