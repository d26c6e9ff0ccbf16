"""Before a campaign: what this machine forbids, who else measures, and whether there is time."""

from __future__ import annotations

import re
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from rich.console import Console

from bench.controls import CONTROLS
from bench.machine import doctor, procfs
from bench.machine.doctor import Needs
from bench.plan import budget
from bench.plan.backends import of_role
from bench.plan.budget import block_s
from bench.plan.labels import TWIN, Label
from bench.plan.participants import TWINS, Participants
from bench.plan.plan import Plan, PlannedPoint, Turn
from bench.plan.tls import SERVER_KIB, client_kib
from bench.plan.workloads import Point, fetch
from bench.run import block
from bench.run.campaign import out_of_the_way, warmup_server
from bench.run.trial import Bench
from bench.schema import Budget
from bench.sides.servers import Server, ServerError
from bench.sides.tls import Tls
from bench.text import KIB, minutes
from crawlers.backend import Backend

THREADED = "threads"
"""The family that starts a thread for each slot."""

SLOWEST = 4.0
"""A plan that would be in time even on a machine this slow needs no rehearsal."""


def refusals(
    todo: Plan, known: Sequence[Backend], folder: Path, console: Console
) -> dict[tuple[str, Label], str]:
    """Examine the machine; maps (point, label) pairs that its limits forbid to the reasons."""
    doctor.raise_descriptor_limit()
    connections = max(point.slots for point in todo.points.values())
    for result in doctor.examine(Needs(connections, connections, folder=folder)):
        # Connections are opened at a paced rate, so the backlog is deep enough.
        if result.level in ("warning", "refusal") and result.check != "backlog":
            text = f"{result.level}: {result.check}: {result.found}: {result.effect}"
            fix = f" ({result.fix})" if result.fix else ""
            console.print(text + fix)
    by_name = CONTROLS | {backend.name: backend for backend in known}
    refused = {}
    for entry in todo.entries:
        point = entry.point
        for label in entry.labels:
            backend = of_role(point, label, by_name)
            threads = point.slots if backend.family == THREADED else 0
            reason = unable(backend, point) or doctor.refuse(
                Needs(point.slots, threads, folder=folder, **over_tls(point, label))
            )
            if reason:
                refused[point.id, label] = reason
    return refused


def unable(backend: Backend, point: Point) -> str | None:
    """Why a backend can never run this point: its connections, or TLS; None when it can."""
    if point.over_tls and (reason := backend.no_https):
        return f"{backend.name} has no HTTPS: {reason}"
    if not point.held or backend.most is None or backend.most >= point.slots:
        return None
    return f"{backend.name} holds at most {backend.most} connections at once ({backend.changes})"


def over_tls(point: Point, label: Label) -> dict[str, int]:
    """Bytes that each held connection of this label takes over TLS, at both ends."""
    if point.tls is None or not point.memory:
        return {}
    return {"tls_client": client_kib(label.name) * KIB, "tls_server": SERVER_KIB * KIB}


def in_time(
    entries: list[PlannedPoint],
    budget_s: float,
    known: Sequence[Backend],
    console: Console,
) -> tuple[list[PlannedPoint], Budget | None]:
    """Measure the machine, cut blocks that it has no time for, and say which."""
    if budget.plan_s(entries, SLOWEST) <= budget_s:
        return entries, None
    slowness = rehearse([backend for backend in known if backend.missing is None])
    if slowness is None:
        console.print("the speed of this machine could not be measured; all blocks are kept")
        return entries, None
    kept, found = budget.fit(entries, budget_s, slowness)
    if found.cuts:
        console.print(explain(found))
    return kept, found


def explain(found: Budget) -> str:
    fewer = [f"{cut.point} ({cut.blocks} of {cut.planned})" for cut in found.cuts if cut.blocks]
    dropped = [cut.point for cut in found.cuts if not cut.blocks]
    cuts = [f"these points get fewer blocks: {', '.join(fewer)}"] if fewer else []
    cuts += [f"these are left out: {', '.join(dropped)}"] if dropped else []
    late = found.expected_s > found.budget_s
    return (
        f"trials take {found.slowness:.1f} times as long here as the profile assumes, "
        f"{minutes(found.planned_s)} min in all. To measure for no more than "
        f"{minutes(found.budget_s)} min, {'; '.join(cuts)}."
        + (f" That still takes about {minutes(found.expected_s)} min." if late else "")
        + " Use --no-budget to measure every block."
    )


# --- a few seconds of rehearsal ----------------------------------------------------------


BLOCKS = 2
URLS = 15_000


def rehearse(
    known: Sequence[Backend], point: Point | None = None, blocks: int = BLOCKS
) -> float | None:
    """How many times longer a block takes here than on the reference machine; None if it fails.

    Runs a few small blocks in turns, with every backend that is usually a twin under two labels.
    They are like the blocks of the campaign, so start-up is included.
    """
    point = point or fetch(100, URLS, Participants(blocks))
    names = [backend.name for backend in known if backend.name in TWINS] or [known[0].name]
    labels = [Label(name, condition=own) for name in names for own in ("", TWIN)]
    entry = PlannedPoint(point, dict.fromkeys(labels, 1))
    took = planned = 0.0
    with ExitStack() as stack:
        pinning = stack.enter_context(out_of_the_way())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-")))
        try:
            warmups: dict[Tls | None, Server] = {None: stack.enter_context(warmup_server(pinning))}
            by_name = {backend.name: backend for backend in known}
            bench = Bench(warmups, by_name, pinning, 0, scratch)
            for number in range(blocks):
                turns = [Turn(number, point.id, at, label) for at, label in enumerate(labels)]
                began = time.monotonic()
                records, _ = block.run(bench, point, dict(enumerate(turns)))
                # Void for want of a counted turn: the block took its time all the same.
                if all(record.status in ("ok", "void") for record in records):
                    took += time.monotonic() - began
                    planned += block_s(entry)
        except ServerError:
            return None
    return took / planned if planned else None


# --- other campaigns ---------------------------------------------------------------------


NAME = "c10k-crawlers.campaign."


@contextmanager
def announced(console: Console) -> Iterator[None]:
    """Warn about other campaigns at the start, and at the end: they share the processors.

    Every campaign has a socket with a name in the kernel's memory (unix(7), "abstract"), which
    goes with its process, however that ends. One that starts sends a word to each of the others.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        own.setblocking(False)
        others = re.findall(rf" @({re.escape(NAME)}\w+)$", procfs.read("proc/net/unix") or "", re.M)
        for other in others:
            with suppress(OSError):  # it has just ended
                own.sendto(b"hello", f"\0{other}")
        with suppress(OSError):  # not Linux
            own.bind(f"\0{NAME}{secrets.token_hex(8)}")
        if others:
            console.print(
                "warning: another campaign is running on this machine; both will measure each "
                "other's load. Stop one of them",
                style="yellow",
            )
        try:
            yield
        finally:
            with suppress(BlockingIOError):
                others += [own.recv(100).decode()]
            if others:
                console.print(
                    "warning: another campaign ran on this machine at the same time, so both "
                    "measured each other's load. Run them one after the other",
                    style="yellow",
                )
