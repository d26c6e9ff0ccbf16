"""Connections held open at a barrier: while the memory is read, or until a crawl is interrupted.

The harness sends SIGINT to the worker, the signal of Ctrl-C, when a request of every slot is in
flight, and each backend cancels in the way of its library. Three clocks are read, and they are one:
the monotonic clock, which all processes of a machine share. The worker notes when the crawl saw the
signal and when its call returned, the server when the first and the last connection ended.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from bench.conditions import Condition, Fields, Params
from bench.machine import memory
from bench.machine.cpu import Pinning
from bench.schema import Cancelled, Ledger
from bench.sides.leftovers import AS_USUAL
from bench.sides.process import ProcessError
from bench.sides.protocol import Command, Result, Schedule
from bench.sides.sides import Sides

RAMP_PER_S: Final = 2000
"""Connections opened per second while a c10k trial fills up.

The same for every backend: ten thousand at once overflow the accept queue and
cost the fastest backend seconds of SYN retransmission. A backend that falls
behind opens many at a time, and the memory for that stays with the process. At
4,000 trio does now and then, and at 2,000 not even on a busy machine
(docs/notebook/method-studies.md#connections-that-open-at-once).
"""

TLS_RAMP_PER_S: Final = 400
"""The same over TLS, where a client needs one to two milliseconds of work for each connection.

So slow that handshakes do not overlap. At 1,000 they do on some machines, and the memory of a
connection of uvloop then depends on their order
(docs/notebook/method-studies.md#handshakes-that-overlap).
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

    def place(self, now: Pinning, narrow: Pinning, name: str) -> Pinning:
        return narrow  # memory depends on the number of processors, through malloc's arenas


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
        sides.barrier.hold()
        yield
        sides.wait_until_held()
        full = reader.read()
        sides.barrier.release()
        sides.parts["memory"] = memory.memory(before, full, sides.slots, sides.theirs)

    def seen(self, sides: Sides, result: Result) -> Fields:
        return {"memory": sides.parts["memory"]}

    def void(self, sides: Sides, result: Result, ledger: Ledger) -> str | None:
        held = min(ledger.peak_in_flight, ledger.peak_connections)
        if held != sides.slots:
            return f"only {held} of {sides.slots} connections were held at once"
        return None


HELD = Held()
HELD_AWAKE = Held(sleeps=False)


# --- interrupted -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Interrupted(Condition):
    crawls: bool = False
    limited: bool = False

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, cancel=True)

    @contextmanager
    def around(self, sides: Sides) -> Iterator[None]:
        sides.barrier.hold()
        yield
        sides.wait_until_held()
        sides.parts["work_s"] = sides.server.work_s()
        sides.parts["asked"] = time.monotonic()
        sides.worker.process.send_signal(AS_USUAL)  # Python handles both at once
        sides.worker.process.send_signal(signal.SIGINT)

    def ended(self, sides: Sides, result: Result) -> None:
        open_now, ended = sides.server.ended()
        work_s, ending = sides.server.work_s() - sides.parts["work_s"], result.ending
        if ending is None or ending.noticed is None or ended is None:
            raise ProcessError("the crawl ended before it was interrupted")
        first, last = (at - ending.noticed for at in ended)
        sides.parts["cancelled"] = Cancelled(
            in_flight=sides.slots,
            noticed_s=ending.noticed - sides.parts["asked"],
            returned_s=ending.returned - ending.noticed,
            first_closed_s=max(0.0, first),
            closed_s=max(0.0, last),
            client_cpu_s=ending.cpu_s,
            server_work_s=max(0.0, work_s),
            switch_interval_s=ending.switch_interval_s,
            left=ending.left,
            open_at_server=open_now,
        )

    def seen(self, sides: Sides, result: Result) -> Fields:
        # There were no pages, as there should be.
        return {"cancelled": sides.parts["cancelled"], "pages_per_s": None}

    def void(self, sides: Sides, result: Result, ledger: Ledger) -> str | None:
        """It counts when each exchange was cancelled, and nothing was left at either end."""
        cancelled: Cancelled | None = sides.parts.get("cancelled")
        slots = sides.slots
        if result.stopped != "interrupted" or cancelled is None:
            return f"the crawl was not interrupted: it ended as {result.stopped or 'complete'}"
        if result.errors != {"cancelled": slots}:
            errors = ", ".join(f"{count} {kind}" for kind, count in result.errors.items())
            return f"not every exchange was cancelled: {errors or 'none'} of {slots}"
        if ledger.peak_in_flight != slots or ledger.requests != slots:
            return (
                f"only {ledger.peak_in_flight} of {slots} exchanges were in flight at once, "
                f"of {ledger.requests} in all"
            )
        if cancelled.left:
            left = ", ".join(f"{count} × {kind}" for kind, count in sorted(cancelled.left.items()))
            return f"the crawl left behind: {left}"
        if cancelled.open_at_server:
            return f"{cancelled.open_at_server} connections were still open at the server"
        return None


INTERRUPTED = Interrupted()
