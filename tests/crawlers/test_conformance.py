"""The conformance suite on every backend and release, and what it says of one that fails."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from unittest.mock import Mock

import pytest

from bench.launch import ROOT
from bench.machine import interpreters
from crawlers import registry
from crawlers.command import main
from crawlers.conformance.conftest import GIVE_UP, Resources
from crawlers.registry import MODELS
from tests.crawlers.backends import IN_CHILDREN
from tests.programs import Done, python

WHOLE = (
    *MODELS,
    "uvloop",
    "trio",
    "aiohttp",
    "gevent",
    "tornado",
    "urllib3",
    "httpx",
    "aiofastnet",
)
"""The models, and one of each library that does TLS in its own way. All that a suite does is
repeated over TLS for these; the other backends repeat over TLS what is quick, and the tests of
TLS itself, as these do."""

OTHERS = (*IN_CHILDREN, *(name for name in registry.names() if name not in (*WHOLE, *IN_CHILDREN)))
"""First those that start an interpreter for each crawl: they are dealt to different suites."""

WITHOUT_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
ALONE = ("-p", "pytest_timeout")
"""Loading the other plugins that are installed takes a third of a suite's processor time."""


@pytest.mark.quick
def test_the_models_conform() -> None:
    """What neither is slow nor waits; the whole is run with the slow tests."""
    conformance(suites(MODELS, 4, "-m", "not slow", "-k", "not while_a_slot and not a_slot_that"))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_all_conform() -> None:
    """As a third party runs it, all at once: a suite waits for nine tenths of its time.

    Set ``CONFORMANCE_TLS=all`` to repeat everything over TLS for the others too.
    """
    cpus = os.cpu_count() or 1
    more = () if os.environ.get("CONFORMANCE_TLS") == "all" else ("-m", "not slow")
    conformance(suites(WHOLE, 2 * cpus) + suites(OTHERS, 4 * cpus, *more))


def suites(names: Iterable[str], count: int, *options: str) -> list[list[str]]:
    """The arguments of so many suites, with some of the backends that can run here in each."""
    able = [name for name in names if registry.about(name).alone or can_run(name)]
    return [[*able[first::count], *options] for first in range(min(count, len(able)))]


def can_run(name: str) -> bool:
    """Whether a backend can be loaded here; its own tests say why not."""
    with suppress(registry.BackendError):
        return bool(registry.load(name))
    return False


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def conformance(suites: Iterable[Sequence[str]]) -> None:
    """Run suites at once, with SIGINT ignored as in the background of a shell.

    They interrupt crawls, and must do so there too.
    """
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "crawlers", "conformance", *suite, "-q", *ALONE],
            env=os.environ | WITHOUT_PLUGINS,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=ignore_interrupts,
        )
        for suite in suites
    ]
    outputs = [process.communicate(timeout=1400)[0].decode() for process in running]
    for process, output in zip(running, outputs, strict=True):
        assert process.returncode == 0, output


@pytest.fixture(scope="module")
def pytest_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pytest and what it needs, all pure Python, so that any release can use it."""
    folder = tmp_path_factory.mktemp("pytest")
    for package in ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments"):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            file = Path(spec.origin)
            source = file.parent if file.name == "__init__.py" else file
            (folder / source.name).symlink_to(source)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_models_conform_on_other_releases(pytest_alone: Path, tmp_path: Path) -> None:
    """With the parser in Python and the ``re`` that is there; the models take turns."""
    others = [each for each in interpreters.find()[0] if each.version[:2] != sys.version_info[:2]]
    running = {}
    for each, name in zip(others, cycle(MODELS), strict=False):
        arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
        arguments += [str(ROOT / "crawlers/conformance"), "--backend", name]
        running[each.name, name] = subprocess.Popen(
            [*each.command, *arguments, f"--basetemp={tmp_path / each.name}"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{pytest_alone}{os.pathsep}{ROOT}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    outputs = {which: suite.communicate()[0] for which, suite in running.items()}
    for which, suite in running.items():
        assert suite.returncode == 0, f"{which}\n{outputs[which]}"


def tried(name: str, *options: str, folder: Path) -> Done:
    """Run the suite on a backend that this folder makes known."""
    arguments = ["conformance", name, "-q", *ALONE, *options]
    return python("-m", "crawlers", *arguments, env=WITHOUT_PLUGINS | {"PYTHONPATH": str(folder)})


def third_party(folder: Path, name: str, code: str, *options: str) -> Done:
    """Run the suite on a backend from a distribution of its own."""
    (folder / f"c10k_{name}.py").write_text(code)
    metadata = folder / f"c10k_{name}-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: c10k-{name}\nVersion: 0.1\n")
    points = f"[crawlers.backends]\n{name} = c10k_{name}:BACKEND\n"
    (metadata / "entry_points.txt").write_text(points)
    return tried(name, *options, folder=folder)


@pytest.mark.slow
def test_the_backend_of_the_documentation_is_conformant(tmp_path: Path) -> None:
    """docs/adding-a-backend.md: its distribution, found by its entry point."""
    example = ROOT / "docs" / "examples" / "futures"
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["crawlers.backends"]
    assert points == {"futures": "c10k_futures:BACKEND"}
    done = third_party(tmp_path, "futures", (example / "c10k_futures.py").read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"(?m)^\d+ passed, \d+ skipped in ", done.stdout), (
        "more than TLS was skipped, or a test was expected to fail"
    )


LEAKY = """
import socket
from crawlers.backend import Backend
from crawlers.threads import crawl

kept = []

def leaky(job, recorder):
    kept.append(socket.socketpair())
    return crawl(job, recorder)

BACKEND = Backend("leaky", "leaks", "against threads: it leaks", "threads", 999, leaky)
"""


def test_a_backend_that_leaks_is_told_what_and_soon(tmp_path: Path) -> None:
    """It waited for a minute after each test, and then said how many descriptors."""
    done = third_party(tmp_path, "leaky", LEAKY, "-k", "many_small or more_slots", "-m", "not slow")
    assert done.returncode == 1, done.stdout
    assert re.search(r"left behind: descriptor \d+ \(AF_UNIX socket .*\), descriptor", done.stdout)
    assert float(re.findall(r" in ([\d.]+)s", done.stdout)[-1]) < 60


DEAD = """
import asyncio

class Loop(asyncio.SelectorEventLoop):
    def _add_reader(self, *args):
        raise NotImplementedError
"""


def test_a_loop_that_fails_everything_is_told_so_and_soon(tmp_path: Path) -> None:
    """It ran for eleven minutes, and then listed each test."""
    (tmp_path / "dead.py").write_text(DEAD)
    done = tried("dead:Loop", folder=tmp_path)
    assert done.returncode == 1, done.stdout
    assert f"fails: ends {GIVE_UP} of {GIVE_UP}; passes: none. First look at one: -x" in done.stdout
    assert "most of it fails; --maxfail 999 runs the rest" in done.stdout


def test_what_is_left_has_a_name() -> None:
    before = Resources.now()
    stop = threading.Event()
    threading.Thread(target=stop.wait, name="waits").start()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
        left = Resources.now().beyond(before)
        assert left.ending
        assert "1 × thread waits" in str(left)
        assert f"to {server.getsockname()}" in str(left)
    stop.set()


def test_a_system_without_room_for_pytest_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a traceback."""
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=BlockingIOError))
    assert main(["conformance", "threads"]) == 1
    said = "crawlers: pytest did not start: raise ulimit -u or pids.max\n"
    assert capsys.readouterr().err == said
