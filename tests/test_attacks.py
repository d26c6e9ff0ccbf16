"""Command lines that broke something, or are of that kind: exit code 1 or 2 and one line."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from bench.__main__ import main as bench_main
from bench.launch import ROOT
from bench.text import CONTROL
from crawlers.command import main as crawlers_main
from crawlers.conformance.scripted import ScriptedServer, page

LONGEST = 1500
"""Characters of a message, besides those of the arguments."""

NUMBERS = ("", "٣x", "1\x01", "9" * 5000, "\x1b[2J")
GO = ("threads", "URL")
CRAWLERS: list[tuple[str, ...]] = [
    *((*GO, "-c", text) for text in NUMBERS),
    (),
    ("", "URL"),
    ("a\nb\n", "URL"),
    ("\x1b[2J", "URL"),
    ("../threads", "URL"),
    ("x" * 100_000, "URL"),
    ("threads", "http://\udcff/"),
    (*GO, "--\u202e"),
    *((*GO, "--exclude", pattern) for pattern in ("x{99999999999}", "(" * 10_000)),
    ("conformance", "a\nb"),
    (*GO, "-c", "999999999"),
]
BENCH: list[tuple[str, ...]] = [
    (),
    ("\x1b[2J",),
    ("run\nx",),
    ("cite", ""),
    ("cite", "\udcff"),
    ("cite", "/dev/zero"),
    ("run", "--profile", "\x1b[2J"),
    ("list", "--profile", ""),
    *(
        ("run", "--profile", "smoke", *more)
        for more in (("--only", "[b]x"), ("--backends", "a\nb"))
    ),
    *(("run", "--blocks", text) for text in NUMBERS),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A good site."""
    with ScriptedServer() as server:
        server.script["/"] = page()
        yield server.url


@pytest.fixture(autouse=True)
def limits_again() -> Iterator[None]:
    """Programs raise the limit of descriptors, and here they are no processes of their own."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        *(pytest.param(crawlers_main, each, id=f"crawlers {each!r:.40}") for each in CRAWLERS),
        *(pytest.param(bench_main, each, id=f"bench {each!r:.40}") for each in BENCH),
    ],
)
def test_a_hostile_command_line_is_one_line(
    main: Callable[[list[str]], int],
    arguments: tuple[str, ...],
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    filled = [url if word == "URL" else word for word in arguments]
    try:
        code = main(filled)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    said = errors.getvalue()
    assert code in (1, 2)
    lines = [line for line in said.splitlines() if not line.startswith(("usage:", " "))]
    assert len(lines) == 1, said
    assert not CONTROL.search(said)
    assert len(said) <= LONGEST + sum(map(len, filled))


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [("aiohttp", "SSLKEYLOGFILE", "/nonexistent/x"), ("gevent", "GEVENT_LOOP", "nonsense")],
)
def test_a_hostile_environment_is_one_line(name: str, variable: str, value: str, url: str) -> None:
    """What a library raises when it is imported was a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "crawlers", name, url],
        cwd=ROOT,
        env=os.environ | {variable: value},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1, 2)
    assert done.stderr.count("\n") <= 1
    assert "Traceback" not in done.stderr
