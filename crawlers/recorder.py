"""Recorders keep the times of exchanges, and nothing else.

A backend calls :meth:`record` once per answered exchange, on the hot path. So a
recorder only appends; all arithmetic comes after the crawl. It appends to lists: that takes
half the instructions of an ``array``, which has to unpack each float. The price is memory, 64
bytes more for each number. Where a page's processor time is measured, times go into memory
that was taken before, as doubles (:class:`ProgressRecorder`). Use :class:`NullRecorder` to
measure the cost of recording.
"""

from __future__ import annotations

import resource
import threading
from itertools import count
from typing import Protocol

LATE_S = 0.001
"""A start later than this after its due time counts as late."""

WINDOW = 500
"""Exchanges in a window of a :class:`WindowRecorder`."""


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
    counts. Service times go to the same places of ``took``, as long: a list would keep a new
    object for each, spread over the memory that the crawl has in its caches. Call :meth:`settle`
    after the crawl. Use :class:`LockedProgressRecorder` where threads run without the
    interpreter's lock.
    """

    __slots__ = ("ended", "place", "took")

    def __init__(self, ended: memoryview[float], took: memoryview[float]) -> None:
        super().__init__()
        self.ended = ended
        self.took = took
        self.place = count()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Put the service time and the moment of completion into the next place of each."""
        place = next(self.place)
        self.took[place] = ended - started
        self.ended[place] = ended

    def settle(self) -> None:
        """Put the service times where every recorder has them; nothing may be recorded then."""
        self.service = list(self.took[: next(self.place)])


class LockedProgressRecorder(ProgressRecorder):
    """The same with a lock: without the interpreter's, two threads could get one place."""

    __slots__ = ("lock",)

    def __init__(self, ended: memoryview[float], took: memoryview[float]) -> None:
        super().__init__(ended, took)
        self.lock = threading.Lock()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Do as without a lock, and let no other thread come in between."""
        with self.lock:
            super().record(slot, due, started, ended)


class DueRecorder(TimesRecorder):
    """Also keeps when each exchange was due, so that its times have a name.

    They are kept in one step, or two threads could mix theirs. After :meth:`settle`, ``due``,
    ``response`` and ``service`` are in the order of ``due``, place by place.
    """

    __slots__ = ("due", "rows")

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[float, float, float]] = []
        self.due: list[float] = []

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the due time with the times of an open loop."""
        self.rows.append((due, ended - due, ended - started))

    def settle(self) -> None:
        """Put the times where every recorder has them; nothing may be recorded then."""
        self.rows.sort()
        self.due = [due for due, _, _ in self.rows]
        self.response = [response for _, response, _ in self.rows]
        self.service = [service for _, _, service in self.rows]
        self.late = sum(response - service > LATE_S for _, response, service in self.rows)


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


class WindowRecorder(TimesRecorder):
    """Also keeps what the process had used after each :data:`WINDOW` exchanges.

    A row of ``used`` is the number of the exchange, seconds of processor time, and voluntary and
    involuntary context switches, all threads together: getrusage(2). It costs some microseconds
    for a hundred threads, once in a window.
    """

    __slots__ = ("place", "used")

    def __init__(self) -> None:
        super().__init__()
        self.place = count()
        self.used: list[tuple[int, float, int, int]] = []

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Append the times and, at the end of a window, what was used by then."""
        super().record(slot, due, started, ended)
        place = next(self.place)
        if place % WINDOW == 0:
            now = resource.getrusage(resource.RUSAGE_SELF)
            self.used.append((place, now.ru_utime + now.ru_stime, now.ru_nvcsw, now.ru_nivcsw))


class NullRecorder:
    """Keeps nothing; a crawl with it shows the cost of recording."""

    __slots__ = ()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Do nothing."""
