"""``python -m server models``: serve a site with one concurrency model, until told to stop."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import platform
import resource
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Final

from server.addresses import bind, is_wildcard, name_of, parse_address
from server.certificates import TlsError, prepared
from server.cli import Parser, add_serving, add_tls, guarded, raise_descriptor_limit, wanted_tls
from server.models.catalogue import SERVERS
from server.models.service import BACKLOG, Limits, Service
from server.models.work import Working
from server.output import say
from server.sites.site import SiteError
from server.sites.specs import make_site

SPARE = 100
"""Descriptors that are kept for everything but connections."""

LIMITS: Final = {
    "max_head": "bytes of a request line with its headers; more gets 431",
    "max_body": "bytes of a request body; more gets 413",
    "max_requests": "requests on one connection; 0 for any number",
    "max_connections": "connections at once; more are closed unanswered",
    "idle_s": "from one request to the next, and for the first with its handshake",
    "head_s": "from the first byte of a request to the end of its headers",
    "body_s": "from there to the end of its body",
    "write_s": "until a client has taken 64 KiB of an answer",
    "linger_s": "until a client closes its end, after the last answer",
    "grace_s": "for everything in flight, after a signal",
}
"""What each limit is, for people."""

EPILOG = """\
servers (all serve the same; a comparison shows what one thing costs)
{servers}

limits (NAME=NUMBER, in bytes or seconds; RFC 9112 leaves them to the server)
{limits}

sites: as for python -m server, whose --help explains them; faults: sites are its own.
A GET gets a page, a POST the size and the CRC-32 of its body.

examples
  python -m server models threads --listen 127.0.0.1:8080
  python -m server models async_await --site list:1000:4096 --tls ecdsa --cafile ca.pem
  python -m server models async_await_pool --site list:100:2048 --work 10:10
  python -m server models callbacks --limit idle_s=5 --limit max_requests=100
  wrk -c 100 -d 5 http://127.0.0.1:8080/        ask it as fast as it can answer

Ctrl-C or SIGTERM: it accepts nothing more, answers what is in flight, says what it has served,
and ends. A second signal ends it at once.
Exit codes: 0 stopped on request, 1 cannot serve, 2 bad usage.
"""


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    wide = max(map(len, SERVERS))
    servers = "\n".join(f"  {name:<{wide}}  {server.summary}" for name, server in SERVERS.items())
    limits = "\n".join(
        f"  {name:<16} {says} ({default})"
        for (name, says), default in zip(LIMITS.items(), asdict(Limits()).values(), strict=True)
    )
    parser = Parser(
        prog="python -m server models",
        description="Serve a site with one concurrency model, as a server of its own.",
        epilog=EPILOG.format(servers=servers, limits=limits),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("name", metavar="NAME", choices=SERVERS, help="which server, see below")
    add_serving(parser)
    add(
        "--limit",
        type=parse_limit,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="change a limit, see below; may be repeated",
    )
    add(
        "--work",
        metavar="EVERY:MS",
        help="one page in EVERY of a list site needs MS ms of the processor before its answer",
    )
    add("--json", action="store_true", help="print two lines of JSON: when ready, and at the end")
    add_tls(parser)
    return parser


def parse_limit(text: str) -> tuple[str, float]:
    """The name of a limit, and its value."""
    name, _, amount = text.partition("=")
    if name not in LIMITS:
        raise argparse.ArgumentTypeError(f"{text}: write NAME=NUMBER, one of {', '.join(LIMITS)}")
    kind = type(getattr(Limits(), name))
    try:
        value = kind(amount) if amount.isascii() else -1
    except ValueError:
        value = -1
    if not 0 <= value <= 1e9 or (value == 0 and name != "max_requests"):
        what = "a whole number" if kind is int else "a number"
        raise argparse.ArgumentTypeError(f"{text}: {what} above 0 and up to 1,000,000,000")
    return name, value


def models(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit status."""
    program = "python -m server models"
    return guarded(program, lambda: run(build_parser().parse_args(arguments)))


def run(options: argparse.Namespace) -> None:
    """Check the options, make the site and serve it."""
    server = SERVERS[options.name]
    raise_descriptor_limit()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE
    for name, _ in options.limit:
        if server.limits and name not in server.limits:
            raise SiteError(f"{server.name} has no {name}, only {', '.join(server.limits)}")
    limits = replace(Limits(), **dict(options.limit))
    limits = replace(limits, max_connections=max(1, min(limits.max_connections, most)))
    family, host, port = parse_address(options.listen, "--listen", options.any_address)
    wanted = wanted_tls(options)
    if wanted is not None and not server.tls:
        raise TlsError(f"{server.name} speaks no TLS: {server.summary}")
    if options.site.startswith("faults"):
        raise SiteError(f"{options.site}: a site of faults is for python -m server")
    serve = server.load()
    with contextlib.ExitStack() as stack:
        try:
            listening = stack.enter_context(contextlib.closing(bind(family, host, port)))
            listening.listen(BACKLOG)
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise OSError(f"--listen {options.listen}: {reason}; port 0 takes a free one") from None
        authority = None if is_wildcard(host) else name_of(listening)
        tls = wanted and stack.enter_context(prepared(wanted, host if authority else None))
        scheme = "http" if tls is None else "https"
        site = make_site(options.site, options.seed, authority, None, scheme)
        stack.callback(site.close)
        hello = {
            "listening": name_of(listening),
            "model": server.name,
            "family": server.family,
            **site.facts(),
            "seed": options.seed,
            "limits": asdict(limits),
            "pid": os.getpid(),
            "python": platform.python_version(),
            "scheme": scheme,
            "versions": {library: version(library) for library in server.needs.split()},
            "tls": tls and asdict(tls.facts),
        }

        def ready() -> None:
            hello["pid"] = os.getpid()  # gunicorn serves in another process
            text = f"{server.name} serves {site.spec} at {scheme}://{hello['listening']}/"
            trust = f"\n  clients trust it with: --cafile {tls.facts.cafile}" if tls else ""
            say(json.dumps(hello) if options.json else f"{text}{trust}\n  press Ctrl-C to stop")

        context = tls.context if tls else None
        working = Working(site, options.work) if options.work else None
        service = Service(
            working or site, listening, limits, context, ready, options.exit_with_parent
        )
        gc.collect()
        gc.freeze()  # the site lives as long as the server: leave it out of every collection
        serve(service)
        served = asdict(service.tally) | {"worked": working.worked if working else 0}
        seen = ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in served.items() if value
        )
        say(json.dumps({"served": served}) if options.json else f"served: {seen or 'nothing'}")
