"""The program that takes causes of context switches away, as it is called."""

from __future__ import annotations

import socket

import pytest

from tools import handovers


@pytest.mark.parametrize("together", [1, 2])
def test_every_page_of_a_list_is_fetched(together: int) -> None:
    """Each batch swallowed one number, so the costs of a page were half of what they are."""
    client, server = socket.socketpair()
    with client, server:
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi" * 5)
        handovers.fetch(client, iter(range(5)), together)
        assert server.recv(65536).count(b"GET /p/") == 5
