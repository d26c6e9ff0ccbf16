"""Wrong usage of every program is one line and exit code 2, whatever the arguments hold."""

from __future__ import annotations

import resource
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bench.__main__ import main as bench_main
from bench.cli import command
from bench.text import CONTROL
from crawlers.__main__ import main as crawlers_main
from server.__main__ import main as server_main
from tests.programs import inside, python
from tools import handovers, rebuild, sidebyside

MAINS = {"bench": bench_main, "crawlers": crawlers_main, "server": server_main}
TOOLS = {"handovers": handovers.main, "rebuild": rebuild.main, "sidebyside": sidebyside.main}
URL = "http://127.0.0.1/"
LONGEST = 1500
"""Characters of a message, besides those of the arguments."""

NO_URL = (
    "'' ' ' http:// // / http:/// :80 'a b' http://[::1 '\0' http: http:80 https:/127.0.0.1/ "
    "ftp://127.0.0.1/ javascript://127.0.0.1/ data:,x http://\ud800/ http://\udcff/"
)
NO_NUMBER = ("''", "٣x", "'1\x01'", "9" * 5000, "'\x1b[2J'")
NO_DELAY = "|slow|fixed|fixed:|fixed:x|fixed:1:2|fixed:９|none:1|lognormal:1:2:3"

