"""The server while it runs: its event loop, its ready line and its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import socket
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from server.addresses import name_of
from server.calls import converse
from server.certificates import Facts, Tls
from server.connection import Connection, Core
from server.control import ControlPlane
from server.delays import Delay
from server.encrypted import Encrypted, Handshakes
from server.faulty import FaultyConnection
from server.output import say
from server.polling import Poller
from server.signals import stop_signals, when_the_parent_ends
from server.sites.faults import Faults
from server.sites.site import Site
from server.traps import set_traps

BACKLOG = 65535  # the kernel takes the smaller of this and net.core.somaxconn


async def serve(
    site: Site,
    listening: socket.socket,
    control: socket.socket,
    *,
    delay: Delay,
    seed: int,
    token: str | None,
    for_programs: bool,
    exit_with_parent: bool,
    tls: Tls | None,
) -> None:
    """Serve until a signal, or with ``exit_with_parent`` until standard input ends.

    Without a ``token`` the control plane is open to this machine. With ``tls`` pages are served
    over TLS only.
    """
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in stop_signals():
        loop.add_signal_handler(number, stopped.set)
    if exit_with_parent:  # before there is a listener to close: it may find no thread

        def stop() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(stopped.set)

        when_the_parent_ends(stop)
    kind = FaultyConnection if isinstance(site, Faults) else None
    core = Core(site, loop, delay, kind)
    poller = Poller(loop, core.ledger.connections)

    handshakes = Handshakes(tls.context, loop) if tls else None
    core.ledger.handshakes = handshakes

    def accept() -> Connection | Encrypted:
        poller.wake()
        return core.connect() if handshakes is None else Encrypted(core, handshakes)

    plane = ControlPlane(core, poller, seed, token)
    answers = await asyncio.start_server(
        lambda reader, writer: converse(reader, writer, plane.answer), sock=control
    )
    server = await loop.create_server(accept, sock=listening, backlog=BACKLOG)
    # The site lives as long as the server: leave it out of every collection. What
    # connections leave behind is rarely cyclic, so collect seldom.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    traps: dict[str, asyncio.Server] = {}
    if isinstance(site, Faults) and tls is not None:
        traps = await set_traps(core, tls, site.host)
        site.ports |= {name: name_of(trap.sockets[0]) for name, trap in traps.items()}
    facts = tls.facts if tls else None
    ready = describe(core, seed, name_of(listening), name_of(control), facts)
    try:
        say(json.dumps(ready) if for_programs else for_people(ready))
        await stopped.wait()
    finally:
        poller.stop()
        for listener in (server, answers, *traps.values()):
            listener.close()
        core.close()


def describe(
    core: Core, seed: int, listening: str, control: str, tls: Facts | None
) -> dict[str, Any]:
    """The ready line: where the server listens and what it serves."""
    site = core.site
    ready = {
        "listening": listening,
        "control": control,
        **site.facts(),
        "seed": seed,
        "delay": str(core.behaviour.delay),
        "pid": os.getpid(),
        "server": f"uvloop {version('uvloop')}, httptools {version('httptools')}",
        "scheme": "http" if tls is None else "https",
        "tls": None if tls is None else asdict(tls),
    }
    return ready | site.ports if isinstance(site, Faults) else ready


def for_people(ready: dict[str, Any]) -> str:
    """The ready line in a few lines of text."""
    tls = ready["tls"]
    secured = ""
    if tls is not None:
        tickets = "session tickets" if tls["tickets"] else "no session tickets"
        secured = (
            f"  TLS: {tls['key']} key, version {tls['version']}, {tickets}\n"
            f"  clients trust it with: --cafile {tls['cafile']}\n"
        )
    return (
        f"serving {ready['site']} at {ready['scheme']}://{ready['listening']}/\n"
        f"  {ready['pages']} pages, {ready['urls']} URLs, {ready['bytes']} bytes, delay "
        f"{ready['delay']}, seed {ready['seed']}\n"
        f"  digest of a full crawl: {ready['digest'] or 'this site has none'}\n"
        f"{secured}  control plane: http://{ready['control']}/ledger?summary=1\n"
        "  press Ctrl-C to stop"
    )
