"""``python -m server``: serve a site until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import ipaddress
import json
import os
import resource
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from server.behaviour import DelayError, parse_delay
from server.site import Site, SiteError, make_site

if TYPE_CHECKING:
    from collections.abc import Sequence

BACKLOG = 65535  # the kernel takes the least of this and net.core.somaxconn
TOKEN = "C10K_CONTROL_TOKEN"  # nosec B105

EPILOG = """\
sites
  tree:PAGES:FANOUT:BYTES  a page graph made from the seed: redirects, dead links,
                           relative links, queries; all reachable from /
  list:N:BYTES             pages /p/0 to /p/N-1 without links (N up to 1,000,000)
  dir:PATH                 a folder of real HTML
  faults:PAGES[:KIND,...]  a tree whose leaves break off, lie and flood: resets, stalls,
                           bad chunks, endless bodies ... (server/faults.py has the kinds)

delays (of each answer; the same for one path whenever it is asked for)
  none                     answer at once
  fixed:MS                 always so many milliseconds
  exponential:MEAN_MS      mostly short, some long
  lognormal:MEDIAN_MS[:SIGMA]   like real servers (SIGMA 0.5 unless given)

examples
  python -m server --listen 127.0.0.1:8080
  python -m server --site tree:10000:10:4096 --delay lognormal:50 --json
  python -m server --site dir:/usr/share/doc/python3-doc/html
  curl http://CONTROL/ledger?summary=1         what was asked for
  curl -d '{"n": 1000}' http://CONTROL/hold    hold answers until 1000 are in flight

If the environment has C10K_CONTROL_TOKEN, the control plane wants it as X-Token.
Exit status: 0 stopped as asked, 1 cannot serve, 2 wrong usage.
"""


class _Parser(argparse.ArgumentParser):
    """Errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help explains)\n")


class UsageError(Exception):
    """Wrong usage; exit status 2."""


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = _Parser(
        prog="python -m server",
        description="Serve a site for crawlers to be measured on, and write down what they ask.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--listen",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where to serve; port 0 takes a free one (default: %(default)s)",
    )
    add(
        "--control",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where the control plane listens (default: %(default)s)",
    )
    add(
        "--site",
        default="tree:1000:5:2048",
        metavar="SPEC",
        help="what to serve, see below (default: %(default)s)",
    )
    add("--seed", type=int, default=1, metavar="N", help="of the site and the delays (default: 1)")
    add("--delay", default="none", metavar="SPEC", help="see below (default: none)")
    add("--json", action="store_true", help="print one line of JSON when ready, nothing else")
    add("--exit-with-parent", action="store_true", help="stop when standard input ends")
    add("--any-address", action="store_true", help="allow addresses other machines can reach")
    add(
        "--cache",
        default=None,
        metavar="FOLDER",
        help="remember the expected "
        "outcomes of dir: sites here, as finding them takes seconds (default: the user's "
        "cache folder; --cache '' for none)",
    )
    return parser


