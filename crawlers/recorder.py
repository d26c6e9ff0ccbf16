"""Recorders keep the times of exchanges, and nothing else.

A backend calls :meth:`record` once per answered exchange, on the hot path. So a
recorder only appends; all arithmetic comes after the crawl. It appends to lists: that takes
half the instructions of an ``array``, which has to unpack each float. The price is memory, 64
bytes more for each number. Use :class:`NullRecorder` to measure the cost of recording.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import Protocol

LATE_S = 0.001
"""A start later than this after its due time counts as late."""


class Recorder(Protocol):
    """The interface that a backend uses."""

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Keep one answered exchange.

        All times are seconds on the monotonic clock. ``due`` is the intended
        start in an open loop and 0.0 in a closed loop. ``started`` includes
        connecting, where the exchange needed a connection.
        """


class TimesRecorder:
    """Service times of a closed loop; response times and late starts of an open one."""

    __slots__ = ("late", "response", "service")

    def __init__(self) -> None:
        self.service: list[float] = []
        self.response: list[float] = []
        self.late = 0

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the service time, and in an open loop the response time."""
        self.service.append(ended - started)
        if due:
            self.response.append(ended - due)
            if started - due > LATE_S:
                self.late += 1


class ProgressRecorder(TimesRecorder):
    """Keeps when each exchange ended in shared memory, where another process can count them.

    ``ended`` holds doubles, all zero at first, at least one for each exchange. They become
    seconds on the monotonic clock, one after the other, so one store both keeps a time and
    counts. Use :class:`LockedProgressRecorder` where threads run without the interpreter's lock.
    """

    __slots__ = ("ended", "place")

    def __init__(self, ended: memoryview[float]) -> None:
        super().__init__()
        self.ended = ended
        self.place = count()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the service time, and put the moment of completion into the next place."""
        self.service.append(ended - started)
        self.ended[next(self.place)] = ended


class LockedProgressRecorder(ProgressRecorder):
    """The same with a lock: without the interpreter's, two threads could get one place."""

    __slots__ = ("lock",)

    def __init__(self, ended: memoryview[float]) -> None:
        super().__init__(ended)
        self.lock = threading.Lock()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Do as without a lock, and let no other thread come in between."""
        with self.lock:
            super().record(slot, due, started, ended)


class DueRecorder(TimesRecorder):
    """Also keeps when each exchange was due, so that its response time has a name.

    ``due`` and ``response`` belong together, place by place.
    """

    __slots__ = ("due",)

    def __init__(self) -> None:
        super().__init__()
        self.due: list[float] = []

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the times and, in an open loop, the due time."""
        super().record(slot, due, started, ended)
        if due:
            self.due.append(due)


class SlotRecorder(TimesRecorder):
    """Also keeps which slot finished when: the raw data of the fairness chart."""

    __slots__ = ("ended", "slots")

    def __init__(self) -> None:
        super().__init__()
        self.slots: list[int] = []
        self.ended: list[float] = []

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the times, the slot number and the time of completion."""
        super().record(slot, due, started, ended)
        self.slots.append(slot)
        self.ended.append(ended)


class NullRecorder:
    """Keeps nothing; a crawl with it shows the cost of recording."""

    __slots__ = ()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Do nothing."""
