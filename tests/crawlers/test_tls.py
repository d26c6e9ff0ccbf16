"""Trust, and what the errors of TLS are called."""

from __future__ import annotations

import errno
import gc
import os
import socket
import ssl
import threading
import warnings
from asyncio import sslproto
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest

from crawlers import async_await, registry
from crawlers.conformance.scripted import Connection, ScriptedServer, Wire, ok
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import Job, JobError
from crawlers.kinds import ERROR_KINDS, error_kind
from crawlers.recorder import NullRecorder
from crawlers.stop import Stop
from crawlers.tls import (
    HandshakeError,
    client_context,
    farewell,
    handshaking,
    tls_error_kind,
)
from crawlers.variants._stack import kind_behind
from tests.crawlers.backends import LIBRARIES, crawl, load, models
from tests.crawlers.exchanges import fetch_of
from tests.programs import python

if TYPE_CHECKING:
    from crawlers.conformance.authority import Authority


def failed(reason: str, kind: type[ssl.SSLError] = ssl.SSLError) -> ssl.SSLError:
    """An error as OpenSSL reports it."""
    error = kind(1, reason)
    error.reason = reason
    return error


def rejected(code: int) -> ssl.SSLError:
    """A certificate that was not accepted."""
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code = code
    return error


@pytest.mark.parametrize(
    ("error", "alone", "in_handshake", "after_it"),
    [
        (rejected(10), "expired", "expired", "expired"),
        (rejected(9), "expired", "expired", "expired"),
        (rejected(18), "self_signed", "self_signed", "self_signed"),
        (rejected(19), "untrusted", "untrusted", "untrusted"),
        (rejected(20), "untrusted", "untrusted", "untrusted"),
        (rejected(62), "wrong_host", "wrong_host", "wrong_host"),
        (rejected(64), "wrong_host", "wrong_host", "wrong_host"),
        (rejected(87), "wrong_host", "wrong_host", "wrong_host"),
        (failed("TLSV1_ALERT_PROTOCOL_VERSION"), "tls_version", "tls_version", "tls_version"),
        (failed("UNSUPPORTED_PROTOCOL"), "tls_version", "tls_version", "tls_version"),
        (failed("WRONG_VERSION_NUMBER"), "not_tls", "not_tls", "broken_record"),
        (failed("TLSV13_ALERT_CERTIFICATE_REQUIRED"), *(["handshake"] * 3)),
        (failed("", ssl.SSLEOFError), "truncated", "handshake", "truncated"),
        (failed("", ssl.SSLZeroReturnError), "closed", "handshake", "closed"),
        (failed("BAD_RECORD_MAC"), "broken_record", "handshake", "broken_record"),
    ],
    ids=str,
)
def test_kinds(error: ssl.SSLError, alone: str, in_handshake: str, after_it: str) -> None:
    assert tls_error_kind(error) == error_kind(error) == alone
    assert tls_error_kind(error, handshake=True) == in_handshake
    assert error_kind(error, handshake=False) == after_it
    assert {alone, in_handshake, after_it} <= ERROR_KINDS.keys()
    with pytest.raises(HandshakeError) as caught, handshaking():
        raise error
    assert error_kind(caught.value) == in_handshake


def test_a_socket_below_fails_by_its_own_name() -> None:
    with pytest.raises(ConnectionResetError), handshaking():
        raise ConnectionResetError(errno.ECONNRESET, "reset")
    with pytest.raises(HandshakeError), handshaking():
        raise ConnectionResetError  # asyncio, when a connection was closed
    with pytest.raises(ssl.SSLWantReadError), handshaking():
        raise ssl.SSLWantReadError


def while_waiting(error: Exception, wants: type[ssl.SSLError]) -> Exception:
    """An error, raised while TLS waited for its socket."""
    try:
        try:
            raise wants(2, "The operation did not complete (read)")
        except ssl.SSLError:
            raise error  # noqa: B904 - libraries do so as well
    except Exception as raised:
        return raised


@pytest.mark.parametrize("wants", [ssl.SSLWantReadError, ssl.SSLWantWriteError])
def test_what_tls_waited_for_is_no_error(wants: type[ssl.SSLError]) -> None:
    """A server that died cost httpx pages: it had "broken_record" for them, which ends a page."""
    assert kind_behind(while_waiting(RuntimeError(), wants)) is None
    reset = ConnectionResetError(errno.ECONNRESET, "reset")
    assert kind_behind(while_waiting(reset, wants)) == "reset"
    wrapped = RuntimeError()
    wrapped.__cause__ = while_waiting(failed("BAD_RECORD_MAC"), wants)
    assert kind_behind(while_waiting(wrapped, wants)) == "broken_record"


