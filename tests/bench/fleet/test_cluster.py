"""The dask cluster that the fleet starts for itself."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from bench.fleet import cluster as clusters
from tests.bench.fleet.conftest import distributed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fleet reads /proc")


def watching(dask_worker: Any) -> list[str]:
    """What a host of the cluster does by itself: its repeated callbacks, and its threads."""
    return [*dask_worker.periodic_callbacks, *(each.name for each in threading.enumerate())]


def test_no_host_looks_at_the_frames_of_its_threads() -> None:
    """dask's profiler does, a hundred times a second, and CPython 3.11 crashed there."""
    assert distributed
    with clusters.connect(None) as client:
        (found,) = client.run(watching).values()
    assert "heartbeat" in found
    assert not [each for each in found if "profile" in each.lower()]
