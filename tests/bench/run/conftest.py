"""What trials of the tests share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.controls import CONTROLS
from bench.plan import backends
from bench.plan.participants import MAIN_VARIANTS
from bench.run.campaign import out_of_the_way, warmup_server
from bench.run.trial import Bench
from bench.sides.servers import Server, Tls
from crawlers.registry import MODELS
from tests.bench import small

FURTHER = (*MAIN_VARIANTS, "async_await_to_thread", "async_await_pool", "processes")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A warm-up server and every backend that a test of trials runs, those that fail included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(small.OUTSIDE))
        with small.bench(tmp_path_factory.mktemp("scratch"), deadline_s=60) as found:
            known = {each.name: each for each in backends.look_up(FURTHER)}
            yield replace(found, backends={**found.backends, **known, **CONTROLS})


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """As in a campaign: the harness stays off the client's processor; with TLS."""
    known = {backend.name: backend for backend in backends.look_up(MODELS)}
    with (
        out_of_the_way() as pinning,
        tempfile.TemporaryDirectory() as scratch,
        warmup_server(pinning) as warmup,
        warmup_server(pinning, Tls()) as over_tls,
    ):
        warmups: dict[Tls | None, Server] = {None: warmup, Tls(): over_tls}
        yield Bench(warmups, CONTROLS | known, pinning, 5, Path(scratch), deadline_s=120)
