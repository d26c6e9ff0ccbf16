"""What every server must do, over plain HTTP and TLS. One process serves all tests of a server.

differs.py has the tests in which a server is known to differ.
Sections are those of RFC 9112.
"""

from __future__ import annotations

import re
import resource
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from zlib import crc32

import h11
import pytest

from server.models.catalogue import MODELS, SERVERS
from tests.server.fixture_server import PATIENCE, ended, everything, get, receive
from tests.server.models.differs import CUTS, difference
from tests.server.models.serving import (
    LARGE,
    LIMITS,
    Model,
    ask,
    chunked,
    last_words,
    received,
    serving,
    stop,
    write_site,
)
from tests.server.wire import CASES, SERVED, Case, refused

WIRES = [
    pytest.param(
        (server.name, wire),
        id=f"{server.name}-{wire}",
        marks=[] if server.name in MODELS else pytest.mark.slow,
    )
    for server in SERVERS.values()
    if server.conforms
    for wire in ("plain", "tls")[: 1 + server.tls]
]
LOGGED = "socket.send() raised exception.\n"
"""What asyncio on Python 3.11 logs, again and again, of a client that has gone over TLS."""
DATE = rb"(?i)date: .*"
POST = b"POST /page.html HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder to serve."""
    return write_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module", params=WIRES)
def shared(request: pytest.FixtureRequest, site: str) -> Iterator[Model]:
    """One process for all tests of a server."""
    name, wire = request.param
    tls = ["--tls", "ecdsa"] if wire == "tls" else []
    limits = {limit: value for limit, value in LIMITS.items() if limit in limits_of(name)}
    with serving(name, "--site", site, *tls, **limits) as server:
        yield server


def limits_of(name: str) -> Collection[str]:
    """The limits that can be set for a server."""
    return SERVERS[name].limits or LIMITS


@pytest.fixture
def server(shared: Model, request: pytest.FixtureRequest) -> Model:
    """The server; the test fails, as expected, where it is known to differ."""
    wire = "tls" if shared.context else "plain"
    reason, always = difference(shared.ready["model"], wire, request.node.name)
    shared.patience = 1 if reason else PATIENCE
    if reason:
        if not always:
            pytest.skip(reason)
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    return shared


@pytest.fixture
def sock(server: Model) -> Iterator[socket.socket]:
    """One connection."""
    with server.connect() as connected:
        yield connected


