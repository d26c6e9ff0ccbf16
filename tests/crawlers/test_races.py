"""Threads that are switched at every chance: no page is fetched twice and none is lost."""

from __future__ import annotations

import faulthandler
import random
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from crawlers.job import Job
from crawlers.recorder import NullRecorder
from tests.crawlers.backends import load
from tests.server.fixture_server import running

EXAMPLES = settings().max_examples
"""Fewer where slow tests are left out."""

SWITCH_S = 1e-6
"""Time after which the interpreter switches threads; the default is 5 ms."""
DEADLOCK_S = 60.0


@pytest.fixture(autouse=True)
def switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(
    ("name", "crawls"),
    [
        ("threads", 2 * EXAMPLES),
        ("threads_pool", EXAMPLES // 2),
        *(
            pytest.param(name, EXAMPLES // 5, marks=pytest.mark.slow)
            for name in ("threads_small_stack", "urllib3", "requests")
        ),
    ],
)
def test_no_page_is_fetched_twice_and_none_is_lost(name: str, crawls: int) -> None:
    """With numbers of slots up to more than there are pages."""
    backend, rng = load(name), random.Random(crawls)
    with running("--site", "tree:20:4:1024") as server:
        url = f"http://{server.ready['listening']}/"
        for _ in range(crawls):
            slots, keep_alive = rng.choice((1, 2, 3, 5, 8, 30)), rng.random() < 0.7
            server.call("/reset", {})
            faulthandler.dump_traceback_later(DEADLOCK_S, exit=True)
            job = Job((url,), slots=slots, keep_alive=keep_alive)
            report = backend.crawl(job, NullRecorder())
            faulthandler.cancel_dump_traceback_later()
            ledger = server.call("/ledger?summary=1")
            assert report.digest == server.ready["digest"], (slots, keep_alive, report.errors)
            assert (ledger["repeated"], ledger["total"]) == (0, server.ready["urls"])