@pytest.mark.parametrize("library", ["httpx", "httpx2", "anyio"])
def test_a_stream_of_anyio_that_has_closed_is_reset(library: str) -> None:
    stack, anyio = pytest.importorskip(library), pytest.importorskip("anyio")
    closed = while_waiting(anyio.ClosedResourceError(), ssl.SSLWantReadError)
    variant = import_module(f"crawlers.variants.{library.removesuffix('2')}")
    if library == "anyio":
        exchange = Exchange(fetch_of(), 1000)
        variant.lost(exchange, closed)
        assert exchange.error == "reset"
    else:
        error = stack.ReadError("")
        error.__cause__ = closed
        assert variant.kind_of(stack, error) == "reset"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nhalf", "truncated"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001, "too_large"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "closed"),
        (b"HTTP/1.1 200 OK\r\nContent-", "closed"),
        (b"", "closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nall.", None),
    ],
)
def test_a_stream_without_its_end_mark(data: bytes, kind: str | None) -> None:
    exchange = Exchange(fetch_of(), 1000)
    exchange.feed(data)
    exchange.fail(ssl.SSLEOFError())
    assert (exchange.error, exchange.keep_alive) == (kind, kind is None)


@pytest.mark.parametrize("error", [ssl.SSLEOFError(), failed("WRONG_VERSION_NUMBER")])
def test_an_idle_connection_that_breaks_is_stale(error: ssl.SSLError) -> None:
    exchange = Exchange(fetch_of())
    exchange.reused = True
    exchange.fail(error)
    assert exchange.error == "stale"


def test_trust_by_default_and_without() -> None:
    careful, careless = client_context(None, False), client_context(None, True)
    assert careful.verify_mode is ssl.CERT_REQUIRED
    assert careful.check_hostname
    assert not careful.hostname_checks_common_name
    assert careful.minimum_version is ssl.TLSVersion.TLSv1_2
    assert not careful.options & ssl.OP_IGNORE_UNEXPECTED_EOF
    assert careless.verify_mode is ssl.CERT_NONE
    assert careless.minimum_version is ssl.TLSVersion.TLSv1_2
    assert client_context(None, False) is careful


def test_a_fifo_is_no_cafile(tmp_path: Path) -> None:
    """OpenSSL waited for a writer, for ever."""
    os.mkfifo(fifo := tmp_path / "fifo")
    with pytest.raises(JobError, match=f"--cafile {fifo}: not a regular file"):
        client_context(str(fifo), insecure=False)


def test_a_record_fits_into_one_receive() -> None:
    """Nothing is left in OpenSSL that a selector would not see."""
    assert RECV_SIZE >= 1 << 14


@pytest.mark.parametrize("name", ["threads", "callbacks", "generators"])
def test_a_plain_crawl_never_loads_openssl(name: str) -> None:
    program = (
        "import sys; from crawlers import registry; from crawlers.job import Job\n"
        "from crawlers.recorder import NullRecorder\n"
        f"registry.load({name!r}).crawl(Job(('http://127.0.0.1:1/',), max_tries=1), NullRecorder())"
        "\nassert 'ssl' not in sys.modules"
    )
    done = python("-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reset_does_not_hide_why_a_server_hung_up(authority: Authority) -> None:
    context = authority.context_for_known_clients()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dialled = socket.create_connection(listener.getsockname(), 60)
        plain, _ = listener.accept()
        server = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)

        def refuse() -> None:
            with server, pytest.raises(ssl.SSLError):  # closed with unread data: a reset
                server.do_handshake()

        refusing = threading.Thread(target=refuse)
        refusing.start()
        client = client_context(authority.cafile, False)
        with client.wrap_socket(dialled, server_hostname="127.0.0.1") as sock:
            refusing.join(60)
            with pytest.raises(OSError) as caught:
                sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert error_kind(caught.value, handshake=False) == "handshake"


def test_a_write_waits_while_tls_renegotiates() -> None:
    """Tornado knows of no write that has to read first."""
    tornado = pytest.importorskip("crawlers.variants.tornado")
    sock = Mock(send=Mock(side_effect=ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ)))
    assert tornado.SecureStream.write_to_fd(Mock(spec=tornado.SecureStream, socket=sock), b"x") == 0


@models
def test_a_model_says_when_no_more_will_come(name: str, authority: Authority) -> None:
    ends = []

    def strict(plain: socket.socket) -> Wire:
        sock = authority.greeting(plain)
        vars(sock)["suppress_ragged_eofs"] = False
        return sock

    def last(connection: Connection) -> None:
        connection.send(ok())
        ends.append(connection.sock.recv(1))

    with ScriptedServer(strict, authority.cafile) as server:
        server.script["/"] = last
        assert crawl(name, server.url, cafile=authority.cafile).pages == 1
    assert ends == [b""]