class Reader:
    """Answers as h11 reads them; it believes that each is one to a GET of its own."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.connection = h11.Connection(h11.CLIENT)

    def read(self) -> tuple[int, bytes]:
        """The next answer: status and body."""
        self.connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
        self.connection.send(h11.EndOfMessage())
        status, body = 0, b""
        while True:
            event = self.connection.next_event()
            if event is h11.NEED_DATA:
                self.connection.receive_data(self.sock.recv(65536))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                self.connection.start_next_cycle()
                return status, body


def test_pages_come_over_one_connection(sock: socket.socket) -> None:
    assert ask(sock, "/") == b'<a href="page.html">A page</a>'
    assert len(ask(sock)) == 3003
    sock.sendall(get("/missing"))
    assert receive(sock)[0] == 404
    assert ask(sock, "/large.bin") == LARGE
    assert len(ask(sock)) == 3003


def test_a_head_is_that_of_the_page(sock: socket.socket) -> None:
    sock.sendall(get("/page.html", method="HEAD") + get("/page.html"))
    data = b""
    while data.count(b"\r\n\r\n") < 2 or len(data.rpartition(b"\r\n\r\n")[2]) < 3003:
        data += sock.recv(65536)
    first, second, body = data.split(b"\r\n\r\n")
    # A second may pass between the two.
    assert re.sub(DATE, b"", first) == re.sub(DATE, b"", second)
    assert len(body) == 3003


def test_other_methods_are_refused_and_the_connection_goes_on(sock: socket.socket) -> None:
    body = b"x" * 10_000
    sock.sendall(b"PUT /page.html HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n" + body)
    status, headers, _ = receive(sock)
    assert status == 405
    assert "GET" in headers["allow"]
    assert len(ask(sock)) == 3003


def test_pipelined_requests_are_answered_in_order(sock: socket.socket) -> None:
    """Section 9.3.2."""
    targets = ["/", "/page.html", "/missing"] * 50
    requests = b"".join(map(get, targets))
    sock.sendall(requests[:-20])
    sock.sendall(requests[-20:])
    reader = Reader(sock)
    for target in targets:
        status, body = reader.read()
        assert status == (404 if target == "/missing" else 200)
        assert len(body) == {"/": 30, "/page.html": 3003}.get(target, len(body))


def test_a_request_may_come_byte_by_byte(sock: socket.socket) -> None:
    for byte in POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"abc", b"de"):
        sock.sendall(bytes([byte]))
    assert receive(sock)[2] == received(b"abcde")


@pytest.mark.parametrize(
    ("request_bytes", "body"),
    [
        (b"Content-Length: 90000\r\n\r\n" + b"y" * 90_000, b"y" * 90_000),
        (b"Content-Length: 0\r\n\r\n", b""),
        (b"\r\n", b""),
        (b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"a" * 5000, b"b"), b"a" * 5000 + b"b"),
        (b'Transfer-Encoding: chunked\r\n\r\n3;name="v"\r\nabc\r\n0\r\nTrail: er\r\n\r\n', b"abc"),
    ],
    ids=["length", "length-0", "none", "chunked", "chunked-with-extras"],
)
def test_bodies_of_every_framing(sock: socket.socket, request_bytes: bytes, body: bytes) -> None:
    """Section 6.3; the next request begins where the body ends."""
    sock.sendall(POST + request_bytes + get("/missing"))
    reader = Reader(sock)
    assert reader.read() == (200, received(body))
    assert reader.read()[0] == 404


def test_a_client_may_wait_for_100_continue(sock: socket.socket) -> None:
    """RFC 9110, 10.1.1."""
    sock.sendall(POST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n")
    assert sock.recv(65536).startswith(b"HTTP/1.1 100 ")
    sock.sendall(b"abc")
    assert receive(sock)[2] == received(b"abc")


def test_what_breaks_a_rule_is_refused(server: Model) -> None:
    """Sections 2.2, 3.2, 5.1, 5.2, 6.1 and 6.3; and the refusal arrives, whatever is still sent."""
    cut = server.context is not None and server.ready["model"] in CUTS
    more = b"" if cut else b"more and more " * 5000
    for case in CASES:
        if refused(case.models):
            with server.connect() as sock:
                sock.sendall(case.sent + more)
                status, headers, _ = receive(sock)
                assert (status, headers["connection"]) == (int(case.models[:3]), "close"), case
                assert ended(sock), case


CLOSING = [case for case in SERVED if case.models == "200 closes"]


@pytest.mark.parametrize("case", CLOSING, ids=str)
def test_close_is_said_and_done(sock: socket.socket, case: Case) -> None:
    """Section 9.6; a request after it is not answered."""
    sock.sendall(case.sent + get("/page.html"))
    status, headers, body = receive(sock)
    assert (status, len(body)) == (200, 30)
    assert headers["connection"] == "close"
    assert ended(sock)


def test_a_client_that_sends_no_more_gets_its_answer(server: Model) -> None:
    """A half-closed connection (section 9.6); what it sent before counts."""
    data = server.ask_and_end(get("/") + get("/large.bin"))
    assert data.count(b"HTTP/1.1 200 ") == 2
    assert data.endswith(LARGE)


def test_a_slow_request_is_cut_and_delays_nobody(server: Model) -> None:
    """Slow loris: a head, and a body, of which a byte comes now and then."""
    with ExitStack() as stack:
        slow = [stack.enter_context(server.connect()) for _ in range(2)]
        slow[0].sendall(b"GET / HTTP/1.1\r\nX: ")
        slow[1].sendall(POST + b"Content-Length: 90000\r\n\r\n")
        begun = time.monotonic()
        while slow and time.monotonic() < begun + server.patience:
            with server.connect() as sock:
                assert len(ask(sock)) == 3003
            for each in list(slow):
                each.settimeout(0.1)
                try:
                    each.send(b"x")
                    assert not each.recv(1000)
                    slow.remove(each)
                except TimeoutError:
                    pass
                except OSError:
                    slow.remove(each)
        assert not slow
        assert time.monotonic() - begun >= LIMITS["head_s"]


def serve_idle(server: Model, count: int) -> None:
    """So many connections, all open before the first asks; each gets its page.

    A hundred ask at once: ten thousand threads that wake up together fight for the lock for 25 s.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < count + 200:
        pytest.skip(f"needs {count + 200} descriptors, and {most} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        idle = [stack.enter_context(server.connect()) for _ in range(count)]
        for first in range(0, count, 100):
            asking = idle[first : first + 100]
            for sock in asking:
                sock.sendall(get("/"))
            assert [receive(sock)[0] for sock in asking] == [200] * len(asking)


def test_idle_connections_are_all_served(server: Model) -> None:
    """A slow test has ten thousand."""
    serve_idle(server, 300 if server.context is None else 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ten_thousand_idle_connections_are_all_served(name: str, site: str) -> None:
    with serving(name, "--site", site, **LIMITS) as server:
        serve_idle(server, 10_000)


def test_a_client_that_does_not_read_delays_nobody(server: Model) -> None:
    with server.narrow() as slow:
        slow.sendall(get("/large.bin") * 2)
        for _ in range(3):
            with server.connect() as sock:
                assert len(ask(sock)) == 3003
        for _ in range(2):
            head, _, start = slow.recv(4096).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            body = bytearray(start)
            while len(body) < len(LARGE):
                body += slow.recv(min(1 << 20, len(LARGE) - len(body)))
            assert body == LARGE


def test_a_client_may_vanish_in_the_middle_of_an_answer(server: Model) -> None:
    for _ in range(5):
        with server.narrow() as sock:
            sock.sendall(get("/large.bin"))
            assert sock.recv(1000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with server.connect() as sock:
        assert len(ask(sock)) == 3003


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here: apt-get install curl")
def test_curl_gets_pages_and_posts_bodies(server: Model) -> None:
    trust = ["--cacert", server.ready["tls"]["cafile"]] if server.context else []
    url = f"{server.ready['scheme']}://{server.ready['listening']}"
    command = ["curl", "-sS", "--fail", "--max-time", "60", *trust]
    done = subprocess.run(
        [*command, f"{url}/page.html", f"{url}/large.bin"], capture_output=True, check=True
    )
    assert done.stdout[3003:] == LARGE
    body = b"b" * 80_000  # curl asks before it sends so much
    done = subprocess.run(
        [*command, "--data-binary", "@-", "-H", "Expect: 100-continue", f"{url}/"],
        input=body,
        capture_output=True,
        check=True,
    )
    assert done.stdout == received(body)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wrk") is None, reason="no wrk here: apt-get install wrk")
def test_wrk_sees_no_error(server: Model) -> None:
    url = f"{server.ready['scheme']}://{server.ready['listening']}/page.html"
    # wrk counts whole seconds, and both would use a processor all that time.
    for seconds in ("0.5", "5", "50"):  # on a busy machine twenty handshakes take longer
        shorter = ["timeout", "--signal=INT", "--preserve-status", seconds]
        wrk = [*shorter, "wrk", "-t1", "-c20", "-d60s", url]
        done = subprocess.run(wrk, capture_output=True, text=True, check=True)
        if answered := re.search(r"[1-9]\d* requests in", done.stdout):
            break
    assert answered, done.stdout
    assert "Socket errors" not in done.stdout
    assert "Non-2xx" not in done.stdout


def test_a_signal_finishes_what_is_in_flight_and_leaves_nothing(server: Model) -> None:
    """The last test of each process."""
    with ExitStack() as stack:
        idle, halved, reading, never = (stack.enter_context(server.narrow()) for _ in range(4))
        assert len(ask(idle)) == 3003
        halved.sendall(get("/page.html")[:20])
        reading.sendall(get("/large.bin"))
        never.sendall(b"GET ")
        body = reading.recv(1000).partition(b"\r\n\r\n")[2]
        time.sleep(0.5)  # until all have arrived
        stop(server)
        assert ended(idle)
        with pytest.raises(OSError):
            server.connect()
        halved.sendall(get("/page.html")[20:])
        status, headers, answer = receive(halved)
        assert (status, len(answer), headers["connection"]) == (200, 3003, "close")
        assert ended(halved)
        assert crc32(body + everything(reading)) == crc32(LARGE)
        if "grace_s" in limits_of(server.ready["model"]):
            with suppress(OSError):
                assert not never.recv(10)  # cut
    served, errors = last_words(server)
    assert served["requests"] >= 3
    if server.ready["family"] != "stack":  # which log what they like, and count no deadlines
        assert errors.replace(LOGGED, "") == ""
        assert sum(served["late"].values()) >= 1  # the one that never asked
