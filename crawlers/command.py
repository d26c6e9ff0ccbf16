"""The command line: ``python -m crawlers BACKEND URL``.

``python -m crawlers conformance NAME`` tests a backend, yours or ours; ``all``
tests every backend that loads on this interpreter. ``python -m crawlers chapter``
is :mod:`crawlers.steps`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory

from rich.console import Console

from crawlers import heap, registry
from crawlers.job import LONGEST_S, MAX_PAGES, CrawlReport, Job, JobError
from crawlers.limits import ensure_descriptors
from crawlers.origins import normal_root
from crawlers.progress import LiveRecorder, watched
from crawlers.summary import (
    as_json,
    print_summary,
    print_urls,
    url_line,
    why_not_fetched,
)
from crawlers.terminal import (
    OutputError,
    Parser,
    between,
    complain,
    forget_impossible_size,
    open_closed_streams,
    printable,
    whole,
    writing,
)

EPILOG = """\
examples:
  python -m crawlers threads http://127.0.0.1:8000/
  python -m crawlers async_await http://127.0.0.1:8000/ --concurrency 200 --urls
  python -m crawlers callbacks 127.0.0.1:8000 --exclude '\\.pdf$' --json
  python -m crawlers --list
  python -m crawlers conformance threads      test a backend with the conformance suite
  python -m crawlers conformance all -x       test all that run here; options go to pytest
  python -m crawlers chapter                  the steps that lead to the four models

The crawl stays on the hosts of the start URLs and fetches every page once. It
also stays on this machine, unless you add --any-host. On other machines it obeys
robots.txt and leaves --delay seconds between requests to one server.

Exit codes: 0 the crawl finished, 1 a start URL could not be fetched, memory ran
out, or the output could not be written, 2 bad usage, 130 interrupted (the report
shows the crawl up to then).
"""
SUITE = """\
usage: python -m crawlers conformance NAME ... [OPTION ...]

Test a backend with the conformance suite: yours, one of ours, or all that run here.

  python -m crawlers conformance threads                       half a minute
  python -m crawlers conformance all -x                        all, up to the first failure
  python -m crawlers conformance mypackage:new_event_loop      async_await on your own loop
  python -m crawlers conformance threads -k redirect           only tests with this in their name

NAME is from python -m crawlers --list, PACKAGE:FACTORY for a loop, or all. Options go to pytest.
docs/adding-a-backend.md says what is tested.

