"""``python -m tools.turn_cost``: why does a page cost more in turns than in a whole trial?

The guess is that a turn starts with cold caches: cpu per page = steady + refill / pages of the
turn. This tries to refute it. In each block eight crawls are alive at once. They take turns of
5 to 400 ms, and turns of 10 ms that differ only in what happened before:

* ``others``: seven other crawls had turns in between;
* ``one``: one other crawl, again and again;
* ``itself``: nobody; it was stopped and resumed at once;
* ``pause``: nobody, but it stayed stopped for 20 ms;
* ``swept``: a program copied memory on the crawl's processor for 10 ms;
* ``server swept``: a program copied memory on the server's processor for 10 ms.

All of this happens to the same processes, in random order, so seeds, layouts and the position in
the crawl cancel. What longer turns cost from 20 to 100 ms after they began is ``steady``: nothing
has stopped the crawl for a while. If stopping itself (timers, signals, a wake-up of the selector,
exchanges that span the stop) were the cause, ``itself`` would cost as much as ``others``. If time
or clock rates were, ``pause`` would. If a cold server were, ``server swept`` would.

It writes what it measured to results/turn-cost/record.jsonl.gz, block by block, and prints the
tables. ``--show`` only prints them, and ``python -m tools.rebuild documents`` puts them into
docs/decisions.md. A campaign's own turns and whole trials are compared in its report.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.launch import ROOT
from bench.machine.probes import cpu, environment, host
from bench.plan import backends, workloads
from bench.plan.cast import BASE, Cast
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.plan.workloads import Point
from bench.run import interrupts, record, together
from bench.run.campaign import out_of_the_way, warmup_server
from bench.run.group import Group, GroupEndedError
from bench.run.interrupts import interruptible
from bench.run.process import Child
from bench.run.state import Bench
from bench.run.together import Member
from bench.run.turns import undisturbed
from tools import turn_cost_record as record_of
from tools import turn_cost_report as report
from tools.turn_cost_record import RECORD, Block, Cell, Head

LABELS: Final = (
    *(BASE, f"{BASE}#2", "generators", "async_await"),
    *("threads", "uvloop", "trio", "aiohttp"),
)
PAGES: Final = 60_000
"""For ``callbacks``; the others get fewer. No crawl should run out before the block ends."""
LENGTHS: Final = {5: 12, 10: 10, 20: 5, 40: 4, 100: 3}
"""Length of a turn in milliseconds -> rounds of it in a block."""
LONG: Final = {400: 1}
"""Only in every third block: one such round takes as long as all rounds of 5 to 40 ms."""
LONG_EVERY, LONG_PAGES = 3, 1.35
"""How often that is, and how many times the pages such a block needs."""
BESIDE_MS: Final = 10
AGAIN: Final = 8
"""Turns of :data:`BESIDE_MS` in each of the other conditions, for each label of a block."""
PAUSE_S, SWEEP_S = 0.02, 0.01
LOOKS_MS: Final = (20, 40, 100)
"""When the harness looks at a longer turn, in milliseconds after it began.

The clock of a process that runs is exact to the last tick of the scheduler only, 4 ms or less
before. These moments are multiples of a tick apart, so that what is missing cancels.
"""

SWEEPER: Final = """
one, other = bytearray(1 << 24), bytearray(1 << 24)
print("ready", flush=True)
while True:
    other[:] = one
