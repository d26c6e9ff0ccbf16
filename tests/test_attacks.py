"""Command lines that broke something, or are of that kind: exit code 1 or 2 and one line."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main as bench_main
from bench.launch import ROOT
from bench.text import CONTROL
from crawlers.command import main as crawlers_main
from crawlers.conformance.scripted import ScriptedServer, page
from tests.bench.synthetic import campaign

LONGEST = 1500
"""Characters of a message, besides those of the arguments."""

NUMBERS = ("", "٣x", "1\x01", "9" * 5000, "\x1b[2J")
GO = ("threads", "URL")
CRAWLERS: list[tuple[str, ...]] = [
    *((*GO, "-c", text) for text in NUMBERS),
    *((), ("", "URL"), ("a\nb\n", "URL"), ("\x1b[2J", "URL"), ("../threads", "URL")),
    *(("x" * 100_000, "URL"), ("threads", "http://\udcff/"), (*GO, "--\u202e")),
    *((*GO, "--exclude", pattern) for pattern in ("x{99999999999}", "(" * 10_000)),
    *(("conformance", "a\nb"), (*GO, "-c", "999999999")),
]
BENCH: list[tuple[str, ...]] = [
    *((command, path) for command in ("check", "export", "cite")
      for path in ("AT/fifo", "AT/loop", "AT/empty", "AT/binary")),
    *((), ("check", "AT/good", "--\x1b[2J\n"), ("\x1b[2J",), ("run\nx",), ("check", "")),
    *(("check", path) for path in ("\udcff", "AT/sparse", "/dev/zero")),
    *(("export", "AT/good", "--out", path) for path in ("AT/empty", "/proc/x")),
    *(("run", "--profile", "\x1b[2J"), ("list", "--profile", "")),
    *(("run", "--profile", "smoke", *more)
      for more in (("--only", "[b]x"), ("--backends", "a\nb"))),
    *(("run", "--blocks", text) for text in NUMBERS),
    *(("run", "--resume", "AT/binary"), ("interpreters", "AT/binary")),
]  # fmt: skip


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with odd files in it, and a good campaign."""
    folder = tmp_path_factory.mktemp("attacks")
    for name in ("good", "empty", "sparse"):
        (folder / name).mkdir()
    lines = [one.model_dump_json() for one in campaign(samples=10, workloads=["throughput"])]
    (folder / "good" / store.FILE_NAME).write_text("\n".join(lines) + "\n")
    (folder / "binary").write_bytes(bytes(range(256)) * 10)
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "fifo")
    with open(folder / "sparse" / store.FILE_NAME, "wb") as sparse:
        sparse.truncate(1 << 40)
    return folder


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
    at: Path,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    filled = [url if word == "URL" else word.replace("AT/", f"{at}/", 1) for word in arguments]
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
