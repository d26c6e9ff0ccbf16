"""However a crawl ends, nothing of it is left. The long form: python -m tests.torture.leaks."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings

from crawlers import registry
from tests.crawlers.backends import load
from tests.crawlers.conftest import FixtureServer
from tests.crawlers.test_backends import Start
from tests.torture import leaks

USUAL = (*registry.MODELS, "processes")
OTHERS = ("threads_pool", "trio", "uvloop", "twisted", "gevent")
"""These too have something of their own to leave: threads, loops, a log."""


@pytest.fixture(scope="module")
def small(start_server: Start) -> FixtureServer:
    return start_server(*leaks.SITE)


@pytest.mark.parametrize(
    "name", [*USUAL, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_nothing_is_left_of_a_crawl(name: str, small: FixtureServer) -> None:
    backend = load(name)
    leaks.warm(backend, small.url)

    @settings(
        max_examples=settings().max_examples // (15 if name in registry.MODELS else 30),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(leaks.cases)
    def every_case(case: leaks.Case) -> None:
        leaks.check(backend, small.url, case)

    every_case()


@pytest.mark.parametrize("name", ["threads", "processes"])
def test_a_second_interrupt_ends_the_process_at_once(name: str, start_server: Start) -> None:
    """Threads went on crawling to the end of the site, and the process with them."""
    server = start_server("--site", "tree:6000:6:2048", "--delay", "fixed:50")
    crawler = subprocess.Popen([sys.executable, "-m", "crawlers", name, server.url, "-c", "2"])
    while server.control("/ledger?summary=1")["total"] < 5:
        assert crawler.poll() is None
    # Two that come together are one to the kernel: the second must find the first delivered.
    until = time.monotonic() + 60
    while crawler.poll() is None and time.monotonic() < until:
        crawler.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert crawler.wait(60) in (-signal.SIGINT, 130)
    # The rest of the site would take longer than this.
    while server.control("/ledger?summary=1")["connections_open"]:
        assert time.monotonic() < until, "somebody goes on crawling"
        time.sleep(0.05)
    server.stop()
