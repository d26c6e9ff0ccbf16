"""The command line: options, their checks, and the steps up to a serving loop."""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from server.addresses import AddressError, bind, is_loopback, is_wildcard, name_of, parse_address
from server.certificates import KINDS, VERSIONS, Facts, TlsError, prepared
from server.delays import DelayError, parse_delay
from server.output import complain, one_line, say
from server.signals import interrupt, on_stop
from server.sites.site import SiteError
from server.sites.specs import make_site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEAST_DESCRIPTORS = 32
TOKEN = "C10K_CONTROL_TOKEN"  # nosec B105

EPILOG = """\
sites
  tree:PAGES:FANOUT:BYTES  a page graph made from the seed: redirects, dead links,
                           relative links, queries; all reachable from /
  list:N:BYTES:LINES       pages /p/0 to /p/N-1 without links (N up to 1,000,000), each with
                           LINES header lines of its own (default: none)
  dir:PATH                 a folder of real HTML
  faults:PAGES[:KIND,...]  a tree whose leaves break off, lie and flood: resets, stalls,
                           bad chunks, endless bodies ... (server/sites/fault_kinds.py
                           lists the kinds)

delays (of each answer; a path always gets the same one)
  none                     answer at once
  fixed:MS                 always MS milliseconds
  lognormal:MEDIAN_MS[:SIGMA]   like real servers (SIGMA is 0.5 if you leave it out)

examples
  python -m server --listen 127.0.0.1:8080
  python -m server --site tree:10000:10:4096 --delay lognormal:50 --json
  python -m server --site dir:/usr/share/doc/python3-doc/html
  python -m server --tls ecdsa --cafile ca.pem
  curl http://CONTROL/ledger?summary=1         which requests arrived
  curl -H 'X-Token: any' -d '{"n": 1000}' http://CONTROL/hold
                                               hold answers until 1000 are in flight

other servers
  python -m server models --help    the same sites, served by each concurrency model

If you set C10K_CONTROL_TOKEN, every call of the control plane needs it as X-Token.
If you do not, a POST needs that header with any value, so that no web page can send it.
Exit codes: 0 stopped on request, 1 cannot serve, 2 bad usage.
"""


