"""What every backend that speaks HTTPS makes of certificates, handshakes and records."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest

from crawlers.conformance.crawling import crawl, outcomes
from crawlers.conformance.scripted import (
    Action,
    Connection,
    Greeting,
    ScriptedServer,
    html,
    ok,
    page,
)
from crawlers.job import Job, JobError
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend

pytest.importorskip("trustme", reason="TLS needs certificates: pip install trustme")

from crawlers.conformance import authority
from crawlers.conformance.authority import Authority, RecordSocket

pytestmark = [pytest.mark.timeout(300)]

CERTIFICATES: dict[str, Callable[[Authority], ssl.SSLContext]] = {
    "untrusted": lambda trusted: trusted.context_of_a_stranger(),
    "self_signed": lambda trusted: trusted.context_of_itself(),
    "expired": lambda trusted: trusted.context(expired=True),
    "wrong_host": lambda trusted: trusted.context("other.test", "127.0.0.2"),
    "wrong_host, no names": lambda trusted: trusted.context_without_names(),
}
"""Error kind -> the server's certificate; a comma separates the kind from what is special."""

BEFORE_THE_REQUEST: dict[str, Greeting] = {
    "not_tls": authority.PLAIN,
    "handshake": authority.REFUSAL,
    "handshake, cut": authority.cut,
    "timeout": authority.silent,
    "reset": authority.reset,
}
"""Error kind -> what the server does; a comma separates the kind from what the server does."""


@pytest.fixture
def able(backend: Backend) -> Backend:
    """The backend under test, if it speaks HTTPS."""
    if backend.no_https is not None:
        pytest.skip(f"no https: {backend.no_https}")
    return backend


def only_what_it_sees(backend: Backend, kind: str) -> None:
    """Skip a test of an error that the backend's library hides."""
    if kind in backend.cannot_see:
        pytest.skip(f"its library does not show {kind}")


def test_a_backend_without_https_refuses_it_by_name(backend: Backend) -> None:
    if backend.no_https is None:
        pytest.skip("it speaks HTTPS")
    with pytest.raises(JobError) as refused:
        backend.crawl(Job(("https://127.0.0.1:9/",)), NullRecorder())
    assert backend.name in str(refused.value)
    assert backend.no_https in str(refused.value)


@pytest.mark.parametrize("case", CERTIFICATES)
def test_a_certificate_that_proves_nothing(
    able: Backend, trusted: Authority, case: str, nothing_left: None
) -> None:
    """It is an error at the first try; with ``insecure`` it is none."""
    kind, _, _ = case.partition(",")
    only_what_it_sees(able, kind)
    greeting = authority.encrypted(CERTIFICATES[case](trusted))
    with ScriptedServer(greeting, trusted.cafile) as server:
        server.script["/"] = page()
        report = crawl(able, server, max_tries=3, slots=2)
        assert outcomes(report) == {"/": kind}
        assert (report.retries, server.requests) == (0, {})
        report = crawl(able, server, slots=1, cafile=None, insecure=True)
        assert outcomes(report) == {"/": 200}


def test_a_common_name_is_no_name(able: Backend, trusted: Authority) -> None:
    greeting = authority.encrypted(trusted.context_without_names("localhost"))
    with ScriptedServer(greeting, trusted.cafile) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        report = crawl(able, server, urls=(url,), slots=1)
    assert [row.error for row in report.rows.values()] == ["wrong_host"]


def test_without_a_file_the_system_says_whom_to_trust(able: Backend, trusted: Authority) -> None:
    with ScriptedServer(trusted.greeting) as server:
        report = crawl(able, server, slots=1)
        assert outcomes(report) in ({"/": "untrusted"}, {"/": "self_signed"})


def test_a_server_of_before_tls_1_2(able: Backend, trusted: Authority) -> None:
    only_what_it_sees(able, "tls_version")
    with ScriptedServer(
        authority.encrypted(authority.too_old(trusted.context())), trusted.cafile
    ) as server:
        report = crawl(able, server, max_tries=3, slots=1)
    assert outcomes(report) == {"/": "tls_version"}
    assert report.retries == 0