@pytest.mark.parametrize("ended_by", ["farewell", "failed exchange"])
def test_a_broken_connection_says_nothing_of_another(authority: Authority, ended_by: str) -> None:
    """CPython on OpenSSL 3.6 leaves an error where another connection would find it."""
    gone = threading.Event()

    def reset(connection: Connection) -> None:
        connection.reset()
        connection.sock.close()
        gone.set()

    with ScriptedServer(authority.greeting, authority.cafile) as server:
        server.script |= {"/": ok(b"answer"), "/reset": reset}
        address = ("127.0.0.1", urlsplit(server.url).port or 0)
        context = client_context(authority.cafile, False)
        healthy, broken = (
            context.wrap_socket(socket.create_connection(address, 60), server_hostname="127.0.0.1")
            for _ in range(2)
        )
        with healthy, broken:
            healthy.send(b"GET / HTTP/1.1\r\n\r\n")
            answer = b""
            while not answer.endswith(b"answer"):  # session tickets come before it
                answer += healthy.recv(RECV_SIZE)
            broken.send(b"GET /reset HTTP/1.1\r\n\r\n")
            assert gone.wait(60)
            if ended_by == "farewell":
                farewell(broken)
            else:
                with pytest.raises(ConnectionError) as caught:
                    broken.send(b"GET / HTTP/1.1\r\n\r\n")
                assert error_kind(caught.value) == "reset"
            healthy.setblocking(False)
            with pytest.raises(ssl.SSLWantReadError):
                healthy.recv(1)


@pytest.mark.parametrize("name", [*registry.MODELS, *LIBRARIES])
def test_the_dot_at_the_end_of_a_host_is_not_in_its_certificate(
    name: str, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    """httpx looked for it there, so that it took other certificates than all others."""
    usual = socket.getaddrinfo

    def found(host: str | bytes, *more: Any, **settings: Any) -> object:
        text = host.decode() if isinstance(host, bytes) else host
        return usual(text.removesuffix("."), *more, **settings)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    with ScriptedServer(authority.greeting, authority.cafile) as server:
        server.script["/"] = ok()
        url = server.url.replace("127.0.0.1", "localhost.")
        report = crawl(name, url, slots=1, cafile=authority.cafile)
        assert (report.errors, report.pages) == ({}, 1)


class TransportOf3112:
    """How CPython 3.11.2 ends TLS: what is closed twice has lost what ``abort`` needs."""

    def __init__(self) -> None:
        self.closed, self.aborted = 0, False

    def close(self) -> None:
        self.closed += 1

    def is_closing(self) -> bool:
        return self.closed > 0

    def abort(self) -> None:
        if self.closed > 1:
            raise AttributeError("'NoneType' object has no attribute '_abort'")
        self.aborted = True


def test_a_connection_that_the_server_has_ended_is_closed_once() -> None:
    """On Debian 12's own Python a crawl over TLS ended in a traceback there."""
    for ended in (False, True):
        transport = TransportOf3112()
        for _ in range(ended):
            transport.close()
        sock = SimpleNamespace(close=transport.close, transport=transport)
        slot: Any = SimpleNamespace(origin=SimpleNamespace(tls=object()), sock=sock)
        async_await.disconnect(slot)
        assert (transport.closed, transport.aborted, slot.origin) == (1, True, None)


ON_ASYNCIO = ("async_await", "asyncio_protocol", "aiohttp")


@pytest.mark.parametrize("name", ON_ASYNCIO)
def test_nothing_is_left_open_where_a_crawl_ends_with_a_handshake(
    name: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its task has not heard of the handshake yet.

    asyncio would wait half a minute for the goodbye of a server that nobody talks to.
    """
    backend = load(name)
    watched: list[tuple[async_await.Shared, Stop]] = []
    watch = async_await.watch
    complete: Callable[..., None] = sslproto.SSLProtocol._on_handshake_complete

    def noting(shared: async_await.Shared, stop: Stop) -> None:
        watched.append((shared, stop))
        watch(shared, stop)

    def at_its_end(protocol: object, error: Exception | None) -> None:
        complete(protocol, error)
        monkeypatch.setattr(Stop, "reason", lambda stop, now: "deadline")
        watch(*watched[0])

    monkeypatch.setattr(async_await, "watch", noting)
    monkeypatch.setattr(sslproto.SSLProtocol, "_on_handshake_complete", at_its_end)

    def deaf(sock: socket.socket) -> Wire:
        encrypted = authority.greeting(sock)
        with suppress(OSError):
            while socket.socket.recv(encrypted, 65536):  # type: ignore[arg-type]
                pass  # the goodbye of the client is one of these bytes
        return encrypted

    with (
        ScriptedServer(deaf, authority.cafile) as server,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        job = Job((server.url,), slots=1, cafile=authority.cafile, timeout_s=300.0)
        report = backend.crawl(job, NullRecorder())
        gc.collect()
    assert report.stopped == "deadline"
    assert [str(each.message) for each in caught if each.category is ResourceWarning] == []