class Parser(argparse.ArgumentParser):
    """Errors in one line."""

    def print_help(self, file: object = None) -> None:
        """Print the help; argparse ignores a full disk."""
        say(self.format_help().rstrip())

    def error(self, message: str) -> NoReturn:
        complain(f"{self.prog}: {one_line(message)} (--help explains)")
        self.exit(2)


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = Parser(
        prog="python -m server",
        description="Serve a site to crawlers under measurement, and record their requests.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_serving(parser)
    add = parser.add_argument
    add(
        "--control",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where the control plane listens (default: %(default)s)",
    )
    words = "wait before each answer, see below (default: none)"
    add("--delay", default="none", metavar="SPEC", help=words)
    add("--json", action="store_true", help="print one line of JSON when ready, nothing else")
    add(
        "--cache",
        default=None,
        metavar="FOLDER",
        help="remember the expected outcomes of dir: sites here, because finding them takes "
        "seconds (default: the user's cache folder; --cache '' for none)",
    )
    add_tls(parser)
    return parser


def whole(text: str) -> int:
    """A whole number in ASCII digits."""
    try:
        return int(text if text.isascii() else "")
    except ValueError:
        shown = text if len(text) < 20 else f"{text[:20]}..."
        raise argparse.ArgumentTypeError(f"not a whole number: {shown!r}") from None


def add_serving(parser: argparse.ArgumentParser) -> None:
    """The options of every server: where, what, how long."""
    add = parser.add_argument
    add(
        "--listen",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where to serve; port 0 takes a free one (default: %(default)s)",
    )
    add(
        "--site",
        default="tree:1000:5:2048",
        metavar="SPEC",
        help="what to serve, see below (default: %(default)s)",
    )
    words = "decides the pages and delays that are random (default: %(default)s)"
    add("--seed", type=whole, default=1, metavar="N", help=words)
    add("--exit-with-parent", action="store_true", help="stop when standard input ends")
    add("--any-address", action="store_true", help="allow addresses other machines can reach")


def add_tls(parser: argparse.ArgumentParser) -> None:
    """The options of HTTPS."""
    add = parser.add_argument_group("HTTPS").add_argument
    add(
        "--tls",
        choices=KINDS,
        help="serve over TLS, with a new certificate by a throw-away authority: a key on the "
        "curve P-256, or RSA 2048",
    )
    add(
        "--tls-version",
        choices=sorted(VERSIONS),
        help="what to speak; any is 1.2 and newer (default: any)",
    )
    add(
        "--no-tickets",
        action="store_true",
        help="give no session tickets. In TLS 1.2 a client may still resume a session by its ID",
    )
    add(
        "--cafile",
        metavar="FILE",
        help="where to write the authority's certificate, until the server ends (default: a "
        "name that the ready line tells)",
    )


def wanted_tls(options: argparse.Namespace) -> Facts | None:
    """What the options say about TLS, if anything. Raises :class:`TlsError`."""
    if options.tls is None:
        for option in ("--tls-version", "--no-tickets", "--cafile"):
            if getattr(options, option[2:].replace("-", "_")):
                raise TlsError(f"{option} needs --tls")
        return None
    version, tickets = options.tls_version or "any", not options.no_tickets
    return Facts(options.tls, version, tickets, options.cafile)


def default_cache() -> Path | None:
    """The user's cache folder for this program."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(root, "crawl-fixture") if os.path.isabs(root) else None


def raise_descriptor_limit() -> None:
    """Raise the limit as far as allowed, because each connection is a descriptor.

    Raises :class:`OSError` where it is too low to start: uvloop aborts there.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < LEAST_DESCRIPTORS:
        raise OSError(f"this process may open {hard} descriptors only: raise ulimit -Hn")
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def command(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return guarded("python -m server", lambda: run(build_parser().parse_args(arguments)))


def guarded(program: str, work: Callable[[], None]) -> int:
    """Do the work of a program; what it raises becomes one line and an exit status."""
    on_stop(interrupt)
    try:
        work()
    except (SiteError, DelayError, AddressError, TlsError) as error:
        complain(f"{program}: {one_line(str(error))} (--help explains)")
        return 2
    except (OSError, MemoryError) as error:
        complain(f"{program}: {one_line(str(error)) or 'out of memory'}")
        return 1
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        complain(f"{program}: {error}: raise ulimit -u or pids.max")
        return 1
    except KeyboardInterrupt:
        return 0  # stopped on request, before the server was ready
    finally:
        on_stop(signal.SIG_IGN)  # it ends anyway
    return 0


def run(options: argparse.Namespace) -> None:
    """Check the options, make the site and serve it."""
    delay = parse_delay(options.delay, options.seed)
    listen = parse_address(options.listen, "--listen", options.any_address)
    control = parse_address(options.control, "--control", options.any_address)
    wanted = wanted_tls(options)
    token = os.environ.get(TOKEN) or None
    if token is None and not is_loopback(control[1]):
        raise AddressError(
            f"--control {options.control}: other machines can reach that address; set {TOKEN} "
            "to keep them from controlling this server"
        )
    try:
        if wanted is not None:
            import trustme  # noqa: F401 - only to say early that it is missing
        import uvloop

        from server.serving import serve
    except ModuleNotFoundError as error:
        raise OSError(
            f"{error.name} is not installed: in the folder of a clone, "
            "python -m pip install '.[server]'"
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
        authority = None if is_wildcard(listen[1]) else name_of(sockets[0])
        name = listen[1] if authority else None
        tls = None if wanted is None else stack.enter_context(prepared(wanted, name))
        scheme = "http" if tls is None else "https"
        site = make_site(options.site, options.seed, authority, cache, scheme)
        stack.callback(site.close)
        serving = serve(
            site,
            *sockets,
            delay=delay,
            seed=options.seed,
            token=token,
            for_programs=options.json,
            exit_with_parent=options.exit_with_parent,
            tls=tls,
        )
        uvloop.run(serving)