CRAWLERS = [
    ("", "name a backend and a URL"),
    ("threads", "name a backend and a URL"),
    ("thread URL", "no backend named 'thread': did you mean threads? python"),
    ("gevent_patchd URL", "gevent_patchd': python -m crawlers"),
    ("xyz URL", "no backend named 'xyz': python -m crawlers --list"),
    ("json:loads URL", "loop json:loads: TypeError: "),
    ("builtins:dict URL", "it makes no event loop of asyncio, but a dict"),
    ("no_such:loop URL", "(is its folder on PYTHONPATH?)"),
    ("'' URL", ""),
    ("'a\nb\n' URL", ""),
    ("'\x1b[2J' URL", ""),
    ("../threads URL", ""),
    (f"{'x' * 100_000} URL", ""),
    *((f"threads {shlex.quote(url)}", "") for url in shlex.split(NO_URL)),
    (f"threads {'x' * 100_000}:1:1", ""),
    ("threads ftp://127.0.0.1/", "not an http:// or https:// URL"),
    ("threads https:80", "not a usable URL"),
    ("threads http://", "not a usable URL"),
    ("threads http://127.0.0.1:99999/", "not a usable URL"),
    ("threads '\x1b[31mred'", "not a usable URL"),
    ("threads http://192.0.2.1/", "not on this machine; add --any-host"),
    ("threads https://127.0.0.1/ --cafile /none", "/none: No such file"),
    (f"threads https://127.0.0.1/ --cafile {__file__}", "not a file of PEM certificates"),
    ("threads URL --concurrency 0", "must be at least 1"),
    *((f"threads URL -c {text}", "not a number") for text in NO_NUMBER),
    ("threads URL -c 99999999", "raise the limit"),
    ("threads URL -c 999999999", ""),
    ("callbacks_select URL -c 1024", "select cannot wait"),
    ("threads URL --timeout 0", "must be at least"),
    ("threads URL --timeout 1e300", "must be at most 1000000"),
    ("threads URL --delay 1e300", "must be at most 1000000"),
    ("threads URL --deadline nan", "must be at most 1000000, not nan"),
    ("threads URL --deadline 0", "must be at least 0.001, not 0"),
    (f"threads URL --max-tries {'9' * 400}", "must be at most"),
    ("threads URL --exclude '('", "not a regular expression"),
    ("threads URL --exclude 'x{99999999999}'", ""),
    (f"threads URL --exclude '{'(' * 10_000}'", ""),
    ("threads URL --nonsense", "--nonsense"),
    ("threads URL --\u202e", ""),
    ("conformance 'a\nb'", ""),
    ("conformance", "needs the name of a backend"),
    ("conformance asyncio:nope", "crawlers: loop asyncio:nope: AttributeError: "),
    ("conformance thread", "did you mean threads? "),
    ("chapter --svg x", "--svg goes with --trace"),
    ("chapter --trace 0", "argument --trace: must be at least 1, not 0"),
    ("chapter 3 ''", "not a usable URL"),
    ("chapter --trace 'a\nb'", "argument --trace: not a number: 'a\\nb'"),
]
SERVER = [
    ("--listen 0.0.0.0:65535", "--any-address"),
    ("--control 0.0.0.0:0", "--any-address"),
    ("--listen [::]:0", "--any-address"),
    ("--control 0.0.0.0:0 --any-address", "set C10K_CONTROL_TOKEN"),
    ("--listen 127.0.0.1", "write HOST:PORT"),
    ("--listen 127.0.0.1:x", "write HOST:PORT"),
    ("--listen 127.0.0.1:65536", "from 0 to 65535"),
    ("--listen no-such-host.invalid:0", "no host named no-such-host.invalid"),
    (f"--listen 127.0.0.1:{'9' * 5000}", "from 0 to 65535"),
    (f"--site tree:{'9' * 5000}", "whole numbers"),
    ("--site tree:200:50:2048", "smaller fanout"),
    ("--site tree:0:5:2048", "PAGES must be from 1"),
    ("--site tree:5:0:2048", "FANOUT must be from 1"),
    ("--site tree:1:2:3:4", "of the form tree:PAGES:FANOUT:BYTES"),
    ("--site tree:1000000:5:67108864", "do not fit"),
    ("--site list:2000000:10", "N must be from 1 to 1000000"),
    (f"--site faults:{'9' * 5000}", "write faults:PAGES"),
    ("--site faults:0", "write faults:PAGES"),
    ("--site faults:5:no", "no fault named 'no'"),
    ("--site dir:/nonexistent/folder", "no such directory"),
    ("--site dir:/dev", "no index.html"),
    ("--site dir:", "not a site"),
    ("--site ''", "not a site"),
    *((f"--delay '{spec}'", "not a delay") for spec in NO_DELAY.split("|")),
    *((f"--delay fixed:{ms}", "from 0 ms") for ms in ("-1", "nan", "inf", "99999999")),
    ("--delay lognormal:50:9", "sigma must be at most 5"),
    ("--seed x", "not a whole number: 'x'"),
    ("--frobnicate", "unrecognized arguments"),
    ("--tls dsa", "invalid choice"),
    ("--tls-version 1.3", "--tls-version needs --tls"),
    ("--no-tickets", "--no-tickets needs --tls"),
    ("--cafile x", "--cafile needs --tls"),
    ("--tls rsa --tls-version 1.1", "invalid choice"),
    ("--tls ecdsa --cafile /no/x", "--cafile /no/x: no such file"),
    ("--tls ecdsa --cafile /dev/null", "something else is there"),
    ("models forks", "choose from"),
    ("models", "NAME"),
    ("models threads --listen 0.0.0.0:0", "--any-address"),
    ("models threads --limit idle=3", "one of max_head"),
    ("models threads --limit idle_s=never", "a number above 0"),
    ("models threads --limit max_head=1.5", "a whole number above 0"),
    ("models threads --site faults:10", "is for python -m server"),
    ("models threads --work 10:10", "serve a list site"),
    ("models threads --site list:9:9 --work 0:1", "write EVERY:MS"),
    ("models bare --tls ecdsa", "speaks no TLS"),
    ("models waitress --limit head_s=3", "has no head_s, only max_head"),
]
BENCH = [
    ("", ""),
    ("'\x1b[2J'", ""),
    ("'run\nx'", ""),
    ("frobnicate", ""),
    ("cite ''", ""),
    ("cite \udcff", ""),
    ("cite /dev/zero", ""),
    ("cite nowhere", "nowhere"),
    ("report nowhere", "nowhere"),
    ("report results/headlines", "it holds campaigns, so name one, such as results/headlines/2"),
    ("report --records results/reference", "--records goes with --check"),
    ("report results/reference --out /proc/no", "/proc/no: No such file or directory; choose an"),
    ("run --dry-run --profile smoke --base nobody", "--base nobody: not among threads, "),
    ("export nowhere", "nowhere"),
    ("compare nowhere nowhere", "nowhere"),
    ("list --profile huge", "huge"),
    ("list --profile ''", ""),
    ("run --profile huge", "huge"),
    ("run --backends nonesuch", "nonesuch"),
    ("run --profile smoke --backends 'a\nb'", ""),
    ("run --only nonesuch", "nonesuch"),
    ("run --only ,", ""),
    ("run --profile smoke --only '[b]x'", ""),
    ("run --resume nowhere", "nowhere"),
    *((f"run --blocks {text}", "must be a whole number above 0") for text in ("0", "-1", "x", "٣")),
    *((f"run --blocks {text}", "at most 10,000") for text in ("9" * 19, "10001", *NO_NUMBER)),
    ("study tasks --repeats 9999999999999999999", ""),
    ("study claims --repeats 9999999999999999999", ""),
    ("study tasks --redraw --out /none", "no record; measure one with python -m bench study tasks"),
    ("advise --delay 200", "200ms"),
    ("doctor --connections x", ""),
    ("doctor --threads -1", ""),
]
WRONG = [
    *(("crawlers", *row) for row in CRAWLERS),
    *(("server", *row) for row in SERVER),
    *(("bench", *row) for row in BENCH),
]


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The programs handle signals and raise a limit, here in the process of the tests."""
    monkeypatch.delenv("C10K_CONTROL_TOKEN", raising=False)
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)


@pytest.mark.parametrize(
    ("program", "typed", "words"),
    WRONG,
    ids=[f"{program} {typed!a:.50}" for program, typed, _ in WRONG],
)
def test_wrong_usage_is_one_line(
    program: str, typed: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """argparse may say how a command of ``bench`` is used, before it."""
    asked: list[str] = []
    usual = socket.getaddrinfo

    def looked_up(host: str, *more: Any, **settings: Any) -> object:
        asked.append(host)
        return usual(host, *more, **settings)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    arguments = [URL if word == "URL" else word for word in shlex.split(typed)]
    done = inside(MAINS[program], *arguments)
    errors = done.stderr
    assert (done.returncode, done.stdout) == (2, "")
    lines = errors.splitlines()
    if program == "bench":
        lines = [line for line in lines if not line.startswith(("usage:", " "))]
    assert len(lines) == 1, errors
    assert words in lines[0]
    assert program == "bench" or lines[0].isprintable()
    assert not CONTROL.search(errors)
    assert len(errors) <= LONGEST + len(typed)
    assert program != "crawlers" or set(asked) <= {"127.0.0.1", "192.0.2.1"}, "a scheme is no host"


@pytest.mark.parametrize(
    ("name", "typed", "words"),
    [
        ("handovers", "0", "must be a whole number above 0"),
        ("handovers", "many", "must be a whole number above 0"),
        *((name, "--help", "Exit codes: 0 done, ") for name in TOOLS),
        ("rebuild", "headlins", "no part headlins: choose from headlines, "),
        ("sidebyside", "--html /proc/no/x", "/proc/no: No such file or directory; choose another"),
    ],
)
def test_a_tool_answers_in_one_line_or_with_help(
    name: str, typed: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a traceback."""
    monkeypatch.setattr(sys, "argv", [name, *typed.split()])
    done = inside(lambda _: command.in_one_line(TOOLS[name], f"python -m tools.{name}"))
    helped = typed == "--help"
    assert done.returncode == (0 if helped else 2)
    assert words in (done.stdout if helped else done.stderr.splitlines()[-1])
    assert f"python -m tools.{name}" in done.stdout.splitlines()[0] if helped else not done.stdout


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [("aiohttp", "SSLKEYLOGFILE", "/nonexistent/x"), ("gevent", "GEVENT_LOOP", "nonsense")],
)
def test_a_hostile_environment_is_one_line(name: str, variable: str, value: str) -> None:
    """What a library raises when it is imported was a traceback."""
    done = python("-m", "crawlers", name, "http://127.0.0.1:1/", env={variable: value})
    assert done.returncode in (0, 1, 2)
    assert done.stderr.count("\n") <= 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("typed", ["", "models uvloop"])
def test_too_few_descriptors_are_one_line(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """uvloop aborted."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (7, 7))
    done = inside(server_main, *typed.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "may open 7 descriptors only: raise ulimit -Hn" in done.stderr


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for option in ("--listen", "--control"):
            place = f"127.0.0.1:{taken.getsockname()[1]}"
            done = inside(server_main, option, place)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
            assert f"{option} {place}: address already in use; port 0" in done.stderr
