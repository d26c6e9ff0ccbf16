"""async_await: what only asyncio's streams can get wrong."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawlers import async_await
from crawlers.job import Origin
from crawlers.tls import client_context

trustme = pytest.importorskip("trustme", reason="makes the certificate")


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A server that shakes hands and says no more; its authority's file and its port."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    over = threading.Event()

    def serve() -> None:
        listener.settimeout(30)
        connection, _ = listener.accept()
        with connection, context.wrap_socket(connection, server_side=True):
            over.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield str(tmp_path / "ca.pem"), listener.getsockname()[1]
        over.set()
        thread.join(60)


def test_an_opening_cancelled_as_its_handshake_ends_leaves_no_connection(
    silent: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for the server's goodbye, up to 30 s, and was left open when the crawl was over."""
    cafile, port = silent
    origin = Origin(f"https://127.0.0.1:{port}", [], b"", tls=client_context(cafile, False))
    origin.host = "127.0.0.1"
    sockets = []
    real = asyncio.StreamReaderProtocol.connection_made

    async def main() -> None:
        opening = asyncio.ensure_future(async_await.secure(origin, "127.0.0.1", port))

        def connection_made(self: asyncio.StreamReaderProtocol, transport: Any) -> None:
            opening.cancel()
            sockets.append(transport.get_extra_info("socket"))
            real(self, transport)

        monkeypatch.setattr(asyncio.StreamReaderProtocol, "connection_made", connection_made)
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(main())
    assert [one.fileno() for one in sockets] == [-1]
