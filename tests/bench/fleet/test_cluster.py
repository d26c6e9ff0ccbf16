"""The dask cluster that the fleet starts for itself."""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from bench.fleet import cluster as clusters
from tests.bench.fleet.conftest import distributed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fleet reads /proc")


def watching(dask_worker: Any) -> list[str]:
    """What a host of the cluster does by itself: its repeated callbacks, and its threads."""
    return [*dask_worker.periodic_callbacks, *(each.name for each in threading.enumerate())]


def scratch_of(dask_worker: Any) -> str:
    """Where a host's scratch files are."""
    return str(dask_worker.local_directory)


def test_nobody_else_can_give_it_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dask runs what it is sent, and other users of the machine can reach its ports."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with clusters.connect(None) as client:
        info = client.scheduler_info(n_workers=-1)
        ports = [info["address"], *info["workers"]]
        ports += [worker["nanny"] for worker in info["workers"].values()]
        assert len(ports) == 3
        assert {address.partition("://")[0] for address in ports} == {"tls"}
        for address in ports:
            with pytest.raises(OSError, match=r"closed|certificate"):
                distributed.Client(address.replace("tls:", "tcp:"), timeout="10s")
            with pytest.raises(OSError, match="certificate"):
                distributed.Client(
                    address, security=distributed.Security.temporary(), timeout="10s"
                )
        (scratch,) = client.run(scratch_of).values()
        assert Path(scratch).is_relative_to(tmp_path)
    assert not list(tmp_path.iterdir())


def test_no_host_looks_at_the_frames_of_its_threads() -> None:
    """dask's profiler does, a hundred times a second, and CPython 3.11 crashed there."""
    assert distributed
    with clusters.connect(None) as client:
        (found,) = client.run(watching).values()
    assert "heartbeat" in found
    assert not [each for each in found if "profile" in each.lower()]
