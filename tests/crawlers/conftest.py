"""The real fixture server, in its own process, for the tests of the crawlers; certificates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.server.fixture_server import Running, running

if TYPE_CHECKING:
    from crawlers.conformance.authority import Authority


@pytest.fixture(scope="session")
def tree() -> Iterator[Running]:
    """A tree site of 500 pages."""
    with running("--site", "tree:500:6:2048", "--seed", "7") as server:
        yield server


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Signs the certificates of the test's servers."""
    pytest.importorskip("trustme", reason="TLS needs certificates: pip install trustme")
    from crawlers.conformance.authority import Authority

    return Authority(tmp_path)