@pytest.mark.parametrize("case", BEFORE_THE_REQUEST)
def test_a_handshake_that_fails(
    able: Backend, trusted: Authority, case: str, nothing_left: None
) -> None:
    kind, _, _ = case.partition(",")
    only_what_it_sees(able, kind)
    timeout_s = 0.4 if kind == "timeout" else 30.0
    with ScriptedServer(BEFORE_THE_REQUEST[case], trusted.cafile) as server:
        report = crawl(able, server, max_tries=2, slots=1, timeout_s=timeout_s)
    assert outcomes(report) == {"/": kind}
    assert report.retries == (kind in ("handshake", "timeout", "reset"))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_required_certificate_of_the_client(
    able: Backend, trusted: Authority, version: ssl.TLSVersion, nothing_left: None
) -> None:
    """In TLS 1.3 the server asks for it in a handshake that is over for the client."""
    context = trusted.context_for_known_clients()
    context.minimum_version = context.maximum_version = version
    with ScriptedServer(authority.in_records(context), trusted.cafile) as server:
        report = crawl(able, server, slots=1, max_tries=2)
    assert (outcomes(report), report.retries) == ({"/": "handshake"}, 1)


def test_an_answer_that_comes_with_the_handshake(
    able: Backend, trusted: Authority, nothing_left: None
) -> None:
    """Nothing was asked for yet, and a library may hand it over before the connection."""
    context = trusted.context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with ScriptedServer(authority.in_records(context, page()), trusted.cafile) as server:
        server.script["/"] = page()
        report = crawl(able, server, slots=1, max_tries=1)
    assert outcomes(report) == {"/": 200}


def test_a_stalled_handshake_ends_with_the_crawl(
    able: Backend, trusted: Authority, nothing_left: None
) -> None:
    with ScriptedServer(authority.silent, trusted.cafile) as server:
        report = crawl(able, server, slots=2, timeout_s=8.0, deadline_s=0.5)
    assert report.stopped == "deadline"
    assert outcomes(report) == {"/": "cancelled"}


