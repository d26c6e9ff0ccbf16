"""Ports of a fault site where the handshake must fail.

A server of a ``faults:`` site with ``--tls`` listens on these, too. Their
addresses are in the ready line, and a page's ``location`` may name them as
``@expired/path``.

=========  ================================================================
untrusted  the certificate is by an authority that no client knows
selfmade   the certificate has signed itself
expired    the certificate was valid until yesterday
elsewhere  the certificate is valid for another host
old        TLS 1.1 and older
plain      HTTP without TLS
cut        the connection ends in the middle of the server's first answer
=========  ================================================================

All others serve the same pages as the server's own port, to clients that do not
look. They do not count in the ledger's handshakes.
"""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
import warnings
from collections.abc import Callable
from functools import partial

from server.certificates import Authority, Tls, new_context
from server.connection import Core
from server.encrypted import Encrypted, Handshakes


class Cutting(Encrypted):
    """A connection that ends in the middle of the handshake."""

    __slots__ = ()

    def _flush(self) -> None:
        answer = self._handshakes.outgoing.read()
        if answer and not self._over:
            self.raw.write(answer[: len(answer) // 2])
            self.cut()


async def set_traps(core: Core, tls: Tls, host: str) -> dict[str, asyncio.Server]:
    """Listen on all these ports; returns what listens there, by name."""
    loop = core.loop
    stranger = Authority(tls.facts.key)
    contexts = {
        name: new_context() for name in ("untrusted", "selfmade", "expired", "elsewhere", "cut")
    }
    stranger.issue(contexts["untrusted"], *tls.names)
    stranger.stand_for_itself(contexts["selfmade"])
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    tls.authority.issue(contexts["expired"], *tls.names, until=yesterday)
    tls.authority.issue(contexts["elsewhere"], "elsewhere.test")
    tls.authority.issue(contexts["cut"], *tls.names)
    contexts["old"] = _old_context()
    tls.authority.issue(contexts["old"], *tls.names)
    factories: dict[str, Callable[[], asyncio.Protocol]] = {"plain": core.connect}
    for name, context in contexts.items():
        kind = Cutting if name == "cut" else Encrypted
        factories[name] = partial(kind, core, Handshakes(context, loop))
    servers = {}
    for name, factory in factories.items():
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        servers[name] = await loop.create_server(factory, host.strip("[]"), 0, family=family)
    return servers


def _old_context() -> ssl.SSLContext:
    context = new_context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")  # otherwise OpenSSL 3 does not speak them at all
    return context
