"""Gives every test a time limit, the same surroundings however pytest was started, a browser."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# Other programs share the machine, so the time of a single example says nothing.
settings.register_profile("full", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=30)
settings.register_profile("torture", deadline=None, max_examples=10_000)

TIMEOUT_S = 0 if os.environ.get("HYPOTHESIS_PROFILE") == "torture" else 600
"""Limit of a test without a ``timeout`` marker of its own, in seconds. It ends a test that hangs;
it must never end one that is slow because the machine is busy."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set a time limit, and try fewer examples of each property where slow tests are left out.

    ``nohup`` and shells that start a job in the background ignore SIGHUP and SIGINT. Children
    inherit that, and a test that sends them a signal would wait in vain. They inherit no handler.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _pass if number is signal.SIGHUP else signal.default_int_handler)
    usual = "quick" if config.getoption("markexpr") == "not slow" else "full"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or usual)
    if config.option.timeout is None:  # before pytest-timeout reads it
        config.option.timeout = TIMEOUT_S


def _pass(number: int, frame: FrameType | None) -> None:
    """Do nothing: ``nohup`` means that this process goes on."""


CHARTS = "tests/bench/report/charts/"
SERVERS = "tests/server/models/test_conformance.py"
LONGEST = (
    "tests/crawlers/test_conformance.py",
    "tests/bench/costs/test_measure.py",
    "tests/bench/run/test_block.py",
    "tests/tools/test_site.py",
    "tests/tools/test_rebuild.py",
    "tests/bench/run/test_campaign.py",
    SERVERS,
    "tests/bench/fleet/test_fleet.py",
    "tests/server/models/test_command.py",
    "tests/bench/cli/test_pytest_front.py",
    "tests/bench/questions/test_questions.py",
    "tests/bench/report/charts/test_story.py",
    "tests/bench/cli/test_wheel.py",
    "tests/crawlers/test_manners.py",
    "tests/torture/test_soak.py",
    "tests/crawlers/chapter/test_steps.py",
    "tests/crawlers/chapter/test_exercises.py",
    "tests/bench/talk/test_browser.py",
    "tests/bench/report/test_page.py",
    "tests/crawlers/test_variants.py",
    "tests/crawlers/test_leaks.py",
)
"""Files that take long, the longest first.

Run in parallel, a long file that begins last would keep one process busy and let all others wait.
"""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave the collector off while tests are imported: what is made then stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files. What is tried in a browser is slow."""
    turn = {file: number for number, file in enumerate(LONGEST)}
    items.sort(key=lambda item: turn.get(item.nodeid.partition("::")[0], len(turn)))
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one process, and all that use a committed campaign to the same one.

    So are the charts, which share made-up campaigns. In the tests of the servers it is each server:
    all tests of one share its process.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            if file == SERVERS and (server := re.search(r"\[(\w+-(?:plain|tls))\b", nodeid)):
                return f"{file} {server[1]}"
            if uses_committed(file):
                return "committed campaigns"
            return "made-up charts" if file.startswith(CHARTS) else file

    return Scheduling(config, log)


@cache
def uses_committed(file: str) -> bool:
    """Whether a file has tests with the campaigns of :mod:`tests.bench.committed`."""
    return "import committed" in (ROOT / file).read_text("utf-8")


@pytest.fixture(scope="session")
def in_git() -> list[Path]:
    """The files in git. What git ignores is on one machine only."""
    if shutil.which("git") is None:
        pytest.skip("no git here")
    command = ["git", "ls-files", "-z", "--cached"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or not listed.stdout:
        pytest.skip("this is not a clone")
    return [ROOT / name for name in listed.stdout.split("\0") if name]


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, headless. While it runs, this thread has an asyncio loop, so it ends soon."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium here: apt-get install chromium")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()