def halves(connection: Connection, body: bytes) -> tuple[bytes, bytes]:
    """The record of a body, cut in two."""
    sock = connection.sock
    assert isinstance(sock, RecordSocket)
    record = sock.records(body)
    return record[: len(record) // 2], record[len(record) // 2 :]


def send_raw(connection: Connection, data: bytes) -> None:
    """Send bytes below TLS."""
    assert isinstance(connection.sock, RecordSocket)
    connection.sock.send_raw(data)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def cut_after(data: bytes, half: bytes = b"") -> Action:
    """Send data, and half of the record of more; the stream just ends."""

    def action(connection: Connection) -> None:
        connection.send(data)
        if half:
            send_raw(connection, halves(connection, half)[0])
        connection.cut()

    return action


def damaged(connection: Connection) -> None:
    """A record with a byte changed on the way."""
    first, second = halves(connection, ok(b"."))
    send_raw(connection, first + bytes((second[0] ^ 1,)) + second[1:])
    connection.hang()


def nonsense(connection: Connection) -> None:
    """Bytes that are no record, after a good one."""
    connection.send(HEAD + b"Content-Length: 9\r\n\r\n")
    send_raw(connection, b"HTTP/1.1 400 Bad Request\r\n\r\n")
    connection.hang()


STREAMS: dict[str, tuple[str, Action]] = {
    "truncated": ("truncated", cut_after(HEAD + b"\r\n" + html("/never"))),
    "cut in a record": ("truncated", cut_after(HEAD + b"\r\n", html("/never"))),
    "cut with a length": ("closed", cut_after(HEAD + b"Content-Length: 9\r\n\r\n", b"123456789")),
    "cut in a chunk": ("closed", cut_after(CHUNKED + b"5\r\nhello\r\n")),
    "damaged": ("broken_record", damaged),
    "nonsense": ("broken_record", nonsense),
}


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_that_breaks(
    able: Backend, trusted: Authority, case: str, nothing_left: None
) -> None:
    kind, action = STREAMS[case]
    only_what_it_sees(able, kind)
    with ScriptedServer(authority.in_records(trusted.context()), trusted.cafile) as server:
        server.script["/"] = [action]
        report = crawl(able, server, slots=1, max_tries=2)
    assert outcomes(report) == {"/": kind}
    assert report.retries == (kind != "broken_record")


def test_a_bad_record_in_place_of_a_later_answer(
    able: Backend, trusted: Authority, nothing_left: None
) -> None:
    """An idle connection that breaks was only stale, however it breaks."""

    def bad(connection: Connection) -> None:
        send_raw(connection, b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.hang()

    with ScriptedServer(authority.in_records(trusted.context()), trusted.cafile) as server:
        server.script.update({"/": page("/next"), "/next": [bad, page()]})
        report = crawl(able, server, slots=1, max_tries=1)
        assert outcomes(report) == {"/": 200, "/next": 200}
        assert server.connections == 2


def test_a_complete_answer_needs_no_end_mark(
    able: Backend, trusted: Authority, nothing_left: None
) -> None:
    """With a length or chunks the answer says itself that it is whole."""
    with ScriptedServer(authority.in_records(trusted.context()), trusted.cafile) as server:
        server.script["/"] = cut_after(page("/chunks"))
        server.script["/chunks"] = cut_after(CHUNKED + b"1\r\nx\r\n0\r\n\r\n")
        report = crawl(able, server, slots=1, max_tries=1)
    assert outcomes(report) == {"/": 200, "/chunks": 200}


@pytest.mark.parametrize("leave", [Connection.hang, Connection.cut], ids=["stays", "leaves"])
@pytest.mark.parametrize("size", [0, 2_000_000], ids=["small", "large"])
@pytest.mark.parametrize("length", [False, True], ids=["read to its end", "with a length"])
def test_the_end_of_tls_ends_the_connection(
    able: Backend, trusted: Authority, length: bool, size: int, leave: Action, nothing_left: None
) -> None:
    """The end mark of TLS comes before that of TCP; no request may be lost between them."""

    def last(connection: Connection) -> None:
        body = b"x" * size + html("/next")
        connection.send(HEAD + (b"Content-Length: %d\r\n\r\n" % len(body) if length else b"\r\n"))
        connection.send(body)
        assert isinstance(connection.sock, RecordSocket)
        connection.sock.end()
        leave(connection)

    with ScriptedServer(authority.in_records(trusted.context()), trusted.cafile) as server:
        server.script.update({"/": last, "/next": page()})
        report = crawl(able, server, slots=1, max_tries=1)
        assert outcomes(report) == {"/": 200, "/next": 200}
        assert (report.retries, server.connections) == (0, 2)


def test_the_name_is_asked_for_and_the_protocol_agreed(able: Backend, trusted: Authority) -> None:
    """SNI for names, none for addresses; HTTP/1.1 by ALPN; TLS 1.3 if both can."""
    names: list[str | None] = []
    agreed: list[tuple[str | None, str | None]] = []

    def note(connection: Connection) -> None:
        assert isinstance(connection.sock, ssl.SSLSocket)
        agreed.append((connection.sock.selected_alpn_protocol(), connection.sock.version()))
        connection.send(page())

    context = trusted.context()
    context.sni_callback = lambda sock, name, context: names.append(name)
    with ScriptedServer(authority.encrypted(context), trusted.cafile) as server:
        server.script["/"] = note
        by_name = server.url.replace("127.0.0.1", "localhost")
        report = crawl(able, server, urls=(by_name,), slots=1)
        assert report.pages == 1, report.errors
        assert crawl(able, server, slots=1).pages == 1
    assert names == ["localhost", None]
    assert agreed == [("http/1.1", "TLSv1.3")] * 2


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_keep_connections(
    able: Backend, trusted: Authority, version: ssl.TLSVersion
) -> None:
    """Session tickets come when they like, and no request asked for them."""
    context = trusted.context()
    context.minimum_version = context.maximum_version = version
    with ScriptedServer(authority.encrypted(context), trusted.cafile) as server:
        server.script["/"] = page(*(f"/{n}" for n in range(10)))
        server.script.update({f"/{n}": ok(b"x" * 200_000, "text/plain") for n in range(10)})
        report = crawl(able, server, slots=1)
        assert (report.pages, report.errors) == (11, {})
        assert server.connections == 1


def test_plain_pages_lead_to_encrypted_ones(
    able: Backend, server: ScriptedServer, trusted: Authority
) -> None:
    """One crawl over both, by links and redirects."""
    with ScriptedServer(trusted.greeting) as other:
        for host, there in ((server, other), (other, server)):
            host.script["/"] = page(there.url + "a", "/moved")
            host.script["/a"] = page()
            host.script["/moved"] = (
                b"HTTP/1.1 301 M\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n"
                % (there.url.encode() + b"b")
            )
            host.script["/b"] = page()
        report = crawl(able, server, urls=(server.url, other.url), slots=2, cafile=trusted.cafile)
    assert (report.pages, report.redirects, report.errors) == (6, 2, {})
