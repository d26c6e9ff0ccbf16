"""The load of servers: what it calls late."""

from __future__ import annotations

from collections.abc import Iterator
from select import epoll
from unittest.mock import MagicMock

import pytest

from bench.sides.loader import Asked, Loader
from bench.sides.protocol import Load


class Scripted(Loader):
    """Each answer comes after 10 ms, in which the loader does nothing else."""

    def __init__(self) -> None:
        self.load = Load(how="schedule", awake=True, rate=1000, seconds=0.02, seed=1, every=0)
        self.pages, self.now, self.late, self.worked = [(b"x", b"")], 0.0, 0, 0

    def _answered(self, epoll: epoll, asked: dict[int, Asked], wait_s: float) -> Iterator[Asked]:
        self.now += 0.01
        yield from [asked.pop(descriptor) for descriptor in list(asked)]


@pytest.mark.parametrize(("connections", "late"), [(1, 1), (30, 19)])
def test_a_request_that_waited_for_a_connection_is_not_late(
    connections: int, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted()
    monkeypatch.setattr("bench.sides.loader.time.monotonic", lambda: scripted.now)
    monkeypatch.setattr("bench.sides.loader.select", MagicMock())
    socks = [MagicMock(**{"fileno.return_value": number}) for number in range(connections)]
    took = scripted._on_time(socks)
    assert (len(took), scripted.late) == (20, late)
