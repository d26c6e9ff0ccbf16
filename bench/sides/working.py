"""How long a round of work takes alone: this module is also the program that measures it."""

from __future__ import annotations

import sys
import time
from statistics import median

from bench.machine import cpu
from bench.sides.process import Child, ProcessError
from bench.sides.servers import ServerError
from crawlers import work

TRIES = 7
TRY_S = 0.01
"""A round is measured in so many tries, each this long; the median counts."""

START_S = 60.0


def measure(body: bytes, cores: list[int]) -> float:
    """Microseconds that a round on this page takes alone, on the client's processor.

    Raises :class:`bench.sides.servers.ServerError`.
    """
    child = Child("the measurement of a round", ["-m", "bench.sides.working"])
    try:
        if cores:
            cpu.pin(child.pid, cores)
        child.send(body.hex())
        return float(child.receive(time.monotonic() + START_S))
    except (TimeoutError, ValueError, ProcessError) as error:
        raise ServerError(f"a round of work could not be measured: {error}") from None
    finally:
        child.close()


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
