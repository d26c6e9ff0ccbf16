"""Crawl a site now: ``python -m crawlers BACKEND URL``.

``python -m crawlers conformance NAME`` tries a backend, yours or ours; ``all``, every one that
loads on this interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from crawlers import registry
from crawlers.job import CrawlReport, Job, JobError
from crawlers.limits import ensure_descriptors
from crawlers.origins import normal_root
from crawlers.progress import LiveRecorder
from crawlers.summary import as_json, print_summary, print_urls, why_not_fetched

EPILOG = """\
examples:
  python -m crawlers threads http://127.0.0.1:8000/
  python -m crawlers async_await http://127.0.0.1:8000/ --concurrency 200 --urls
  python -m crawlers callbacks 127.0.0.1:8000 --exclude '\\.pdf$' --json
  python -m crawlers --list
  python -m crawlers conformance threads      hold a backend to the conformance suite
  python -m crawlers conformance all -x       every backend that runs here; options are pytest's

Only the hosts of the start URLs are crawled, and every page is fetched once.
Only this machine is, too, unless --any-host is given; beyond it robots.txt is
obeyed, and requests to one server start --delay seconds apart.

exit status: 0 the crawl finished; 1 a start URL could not be fetched, or the
memory was not enough; 2 bad usage; 130 interrupted (the report tells what was done until then)
"""

DEFAULTS = Job(("http://127.0.0.1/",))
ALL = "all"
OK, ROOT_FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["conformance"]:
        return conformance(given[1:])
    options = make_parser().parse_args(given)
    try:
        if options.list:
            return list_backends(as_object=options.json)
        return run(options)
    except (JobError, registry.BackendError) as error:
        complain(str(error))
        return USAGE
    except MemoryError:
        complain("out of memory: lower --concurrency, or raise ulimit -v")
        return ROOT_FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left. Python would complain again when
        # it flushes at exit, so give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Complain and leave."""
        complain(f"{message} (--help explains)")
        sys.exit(USAGE)


