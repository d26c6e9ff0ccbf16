"""Work in mixed load: how long a round takes alone, and what it must come to.

Which pages need work, and how many rounds, is the same for every backend of a campaign.
A round is measured before each trial, in a process of its own on the client's
processor, with nothing beside it (this module is also that program). So a page's work takes
the milliseconds that its point says, alone and on this machine as fast as it is then.
"""

from __future__ import annotations

import sys
import time
from statistics import median

from bench import arrivals
from bench.machine import cpu
from bench.plan.workloads import WORK_EVERY, Point
from bench.sides.process import Child, ProcessError
from bench.sides.protocol import Worked
from bench.sides.servers import Server, ServerError
from crawlers import work

TRIES = 7
TRY_S = 0.01
"""A round is measured in so many tries, each this long; the median counts."""

START_S = 60.0


def measure(server: Server, cores: list[int]) -> float:
    """Microseconds that a round takes alone, on the client's processor.

    Raises :class:`bench.sides.servers.ServerError`.
    """
    (body,) = server.get(["/p/0"])
    child = Child("the measurement of a round", ["-m", "bench.run.working"])
    try:
        if cores:
            cpu.pin(child.pid, cores)
        child.send(body.hex())
        return float(child.receive(time.monotonic() + START_S))
    except (TimeoutError, ValueError, ProcessError) as error:
        raise ServerError(f"a round of work could not be measured: {error}") from None
    finally:
        child.close()


class Expected:
    """What the work on a point's pages must come to; remembers what a page comes to in a round.

    The pages of a point are the same in every block: the site has one seed.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], int] = {}

    def check(self, point: Point, server: Server, rounds: int, seed: int) -> tuple[int, int]:
        """How many pages need work, and what all of it comes to.

        Ask before the ledger is reset: the pages come from the server.
        """
        pages = sorted(arrivals.chosen(point.urls or 0, WORK_EVERY, seed))
        missing = [number for number in pages if (point.site, number) not in self._values]
        bodies = server.get(f"/p/{number}" for number in missing)
        for number, body in zip(missing, bodies, strict=True):
            self._values[point.site, number] = work.words(body)
        total = sum(work.fold(self._values[point.site, number], rounds) for number in pages)
        return len(pages), total % work.LIMIT


def reason(found: Worked | None, expected: tuple[int, int]) -> str | None:
    """Why the work of a trial does not count, or None when it was done."""
    pages, check = expected
    done = 0 if found is None else found.pages
    if found is None or done != pages:
        return f"{done} pages were worked on, where {pages} needed it"
    if found.check != check:
        return f"the work came to {found.check}, not to {check}: some of it was left out"
    return None


def alone(body: bytes, tries: int = TRIES, try_s: float = TRY_S) -> float:
    """Seconds that a round takes with nothing beside it: the median of some tries."""
    rounds = 1
    while work.do(body, rounds).cpu_s < try_s:
        rounds *= 2
    return median(work.do(body, rounds).cpu_s for _ in range(tries)) / rounds


def main() -> int:
    """Print how many microseconds a round takes; the page comes on standard input, in hex."""
    body = bytes.fromhex(sys.stdin.readline())
    print(1e6 * alone(body), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
