"""Recorders keep the times of exchanges, and nothing else.

A backend calls :meth:`record` once per answered exchange, on the hot path, so
a recorder appends to an array and leaves all arithmetic for afterwards. What
this costs is measured with :class:`NullRecorder`.
"""

from __future__ import annotations

from array import array
from typing import Protocol

LATE_S = 0.001
"""A start later than this after its due time counts as late."""


class Recorder(Protocol):
    """What a backend needs of a recorder."""

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


class SlotRecorder(TimesRecorder):
    """Also which slot finished when: the raw data of the fairness chart."""

    __slots__ = ("ended", "slots")

    def __init__(self) -> None:
        super().__init__()
        self.slots = array("l")
        self.ended = array("d")

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append times, slot number and moment of completion."""
        super().record(slot, due, started, ended)
        self.slots.append(slot)
        self.ended.append(ended)


class NullRecorder:
    """Keeps nothing: the yardstick for what recording costs."""

    __slots__ = ()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Do nothing."""