def at_least(least: float, kind: Callable[[str], float]) -> Callable[[str], float]:
    """An argument type: a number that is not below ``least``."""

    def number(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {text}")
        return value

    return number


def make_parser() -> argparse.ArgumentParser:
    """The command line's grammar; the defaults are those of :class:`Job`."""
    parser = Parser(
        prog="python -m crawlers",
        description="Crawl a site with one of several interchangeable backends.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backend", nargs="?", metavar="BACKEND", help="see --list")
    parser.add_argument("urls", nargs="*", metavar="URL", help="where to start; several are fine")
    parser.add_argument("--list", action="store_true", help="list the backends and stop")
    crawl = parser.add_argument_group("what to crawl")
    crawl.add_argument("--exclude", metavar="REGEX", help="skip URLs in which this is found")
    hosts = crawl.add_mutually_exclusive_group()
    hosts.add_argument(
        "--strict", action="store_true", help="follow exactly the start hosts (the default)"
    )
    hosts.add_argument(
        "--lenient",
        action="store_true",
        help="follow hosts that share the last two labels, such as www.",
    )
    crawl.add_argument("--any-host", action="store_true", help="crawl other machines too, politely")
    how = parser.add_argument_group("how")
    how.add_argument(
        "-c", "--concurrency", type=at_least(1, int), default=DEFAULTS.slots, metavar="N",
        help="slots: connections open at a time (default %(default)s)",
    )  # fmt: skip
    how.add_argument(
        "--max-tries",
        type=at_least(1, int),
        default=DEFAULTS.max_tries,
        metavar="N",
        help="tries per URL (default %(default)s)",
    )
    how.add_argument(
        "--max-redirects",
        type=at_least(0, int),
        default=DEFAULTS.max_redirects,
        metavar="N",
        help="hops per URL (default %(default)s)",
    )
    how.add_argument(
        "--timeout",
        type=at_least(0.001, float),
        default=DEFAULTS.timeout_s,
        metavar="S",
        help="seconds per exchange (default %(default)s)",
    )
    how.add_argument(
        "--deadline",
        type=at_least(0.001, float),
        metavar="S",
        help="stop the whole crawl after so many seconds",
    )
    how.add_argument(
        "--delay",
        type=at_least(0.0, float),
        default=DEFAULTS.delay_s,
        metavar="S",
        help="seconds between requests to one server beyond this machine, or what its "
        "robots.txt asks for if that is more (default %(default)s)",
    )
    how.add_argument(
        "--connection",
        choices=("keep-alive", "close"),
        default="keep-alive",
        help="reuse connections, or open one per request (default keep-alive)",
    )
    output = parser.add_argument_group("what to print")
    output.add_argument("--json", action="store_true", help="one JSON object on standard output")
    output.add_argument("--urls", dest="url_report", action="store_true", help="one line per URL")
    output.add_argument(
        "-v", "--verbose", action="count", default=0,
        help="list the URLs that failed; -vv lists all, as --urls does",
    )  # fmt: skip
    output.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    return parser


def run(options: argparse.Namespace) -> int:
    """Crawl, print, and say with the exit status how it went."""
    if options.backend is None or not options.urls:
        complain(
            "name a backend and a URL, as in: python -m crawlers threads http://127.0.0.1:8000"
        )
        return USAGE
    backend = registry.load(options.backend)
    job = Job(
        urls=tuple(dict.fromkeys(normal_root(url) for url in options.urls)),
        slots=options.concurrency,
        timeout_s=options.timeout,
        max_tries=options.max_tries,
        max_redirects=options.max_redirects,
        keep_alive=options.connection == "keep-alive",
        exclude=options.exclude,
        lenient=options.lenient,
        deadline_s=options.deadline,
        any_host=options.any_host,
        delay_s=options.delay,
    )
    ensure_descriptors(job.slots)
    live = sys.stderr.isatty() and not options.quiet
    with LiveRecorder(f"crawling with {backend.name}", enabled=live) as recorder:
        report = backend.crawl(job, recorder)
    show(report, options)
    failed = False
    for url in job.urls:
        why = why_not_fetched(report, url)
        if why is not None:
            complain(f"{url}: {why}")
            failed = True
    if report.stopped == "interrupted":
        return INTERRUPTED
    return ROOT_FAILED if failed else OK


def show(report: CrawlReport, options: argparse.Namespace) -> None:
    """Print the report in the form that was asked for."""
    every = options.url_report or options.verbose > 1
    if options.json:
        print(json.dumps(as_json(report, urls=every)))
        return
    if options.quiet:
        return
    console = Console()
    if every or options.verbose:
        print_urls(report, console, failed_only=not every)
    print_summary(report, console)


def list_backends(*, as_object: bool) -> int:
    """Print the backends' names with a line about each."""
    found = {name: registry.describe(name) for name in registry.names()}
    if as_object:
        print(json.dumps(found))
    else:
        width = max(map(len, found))
        for name, summary in found.items():
            print(f"{name:<{width}}  {summary}")
    return OK


def conformance(arguments: Sequence[str]) -> int:
    """Hold the backends named first to the conformance suite; what follows goes to pytest."""
    names = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    options = arguments[len(names) :]
    # Without names the suite tries every backend, and skips with the reason what cannot run here.
    chosen = [] if names == [ALL] else [f"--backend={name}" for name in names]
    known = registry.names()
    if names != [ALL] and not (names and set(names) <= set(known)):
        complain(f"conformance needs the name of a backend: {ALL}, {', '.join(known)}")
        return USAGE
    if find_spec("pytest") is None:
        complain("the conformance suite needs pytest: pip install pytest pytest-timeout")
        return USAGE
    # By its path, so that pytest reads the suite's own --backend in time.
    suite = str(Path(__file__).with_name("conformance"))
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", suite]
    return subprocess.run([*command, *chosen, *options], check=False).returncode


def complain(message: str) -> None:
    """One line on standard error."""
    print(f"crawlers: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
