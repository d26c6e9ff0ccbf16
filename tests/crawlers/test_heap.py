"""Every crawl begins in one state of malloc, which decides what asyncio's receive costs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from crawlers import heap
from crawlers.backend import BackendError
from crawlers.variants import _mapped

STATES = """
from crawlers import heap
print(heap.state())
heap.settle()
print(heap.state())
heap.settle()
print(heap.state(), flush=True)
from crawlers.variants import _mapped
taken = _mapped.begin("this")
print(heap.state())
_mapped.keep()
print(heap.state())
"""


def usual() -> dict[str, str]:
    """The environment without settings of malloc: dask leaves one, for its workers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}


def states() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", STATES], env=usual(), capture_output=True, text=True, timeout=60
    )
    return done.stdout.splitlines()


needs_mapping = pytest.mark.skipif(
    states()[:1] != [heap.MAPS], reason="this interpreter's malloc maps no large blocks"
)


@needs_mapping
def test_one_freed_block_changes_the_state_and_the_variants_change_it_back() -> None:
    assert states() == [heap.MAPS, heap.KEEPS, heap.KEEPS, heap.MAPS, heap.KEEPS]


def test_a_malloc_that_does_not_map_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "state", lambda: heap.KEEPS)
    refused = pytest.raises(BackendError, match=r"^backend this needs glibc's malloc")
    with refused, _mapped.mapped("this"):
        pass
