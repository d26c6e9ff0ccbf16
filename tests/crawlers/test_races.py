"""Threads that are switched at every chance. The long form: python -m tests.torture.races."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings

from crawlers import registry
from tests.server.fixture_server import running
from tests.torture import races

EXAMPLES = settings().max_examples
"""Fewer where slow tests are left out."""


@pytest.mark.parametrize(
    ("name", "crawls"), [("threads", 2 * EXAMPLES), ("threads_pool", EXAMPLES // 2)]
)
def test_no_page_is_fetched_twice_and_none_is_lost(name: str, crawls: int) -> None:
    with running(*races.SITE) as server:
        races.many(registry.load(name), server, range(crawls), random.Random(crawls))
