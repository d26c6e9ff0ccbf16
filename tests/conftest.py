"""Gives every test a time limit, the same surroundings however pytest was started, a browser."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

# Other programs share the machine, so the time of a single example says nothing.
settings.register_profile("full", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=30)

TIMEOUT_S = 600
"""Limit of a test without a ``timeout`` marker of its own, in seconds. It ends a test that hangs;
it must never end one that is slow because the machine is busy."""


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples of each property where slow tests are left out.

    ``nohup`` and shells that start a job in the background ignore SIGHUP and SIGINT. Children
    inherit that, and a test that sends them a signal would wait in vain. They inherit no handler.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _pass if number is signal.SIGHUP else signal.default_int_handler)
    settings.load_profile("quick" if config.getoption("markexpr") == "not slow" else "full")


def _pass(number: int, frame: FrameType | None) -> None:
    """Do nothing: ``nohup`` means that this process goes on."""


LONGEST = (
    "tests/crawlers/test_variants.py",
    "tests/tools/test_site.py",
    "tests/bench/run/test_campaign.py",
    "tests/test_attacks.py",
    "tests/bench/cli/test_pytest_front.py",
    "tests/bench/report/charts/test_story.py",
    "tests/bench/fleet/test_fleet.py",
    "tests/tools/test_rebuild.py",
    "tests/crawlers/test_main.py",
    "tests/crawlers/test_leaks.py",
    "tests/crawlers/test_releases.py",
    "tests/crawlers/test_internet.py",
    "tests/bench/report/test_page.py",
    "tests/bench/micro/test_micro.py",
    "tests/bench/plan/test_interpreters.py",
    "tests/bench/report/charts/test_slide.py",
    "tests/bench/report/charts/test_drawing.py",
    "tests/bench/machine/test_limits.py",
    "tests/bench/cli/test_manners.py",
    "tests/crawlers/test_backends.py",
    "tests/crawlers/test_faults.py",
)
"""Files that take a quarter of a minute or more, the longest first.

Run in parallel, a long file that begins last would keep one process busy and let all others wait.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, and set the time limit of every test that has none."""
    turn = {file: number for number, file in enumerate(LONGEST)}
    items.sort(key=lambda item: turn.get(item.nodeid.partition("::")[0], len(turn)))
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


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