Exit codes: 0 all passed, 1 some failed, 2 bad usage or interrupted; others are pytest's.
"""

DEFAULTS = Job(("http://127.0.0.1/",))
ALL = "all"
OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    open_closed_streams()
    forget_impossible_size()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # its encoding may lack some characters
    try:
        if given[:1] == ["conformance"]:
            return conformance(given[1:])
        if given[:1] == ["chapter"]:
            from crawlers import steps

            with writing():
                return steps.main(given[1:])
        options = make_parser().parse_intermixed_args(given)  # a URL may come after an option
        if options.list:
            return list_backends(as_object=options.json)
        return run(options)
    except (JobError, registry.BackendError) as error:
        complain(str(error))
        return USAGE
    except MemoryError:
        complain("out of memory: lower --concurrency or raise ulimit -v")
        return FAILED
    except ChildProcessError as error:
        complain(str(error))
        return FAILED
    except OutputError as error:
        complain(f"cannot write the output: {error}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def seconds(least: float) -> Callable[[str], float]:
    """An argument type: a time in seconds that is not below ``least``."""
    return between(least, LONGEST_S, float)


def make_parser() -> argparse.ArgumentParser:
    """The options; their defaults are those of :class:`Job`."""
    parser = Parser(
        prog="python -m crawlers",
        description="Crawl a site with one of several interchangeable backends.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backend", nargs="?", metavar="BACKEND", help="a name from --list")
    parser.add_argument(
        "urls", nargs="*", metavar="URL", help="where to start; you can give several"
    )
    parser.add_argument("--list", action="store_true", help="list the backends and exit")
    crawl = parser.add_argument_group("what to crawl")
    crawl.add_argument("--exclude", metavar="REGEX", help="skip URLs that match")
    hosts = crawl.add_mutually_exclusive_group()
    hosts.add_argument(
        "--strict", action="store_true", help="follow only the start hosts (default)"
    )
    hosts.add_argument(
        "--lenient",
        action="store_true",
        help="also follow hosts with the same last two labels, such as www.",
    )
    crawl.add_argument("--any-host", action="store_true", help="crawl other machines too, politely")
    how = parser.add_argument_group("how")

    def number(flags: str, field: str, kind: Callable[[str], float], unit: str, text: str) -> None:
        usual = getattr(DEFAULTS, field)
        how.add_argument(
            *flags.split(), dest=field, type=kind, default=usual, metavar=unit, help=text
        )

    default = "(default %(default)s)"
    at_once = f"number of slots: connections open at the same time {default}"
    most = f"fetch at most N URLs (default {MAX_PAGES:,} with --any-host, otherwise no limit)"
    deep = "follow links at most N pages deep; 0 fetches the start URLs only"
    apart = (
        "seconds between requests to one server on another machine, or the delay in its "
        f"robots.txt if that is longer {default}"
    )
    number("-c --concurrency", "slots", whole(1), "N", at_once)
    number("--max-tries", "max_tries", whole(1), "N", f"tries per URL {default}")
    number("--max-redirects", "max_redirects", whole(0), "N", f"redirects per URL {default}")
    number("--max-pages", "max_pages", whole(1), "N", most)
    number("--max-depth", "max_depth", whole(0), "N", deep)
    number("--timeout", "timeout_s", seconds(0.001), "S", f"seconds per exchange {default}")
    number("--deadline", "deadline_s", seconds(0.001), "S", "stop the whole crawl after S seconds")
    number("--delay", "delay_s", seconds(0.0), "S", apart)
    how.add_argument(
        "--connection",
        choices=("keep-alive", "close"),
        default="keep-alive",
        help="reuse connections, or open one per request (default keep-alive)",
    )
    trust = parser.add_argument_group("whom to trust, for https").add_mutually_exclusive_group()
    trust.add_argument(
        "--cafile",
        metavar="FILE",
        help="trust the authorities in this PEM file, not those of the system",
    )
    trust.add_argument(
        "--insecure", action="store_true", help="trust any certificate, and say so on every run"
    )
    output = parser.add_argument_group("what to print")
    output.add_argument("--json", action="store_true", help="one JSON object on standard output")
    output.add_argument("--urls", dest="url_report", action="store_true", help="one line per URL")
    output.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="print each URL when it is fetched, and those that failed again at the end",
    )
    output.add_argument("-q", "--quiet", action="store_true", help="print only errors")
    return parser


def run(options: argparse.Namespace) -> int:
    """Crawl, print the report, and return the exit status."""
    if options.backend is None or not options.urls:
        complain(
            "name a backend and a URL, as in: python -m crawlers threads http://127.0.0.1:8000"
        )
        return USAGE
    backend = registry.load(options.backend)
    # The other options that are named as fields of a job are meant as they are.
    chosen = {name: value for name, value in vars(options).items() if name in Job.__slots__}
    chosen["urls"] = tuple(dict.fromkeys(map(normal_root, options.urls)))
    job = Job(**chosen, keep_alive=options.connection == "keep-alive")
    if job.insecure:
        complain("--insecure: no certificate is checked; anybody on the way can change the pages")
    ensure_descriptors(job.slots)
    heap.settle()
    watching = options.verbose and not (options.json or options.quiet)
    live = sys.stderr is not None and sys.stderr.isatty() and not (options.quiet or watching)
    with (
        LiveRecorder(f"crawling with {backend.name}", enabled=live) as recorder,
        watched(lambda url, page: print(url_line(url, page), flush=True), enabled=watching),
    ):
        report = backend.crawl(job, recorder)
    with writing():
        show(report, options, job.urls)
    failed = False
    for url in job.urls:
        why = why_not_fetched(report, url)
        if why is not None:
            complain(f"{url}: {why}")
            failed = True
    if report.stopped == "interrupted":
        return INTERRUPTED
    return FAILED if failed else OK


def show(report: CrawlReport, options: argparse.Namespace, roots: Sequence[str]) -> None:
    """Print the report in the chosen form."""
    if options.json:
        print(json.dumps(as_json(report, urls=options.url_report, roots=roots)))
        return
    if options.quiet:
        return
    console = Output()
    if options.url_report or options.verbose:
        print_urls(report, console, failed_only=not options.url_report)
    print_summary(report, console, roots)


def list_backends(*, as_object: bool) -> int:
    """Print the name of each backend with a line about it."""
    summaries = {name: registry.about(name).summary for name in registry.names()}
    width = max(map(len, summaries))
    with writing():
        if as_object:
            print(json.dumps(summaries))
        else:
            for name, summary in summaries.items():
                print(printable(f"{name:<{width}}  {summary}"))
    return OK


def conformance(arguments: Sequence[str]) -> int:
    """Run the conformance suite on the backends named first; the rest goes to pytest."""
    names = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    options = arguments[len(names) :]
    if not names and set(options) & {"-h", "--help"}:
        with writing():
            print(SUITE, end="")
        return OK
    # Without names the suite tests every backend and skips those that cannot run here.
    chosen = [] if names == [ALL] else [f"--backend={name}" for name in names]
    if not names:
        complain(f"conformance needs the name of a backend from --list, a loop, or {ALL}")
        return USAGE
    for name in names if names != [ALL] else ():
        try:  # a misspelt one would fail in every test
            if registry.LOOP in name:
                resolve_name(name)
            else:
                registry.about(name)
        except registry.UnknownError as error:
            complain(f"{error}, or test {ALL}")
            return USAGE
        except (ImportError, AttributeError, ValueError) as error:
            complain(f"loop {name}: {type(error).__name__}: {error}")
            return USAGE
    if find_spec("pytest") is None:
        complain("the conformance suite needs pytest: pip install pytest pytest-timeout")
        return USAGE
    # By its path, so that pytest knows the suite's own --backend in time.
    suite = str(Path(__file__).with_name("conformance"))
    command = [sys.executable, "-P", "-m", "pytest", "-rs", "-p", "no:cacheprovider", suite]
    path = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    if any(registry.LOOP in name for name in names):
        path.append(str(Path.cwd()))  # a loop may lie there
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    # pytest's usual folder is shared: runs side by side that tidy it up fail one another.
    with TemporaryDirectory(prefix="conformance-") as folder:
        own = f"--basetemp={folder}/pytest"
        try:
            done = subprocess.run([*command, own, *chosen, *options], check=False, env=environment)
        except BlockingIOError:
            raise ChildProcessError("pytest did not start: raise ulimit -u or pids.max") from None
        return done.returncode


class Output(Console):
    """A console that leaves a closed pipe to :func:`writing`."""

    def on_broken_pipe(self) -> None:
        """Raise the error again; rich would exit with status 1."""
        raise BrokenPipeError
