"""A crawl that is interrupted when a request of every slot is in flight.

The harness sends SIGINT to the worker, the signal of Ctrl-C, and each backend cancels in the way of
its library. Three clocks are read, and they are one: the monotonic clock, which all processes of a
machine share. The worker notes when the crawl saw the signal and when its call returned, the server
when the first and the last connection ended.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from bench.conditions.condition import Condition, Fields
from bench.schema import Cancelled, Ledger
from bench.sides.leftovers import AS_USUAL
from bench.sides.process import ProcessError
from bench.sides.protocol import Command, Result
from bench.sides.sides import Sides


@dataclass(frozen=True, kw_only=True)
class Interrupted(Condition):
    crawls: bool = False
    limited: bool = False

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, cancel=True)

    @contextmanager
    def around(self, sides: Sides) -> Iterator[None]:
        sides.hold()
        yield
        sides.wait_until_held()
        sides.parts["work_s"] = sides.server.work_s()
        sides.parts["asked"] = time.monotonic()
        sides.worker.process.send_signal(AS_USUAL)  # Python handles both at once
        sides.worker.process.send_signal(signal.SIGINT)

    def ended(self, sides: Sides) -> None:
        result, asked, work_s = sides.result, sides.parts["asked"], sides.parts["work_s"]
        open_now, ended = sides.server.ended()
        work_s = sides.server.work_s() - work_s
        ending = result.ending if result else None
        if ending is None or ending.noticed is None or ended is None:
            raise ProcessError("the crawl ended before it was interrupted")
        first, last = (at - ending.noticed for at in ended)
        sides.parts["cancelled"] = Cancelled(
            in_flight=sides.slots,
            noticed_s=ending.noticed - asked,
            returned_s=ending.returned - ending.noticed,
            first_closed_s=max(0.0, first),
            closed_s=max(0.0, last),
            client_cpu_s=ending.cpu_s,
            server_work_s=max(0.0, work_s),
            switch_interval_s=ending.switch_interval_s,
            left=ending.left,
            open_at_server=open_now,
        )

    def seen(self, sides: Sides) -> Fields:
        # There were no pages, as there should be.
        return {"cancelled": sides.parts["cancelled"], "pages_per_s": None}

    def void(self, result: Result, ledger: Ledger, slots: int, parts: Fields) -> str | None:
        """It counts when each exchange was cancelled, and nothing was left at either end."""
        cancelled: Cancelled | None = parts.get("cancelled")
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
