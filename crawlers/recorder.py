"""Recorders keep the times of exchanges, and nothing else.

A backend calls :meth:`record` once per answered exchange, on the hot path. So a
recorder only appends to an array; all arithmetic comes after the crawl. Use
:class:`NullRecorder` to measure the cost of recording.
"""

from __future__ import annotations

from array import array
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
        self.service = array("d")
        self.response = array("d")
        self.late = 0

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the service time, and in an open loop the response time."""
        self.service.append(ended - started)
        if due:
            self.response.append(ended - due)
            if started - due > LATE_S:
                self.late += 1


class ProgressRecorder(TimesRecorder):
    """Also counts the exchanges in shared memory, where another process can read the number.

    ``shared`` is one unsigned 64-bit number. ``ended`` keeps when each exchange
    ended, in seconds on the monotonic clock.
    """

    __slots__ = ("ended", "shared")

    def __init__(self, shared: memoryview) -> None:
        super().__init__()
        self.ended = array("d")
        self.shared = shared

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the service time and the moment of completion, and count."""
        self.service.append(ended - started)
        self.ended.append(ended)
        self.shared[0] += 1


class DueRecorder(TimesRecorder):
    """Also keeps when each exchange was due, so that its response time has a name.

    ``due`` and ``response`` belong together, place by place.
    """

    __slots__ = ("due",)

    def __init__(self) -> None:
        super().__init__()
        self.due = array("d")

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
        self.slots = array("l")
        self.ended = array("d")

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


class CountRecorder:
    """Keeps nothing but the number of exchanges, in shared memory: for turns without times."""

    __slots__ = ("shared",)

    def __init__(self, shared: memoryview) -> None:
        self.shared = shared

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Count."""
        self.shared[0] += 1