"""
"""Copies 16 MiB again and again: more than the caches of one processor hold."""

Key = tuple[str, str, int, int, int]
"""Label, condition, length, and the part of the turn from and to which this is (ms)."""


@dataclass(slots=True)
class Session:
    """One block while it runs."""

    members: list[Member]
    rng: random.Random
    sweepers: dict[str, Group]
    sums: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0] * 4))
    last: int = -1

    def able(self) -> list[int]:
        """The places of the labels whose slots all have work."""
        return [i for i, m in enumerate(self.members) if m.taker.lost is None and m.taker.busy]


def turn(session: Session, place: int, length_ms: int, before: str | None) -> None:
    """One turn, looked at several times. With a condition it counts, if its slots have work."""
    taker = session.members[place].taker
    looks = [at for at in LOOKS_MS if at < length_ms]
    seen = [(0.0, taker.count(), taker.worker.cpu_s())]
    busy = taker.busy
    began = time.monotonic()
    try:
        taker.server.resume()
        taker.worker.resume()
        if not taker.begun:
            taker.begun = True
            taker.begin()
        for at in (*looks, length_ms):
            with interruptible():
                time.sleep(max(0.0, began + at / 1000 - time.monotonic()))
            seen.append((time.monotonic() - began, taker.count(), taker.worker.cpu_s()))
    finally:
        for group in (taker.worker, taker.server):
            try:
                group.stop()
            except GroupEndedError:
                taker.lost = "it ended in its turn"
    seen.append((time.monotonic() - began, taker.count(), taker.worker.cpu_s()))
    session.last = place
    if before is None or not busy or not taker.busy or taker.lost:
        return
    parts = [0, *looks, length_ms, record_of.STOPPED]
    for start, end, first, then in zip(parts, parts[1:], seen, seen[1:], strict=False):
        found = session.sums[taker.name, before, length_ms, start, end]
        for i, amount in enumerate((1, then[1] - first[1], then[2] - first[2], then[0] - first[0])):
            found[i] += amount


def rounds(session: Session, length_ms: int) -> None:
    """Everybody has one turn of this length, in a random order, never twice in a row."""
    order = session.able()
    session.rng.shuffle(order)
    if len(order) > 1 and order[0] == session.last:
        order.append(order.pop(0))
    for place in order:
        turn(session, place, length_ms, record_of.OTHERS if place != session.last else None)


def alternate(session: Session, first: int, second: int) -> None:
    """Two labels in alternation; the first turn of each follows something else."""
    for number in range(AGAIN + 1):
        for place in (first, second):
            turn(session, place, BESIDE_MS, record_of.ONE if number else None)


def alone(session: Session, place: int, before: str) -> None:
    """One label again and again, with nothing, a pause or a sweep between its turns."""
    for number in range(AGAIN + 1):
        if number and before == record_of.PAUSE:
            with interruptible():
                time.sleep(PAUSE_S)
        elif number and before in session.sweepers:
            sweeper = session.sweepers[before]
            sweeper.resume()
            try:
                with interruptible():
                    time.sleep(SWEEP_S)
            finally:
                sweeper.stop()
        turn(session, place, BESIDE_MS, before if number else None)


def scenes(session: Session, lengths: dict[int, int], again: Sequence[str]) -> None:
    """Everything that a block does, in random order."""
    todo: list[Callable[[], None]] = []
    for length_ms, number in lengths.items():
        todo += [lambda ms=length_ms: rounds(session, ms)] * number  # type: ignore[misc]
    places = list(range(len(session.members)))
    session.rng.shuffle(places)
    if len(places) > 1:
        todo += [
            lambda a=a, b=b: alternate(session, a, b)  # type: ignore[misc]
            for a, b in zip(places[::2], places[1::2], strict=False)
        ]
    for before in again:
        todo += [lambda p=p, b=before: alone(session, p, b) for p in places]  # type: ignore[misc]
    session.rng.shuffle(todo)
    for scene in todo:
        scene()


def fill(session: Session) -> None:
    """Turns of 10 ms until all slots of a label are busy; they tell what a start costs."""
    for place, member in enumerate(session.members):
        taker = member.taker
        before = (taker.count(), taker.worker.cpu_s())
        while taker.filling:
            turn(session, place, BESIDE_MS, None)
        sums = session.sums[taker.name, record_of.FILLING, 0, 0, 0]
        for i, amount in enumerate(
            (1, taker.count() - before[0], taker.worker.cpu_s() - before[1], 0.0)
        ):
            sums[i] += amount


@contextmanager
def sweepers(bench: Bench) -> Iterator[dict[str, Group]]:
    """A stopped program for either processor, which copies memory when it is let run."""
    with ExitStack() as stack:
        found = {}
        for name, cores in (
            (record_of.SWEPT, bench.pinning.client),
            (record_of.SERVER_SWEPT, bench.pinning.server),
        ):
            child = stack.enter_context(Child(f"the program that is {name}", ["-c", SWEEPER]))
            group = Group(child.pid)
            stack.callback(group.kill)
            cpu.pin(child.pid, cores)
            child.receive(time.monotonic() + 60)
            group.stop()
            found[name] = group
        yield found


def run_block(
    bench: Bench, point: Point, labels: Sequence[str], number: int, lengths: dict[int, int]
) -> Block:
    """One block: fresh processes, every scene, and whole crawls that are checked at their end."""
    noise = host.start()
    began = time.monotonic()
    with ExitStack() as stack:
        swept = stack.enter_context(sweepers(bench))
        members = [
            together.start(
                stack, bench, point, Turn(number, point.id, i, Label.parse(label)), i, noise
            )
            for i, label in enumerate(labels)
        ]
        try:
            for member in members:
                member.trial.server.ready()
                together.set_to_work(member)
            for member in members:
                together.warm(member)
            session = Session(members, random.Random(f"{bench.seed} {number}"), swept)
            with undisturbed():
                fill(session)
                scenes(session, lengths, (record_of.ITSELF, record_of.PAUSE, *swept))
            out = [m.taker.name for m in members if not m.taker.busy]
            together.finish(members)
        finally:
            for member in members:
                member.end()
    after = host.finish(noise)
    for member in members:
        member.trial.host, member.trial.turns = after, None
    judged = [record.finish(member.trial) for member in members]
    for member in members:
        member.forget()
    return Block(
        block=number,
        wall_s=round(time.monotonic() - began, 2),
        load1=after.load1,
        steal_s=after.steal_s,
        probe_s=(after.probe_before_s + after.probe_after_s) / 2,
        bad={one.label: one.reason or one.status for one in judged if one.status != "ok"},
        out_of_work=out,
        cells=[
            Cell(
                label=label,
                before=before,
                turn_ms=length,
                from_ms=start,
                to_ms=end,
                turns=round(sums[0]),
                exchanges=round(sums[1]),
                cpu_us=round(1e6 * sums[2]),
                wall_us=round(1e6 * sums[3]),
            )
            for (label, before, length, start, end), sums in sorted(session.sums.items())
        ],
    )


def crawl(pages: int) -> Point:
    """The crawl of ``throughput-100`` on a site of so many pages."""
    return replace(workloads.throughput(100, pages, Cast(1)), id="turn-cost-100")


def measure(
    out: Path, labels: Sequence[str], pages: int, minutes: float, blocks: int, seed: int
) -> None:
    """Run blocks until there is no time for another, and write each to the file at once."""
    names = sorted({Label.parse(label).name for label in labels})
    known = backends.look_up(names)
    backends.choose(known, names)
    # Before the harness keeps to one processor.
    where = environment.collect(ROOT)
    head = Head(environment=where, labels=list(labels), pages=pages, seed=seed)
    end = time.monotonic() + 60 * minutes
    console = Console(stderr=True)
    with (
        interrupts.deferred(),
        out_of_the_way() as pinning,
        tempfile.TemporaryDirectory() as scratch,
        warmup_server(pinning) as warmup,
    ):
        if not pinning.client:
            raise SystemExit(f"this needs two processors: {pinning.reason}")
        named = {backend.name: backend for backend in known}
        bench = Bench(warmup, named, pinning, seed, Path(scratch))
        done: list[Block] = []
        longest_s = 0.0
        while len(done) < blocks and time.monotonic() + longest_s < end:
            began = time.monotonic()
            is_long = len(done) % LONG_EVERY == 0
            lengths = LENGTHS | LONG if is_long else LENGTHS
            point = crawl(round(pages * LONG_PAGES) if is_long else pages)
            done.append(run_block(bench, point, labels, len(done), lengths))
            longest_s = max(longest_s, time.monotonic() - began)
            record_of.write(out, head, done)
            console.print(f"block {len(done)}: {longest_s:.0f} s at most so far")
            for label, why in done[-1].bad.items():
                console.print(f"left out: {label}: {why}")


def main() -> None:
    """Measure, unless only asked to show, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.turn_cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=RECORD, help="the record's file")
    parser.add_argument("--minutes", type=float, default=4.5, help="start no block after this")
    parser.add_argument("--blocks", type=int, default=30, help="at most so many blocks")
    parser.add_argument("--pages", type=int, default=PAGES, help="pages of callbacks")
    parser.add_argument("--seed", type=int, default=20_263)
    parser.add_argument("--labels", default=",".join(LABELS), help="which labels are alive")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    if not asked.show:
        labels = asked.labels.split(",")
        try:
            measure(asked.out, labels, asked.pages, asked.minutes, asked.blocks, asked.seed)
        except KeyboardInterrupt:
            print("interrupted; the blocks before this one are kept", file=sys.stderr)
            raise SystemExit(130) from None
    print(report.text(record_of.read(asked.out)))


if __name__ == "__main__":
    main()