def parse_address(text: str, option: str, any_address: bool) -> tuple[int, str, int]:
    """``HOST:PORT`` as (address family, address, port).

    Raises :class:`UsageError` for what is no address, or is not on loopback
    without ``any_address``.
    """
    host, colon, port_text = text.rpartition(":")
    if not (colon and host and port_text.isascii() and port_text.isdigit()):
        raise UsageError(f"{option} {text}: write HOST:PORT, for example 127.0.0.1:8080")
    port = int(port_text)
    if port > 65535:
        raise UsageError(f"{option} {text}: a port is from 0 to 65535")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"{option} {text}: no such host as {host}") from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    family, _, _, _, address = found[0]
    number = str(address[0])
    if not any_address and not is_loopback(number):
        raise UsageError(
            f"{option} {text}: other machines can reach that address; use 127.0.0.1, or add "
            "--any-address if that is what you want"
        )
    return family, number, port


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def bind(family: int, host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet, so that the site can name its port."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.bind((host, port))
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def name_of(sock: socket.socket) -> str:
    """``host:port`` as it stands in URLs."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def raise_descriptor_limit() -> None:
    """Each connection is a descriptor: take all the hard limit allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def default_cache() -> Path | None:
    """The user's cache folder for this program."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(root, "crawl-fixture") if os.path.isabs(root) else None


async def serve(
    site: Site, listening: socket.socket, control: socket.socket, options: argparse.Namespace
) -> None:
    """Serve until a signal, ``/shutdown`` or the parent's end."""
    from importlib.metadata import version

    from aiohttp import web

    from server.admin import Admin
    from server.faults import Faults, FaultyConnection
    from server.protocol import Core

    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    kind = FaultyConnection if isinstance(site, Faults) else None
    core = Core(site, loop, parse_delay(options.delay, options.seed), kind)
    admin = Admin(core, options.seed, os.environ.get(TOKEN) or None, stopped.set)
    runner = web.AppRunner(admin.application(), access_log=None)
    await runner.setup()
    await web.SockSite(runner, control).start()
    server = await loop.create_server(core.connect, sock=listening, backlog=BACKLOG)
    if options.exit_with_parent:
        watch_parent(loop, stopped)
    # The site never dies: leave it out of every collection. What connections
    # leave behind is rarely cyclic, so collect seldom.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    ready = {
        "listening": name_of(listening),
        "control": name_of(control),
        "site": site.spec,
        "seed": options.seed,
        "pages": site.pages,
        "urls": site.urls,
        "digest": site.digest,
        "delay": str(core.behaviour.delay),
        "pid": os.getpid(),
        "server": f"uvloop {version('uvloop')}, httptools {version('httptools')}",
        "bytes": site.page_bytes,
    }
    if isinstance(site, Faults):
        ready |= site.ports
    if options.json:
        print(json.dumps(ready), flush=True)
    else:
        print(
            f"serving {site.spec} at http://{ready['listening']}/\n"
            f"  {site.pages} pages, {site.urls} URLs, {site.page_bytes} bytes, delay "
            f"{ready['delay']}, seed {options.seed}\n"
            f"  digest of a full crawl: {site.digest or 'none is promised'}\n"
            f"  control plane: http://{ready['control']}/ledger?summary=1\n"
            "  Ctrl-C stops it",
            flush=True,
        )
    await stopped.wait()
    server.close()
    core.close()
    await runner.cleanup()


def watch_parent(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    """Stop when standard input ends, as it does when the parent dies.

    A thread, because the loop cannot wait for every kind of file.
    """

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        with contextlib.suppress(RuntimeError):  # the loop was faster
            loop.call_soon_threadsafe(stopped.set)

    threading.Thread(target=wait, daemon=True).start()


def run(options: argparse.Namespace) -> None:
    """Everything between the command line and the end."""
    parse_delay(options.delay, options.seed)
    listen = parse_address(options.listen, "--listen", options.any_address)
    control = parse_address(options.control, "--control", options.any_address)
    if not os.environ.get(TOKEN) and not is_loopback(control[1]):
        raise UsageError(
            f"--control {options.control}: other machines can reach that address; set {TOKEN}, "
            "so that they cannot steer this server"
        )
    try:
        import aiohttp  # noqa: F401
        import httptools  # noqa: F401
        import uvloop
    except ImportError as error:
        raise OSError(
            f"{error.name} is not installed: python -m pip install {error.name}"
        ) from None
    raise_descriptor_limit()
    cache = default_cache()
    if options.cache is not None:
        cache = Path(options.cache) if options.cache else None
    with contextlib.ExitStack() as stack:
        sockets = []
        for option, (family, host, port) in (("--listen", listen), ("--control", control)):
            try:
                sockets.append(stack.enter_context(contextlib.closing(bind(family, host, port))))
            except OSError as error:
                raise OSError(
                    f"{option} {host}:{port}: {os.strerror(error.errno or 0).lower()}; "
                    "port 0 takes a free one"
                ) from None
        wild = ipaddress.ip_address(listen[1].partition("%")[0]).is_unspecified
        authority = None if wild else name_of(sockets[0])
        site = make_site(options.site, options.seed, authority, cache)
        uvloop.run(serve(site, sockets[0], sockets[1], options))


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    options = build_parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop_early)  # until the loop takes over
    try:
        run(options)
    except (SiteError, DelayError, UsageError) as error:
        print(f"python -m server: {error} (--help explains)", file=sys.stderr)
        return 2
    except (OSError, MemoryError) as error:
        print(f"python -m server: {str(error) or 'out of memory'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0  # asked to stop before it was ready
    return 0


def _stop_early(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
