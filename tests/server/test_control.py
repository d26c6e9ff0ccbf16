"""The control plane: the ledger, the barrier, delays, and what it refuses."""

from __future__ import annotations

import contextlib
import json
from http.client import HTTPConnection
from zlib import crc32

import pytest

from tests.server.fixture_server import PATIENCE, Running, get, receive, running
from tests.server.tls_client import connected


@pytest.mark.parametrize("wire", ["server", "secure"])
def test_the_barrier_releases_at_the_nth_request(wire: str, request: pytest.FixtureRequest) -> None:
    server: Running = request.getfixturevalue(wire)
    assert server.control("/hold", {"n": 40})[1]["armed"] is True
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connected(server)) for _ in range(40)]
        for sock in sockets[:-1]:
            sock.sendall(get("/"))
        # The last one sends nothing, so the server may accept it after all those requests.
        state = server.wait_for(
            "/hold", lambda state: (state["in_flight"], state["connections"]) == (39, 40)
        )
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


def test_unknown_calls_are_json_too(server: Running) -> None:
    assert server.control("/nothing")[0] == 404
    status, answer = server.control("/release", method="GET")
    assert status == 405
    assert "error" in answer


def raw(
    server: Running, method: str, path: str, headers: dict[str, str], body: str = ""
) -> tuple[int, str]:
    """Call the control plane with just these headers; returns the status and the error."""
    host, _, port = str(server.ready["control"]).rpartition(":")
    connection = HTTPConnection(host, int(port), timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        found = json.load(answer)
        return answer.status, found["error"] if answer.status != 200 else ""


@pytest.mark.parametrize("path", ["/hold", "/reset", "/poll", "/nothing"])
def test_no_web_page_controls_a_server_without_a_token(server: Running, path: str) -> None:
    # What a page's fetch(..., {mode: "no-cors"}) sends.
    foreign = {"Origin": "http://evil.example", "Content-Type": "text/plain"}
    asks = {**foreign, "Access-Control-Request-Headers": "x-token"}
    assert raw(server, "POST", path, foreign, '{"n": 1}')[0] == 403
    assert raw(server, "OPTIONS", path, asks)[0] == 403
    assert server.control("/hold")[1]["armed"] is False
    assert server.process.poll() is None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:5", 200),
        ("localhost", 200),
        ("LOCALHOST:80", 200),
        ("[::1]:5", 200),
        ("evil.example", 403),
        ("evil.example:80", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:1", 403),
        ("", 403),
    ],
)
def test_a_name_that_somebody_gave_to_this_address_is_refused(
    server: Running, host: str, status: int
) -> None:
    """DNS rebinding: the page is then of the same origin and may set any header."""
    assert raw(server, "POST", "/release", {"Host": host, "X-Token": ""})[0] == status
    assert raw(server, "GET", "/ledger?summary=1", {"Host": host})[0] == status


HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    ("path", "body", "said", "headers"),
    [
        *(("/hold", body, "n must be a whole number", {}) for body in ("{}", '{"n": "3"}')),
        ("/hold", '{"n": true}', "n must be a whole number", {}),
        ("/hold", '{"m": 3}', "unknown field 'm'", {}),
        ("/hold", "[]", "must be a JSON object", {}),
        ("/reset", '{"delay": "slow"}', "not a delay", {}),
        ("/reset", '{"delay": 5}', "delay must be a string", {}),
        ("/reset", '{"hold": 1.5}', "hold must be a whole number", {}),
        *(
            ("/release", f'{{"per_s": {per_s}}}', "a number from 0.001 to 1e+09", {})
            for per_s in ("0", "-1", '"fast"', "true")
        ),
        *(("/release", f'{{"per_s": {per_s}}}', "", {}) for per_s in (HUGE, "1e-320", "NaN")),
        *(
            ("/poll", f'{{"on": {on}}}', "on must be true or false", {})
            for on in ("null", "1", '"yes"')
        ),
        ("/poll", '{"off": true}', "unknown field 'off'", {}),
        ("/hold", "[" * 100_000, "", {}),
        ("/hold", '{"n": ', "", {"Content-Type": "text/plain; charset=none-such"}),
        ("/hold", "\xff\xfe", "", {}),
        ("/hold", "not gzip", "", {"Content-Encoding": "gzip"}),
    ],
)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(
    server: Running, path: str, body: str, said: str, headers: dict[str, str]
) -> None:
    server.control("/hold", {"n": 0})
    with server.connect() as sock:
        sock.sendall(get("/"))
        server.wait_for("/hold", lambda state: state["held"] == 1)
        status, error = raw(server, "POST", path, {"X-Token": "", **headers}, body)
        assert (status, said in error) == (400, True)
        assert server.control("/hold")[1]["held"] == 1
        server.control("/release", {})
        assert receive(sock)[0] == 200


def test_the_control_plane_wants_its_token() -> None:
    with running("--site", "list:3:10", token="open sesame") as server:
        assert server.control("/cpu")[0] == 200
        assert raw(server, "GET", "/cpu", {"X-Token": "open sesame", "Host": "any.name"})[0] == 200
        assert raw(server, "GET", "/cpu", {"X-Token": "\xff\xfe"})[0] == 401
        for path in ("/cpu", "/ledger", "/nothing"):
            status, answer = server.control(path, token="wrong")
            assert status == 401
            assert "X-Token" in answer["error"]
        assert server.control("/release", {}, token="")[0] == 401
        with server.connect() as sock:
            sock.sendall(get("/p/2"))
            status, _, body = receive(sock)
        assert (status, len(body)) == (200, 10)
        assert server.control("/site")[1]["expected"]["/p/2"] == [200, f"{crc32(body):08x}"]
