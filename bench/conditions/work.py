"""Pages that need processor time: one in so many, chosen by the seed of the block.

Which pages need work, and how many rounds, is the same for every backend of a block. A round is
measured before each trial, in a process of its own on the client's processor, with nothing beside
it: this module is also the program that does. So a page's work takes the milliseconds that its
point says, alone and on this machine as fast as it is then. It is measured again after the trial: a
machine that changed its speed in between had another load. What the work took within the trial does
not tell, since a model whose threads disturb each other makes it dearer.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from statistics import median

from bench.conditions import Condition, Fields, Params
from bench.machine import cpu
from bench.schema import Ledger, Work
from bench.sides.process import Child, ProcessError
from bench.sides.protocol import WORK_EVERY, Command, Result, Working, chosen
from bench.sides.servers import Server, ServerError
from bench.sides.sides import Sides
from crawlers import work


@dataclass(frozen=True, kw_only=True)
class WithWork(Condition):
    ms: float

    def params(self, slots: int) -> Params:
        return {"work_ms": self.ms}

    def command(self, command: Command, sides: Sides) -> Command:
        (body,) = sides.server.get(["/p/0"])
        sides.parts["body"] = body
        sides.parts["round_us"] = round_us = measure(body, sides.cores)
        rounds = max(1, round(1000 * self.ms / round_us))
        sides.parts["expected"] = expected(sides.server, command.urls or 0, rounds, sides.seed)
        return replace(command, work=Working(rounds=rounds, every=WORK_EVERY, seed=sides.seed))

    def ended(self, sides: Sides, result: Result) -> None:
        sides.parts["round_after_us"] = measure(sides.parts["body"], sides.cores)

    def seen(self, sides: Sides, result: Result) -> Fields:
        """The work on the pages that needed it, and the times of both kinds."""
        ordered, done = sides.command.work, result.work
        if done is None or ordered is None:
            return {}
        pages, check = sides.parts["expected"]
        each_ms = 1000 / done.pages if done.pages else 0.0
        return {
            "work": Work(
                every=ordered.every,
                seed=ordered.seed,
                work_ms=self.ms,
                round_us=sides.parts["round_us"],
                round_after_us=sides.parts["round_after_us"],
                rounds=ordered.rounds,
                pages=done.pages,
                expected=pages,
                check=done.check,
                check_expected=check,
                cpu_ms=done.cpu_s * each_ms,
                wall_ms=done.wall_s * each_ms,
                threads=done.threads,
                others=sides.latency("others"),
                worked=sides.latency("worked"),
            )
        }

    def void(self, sides: Sides, result: Result, ledger: Ledger) -> str | None:
        (pages, check), worked = sides.parts["expected"], result.work
        done = 0 if worked is None else worked.pages
        if worked is None or done != pages:
            return f"{done} pages were worked on, where {pages} needed it"
        if worked.check != check:
            return f"the work came to {worked.check}, not to {check}: some of it was left out"
        return None


def expected(server: Server, urls: int, rounds: int, seed: int) -> tuple[int, int]:
    """How many pages need work, and what all of it must come to.

    Ask before the ledger is reset: the pages come from the server.
    """
    numbers = sorted(chosen(urls, WORK_EVERY, seed))
    bodies = server.get(f"/p/{number}" for number in numbers)
    total = sum(work.fold(work.words(body), rounds) for body in bodies)
    return len(numbers), total % work.LIMIT


# --- how long a round takes alone ------------------------------------------------------------

TRIES = 7
TRY_S = 0.01
"""A round is measured in so many tries, each this long; the median counts."""

START_S = 60.0


def measure(body: bytes, cores: list[int]) -> float:
    """Microseconds that a round on this page takes alone, on the client's processor.

    Raises :class:`bench.sides.servers.ServerError`.
    """
    child = Child("the measurement of a round", ["-m", "bench.conditions.work"])
    try:
        if cores:
            cpu.pin(child.pid, cores)
        child.send(body.hex())
        return float(child.receive(time.monotonic() + START_S))
    except (TimeoutError, ValueError, ProcessError) as error:
        raise ServerError(f"a round of work could not be measured: {error}") from None
    finally:
        child.close()


def main() -> None:
    """Print how many microseconds a round takes; the page comes on standard input, in hex."""
    body, rounds = bytes.fromhex(sys.stdin.readline()), 1
    while work.do(body, rounds).cpu_s < TRY_S:
        rounds *= 2
    took_s = median(work.do(body, rounds).cpu_s for _ in range(TRIES))
    print(1e6 * took_s / rounds, flush=True)


if __name__ == "__main__":
    main()
