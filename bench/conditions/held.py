"""Connections held open at a barrier, while the memory is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from bench.conditions.condition import Condition, Fields, Params
from bench.machine import memory
from bench.schema import Ledger
from bench.sides.protocol import Command, Result, Schedule
from bench.sides.sides import Sides

RAMP_PER_S: Final = 4000
"""Connections opened per second while a c10k trial fills up.

The same for every backend: ten thousand at once overflow the accept queue and
cost the fastest backend seconds of SYN retransmission.
"""

TLS_RAMP_PER_S: Final = 1000
"""The same over TLS, where a client needs one to two milliseconds of work for each connection.

A faster ramp would only let handshakes wait for each other.
"""

HOLD_SWITCH_S: Final = 10.0
"""How long a thread waits for the interpreter's lock before it requests it, in a c10k trial.

With the usual 5 ms (:func:`sys.setswitchinterval`) a thousand waiting threads
keep a whole processor busy with requests. They delay the thread that could
make progress, more threads fall behind, and the queue grows: ten thousand
threads took from 13 to more than 180 s to reach the barrier, at any pace. A
thread that waits for its socket gives the lock up by itself, so memory does not
change. The times do, with threads, and no question reads them.
All backends get this value.
"""


@dataclass(frozen=True, kw_only=True)
class Filling(Condition):
    """The server withholds its answers, and the connections are opened at a pace."""

    per_s: float = RAMP_PER_S
    fills: bool = True

    def params(self, slots: int) -> Params:
        return {
            "connections": slots,
            "ramp_per_s": self.per_s,
            "switch_interval_s": HOLD_SWITCH_S,
        }

    def command(self, command: Command, sides: Sides) -> Command:
        ramp = Schedule(kind="constant", rate=self.per_s)
        return replace(command, schedule=ramp, switch_interval_s=HOLD_SWITCH_S)

    def wide(self, wide: bool, name: str) -> bool:
        return False  # memory depends on the number of processors, through malloc's arenas


@dataclass(frozen=True, kw_only=True)
class Held(Condition):
    sleeps: bool = True
    memory: bool = True
    limited: bool = False

    @contextmanager
    def around(self, sides: Sides) -> Iterator[None]:
        """Read the memory before the first connection, and when all are held."""
        reader = memory.Reader([sides.tested.pid], [sides.other.pid])
        memory.wait_until_settled()
        before = reader.read()
        sides.hold()
        yield
        sides.wait_until_held()
        full = reader.read()
        sides.release()
        sides.parts["memory"] = memory.memory(before, full, sides.slots, sides.theirs)

    def seen(self, sides: Sides) -> Fields:
        return {"memory": sides.parts["memory"]}

    def void(self, result: Result, ledger: Ledger, slots: int, parts: Fields) -> str | None:
        if ledger.peak_in_flight != slots:
            return f"only {ledger.peak_in_flight} of {slots} connections were held at once"
        return None


HELD = Held()
HELD_AWAKE = Held(sleeps=False)
