"""Micro-benchmarks, counts and trials in one go: everything an account is made of.

The micro-benchmarks run twice, before and after the rest, so that a machine
that drifts shows in the quartiles of the prices, and not as a gap between
prices and pages.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

import psutil
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import backends, campaign, order, output, trial, workloads
from bench.micro.account import (
    FILE_NAME,
    MicroError,
    MicroRecord,
    Model,
    PageTrial,
    Price,
)
from bench.micro.operations import OPERATIONS, SWITCH_OF_THREADS
from bench.probes import environment
from bench.process import ROOT, Child, ProcessError
from bench.runner import own_command
from bench.schema import TrialRecord
from bench.servers import Server, ServerError
from bench.workloads import SITE_SEED, Point

QUIET_S = 120.0
"""The longest that a micro-benchmark or a counting crawl may keep silent."""
COLLECTED = re.compile(r"collected (\d+) item")
PASSED = " PASSED "
TROUBLE = re.compile(r"^(FAILED|ERROR)|error:")
US = 1e6


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured."""

    out: Path
    backends: Sequence[str] | None = None
    pages: int = 5000
    slots: int = 100
    blocks: int = 5
    rounds: int = 100
    seed: int | None = None


class Steps:
    """Progress, redrawn between steps only; plain lines where there is no terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self.console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=total)
        self._phase = ""

    def __enter__(self) -> Steps:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def expect(self, more: int) -> None:
        """There are more steps than was known."""
        self._bar.update(self._task, total=(self.progress[1] or 0) + more)

    def now(self, phase: str, what: str = "") -> None:
        """Say what is measured from here on."""
        if self.console.is_terminal:
            self._bar.update(self._task, description=f"{phase} {what}".rstrip())
            self._bar.refresh()
        elif phase != self._phase:
            self._phase = phase
            self.console.print(phase, highlight=False)

    @property
    def progress(self) -> tuple[float, float | None]:
        """How many steps are done, and of how many."""
        task = self._bar.tasks[self._task]
        return task.completed, task.total

    def done(self) -> None:
        """One step is done."""
        self._bar.advance(self._task)


def run(options: Options, console: Console) -> MicroRecord:
    """Measure everything and write it to ``options.out``, at the end and at once.

    Raises :class:`bench.errors.BenchError` for a backend that cannot be used and
    for a part that fails.
    """
    known = backends.look_up(options.backends or list(OPERATIONS))
    names = backends.choose(known, options.backends)
    if without := [name for name in names if name not in OPERATIONS]:
        raise MicroError(
            f"{without[0]}: no operations are named for it in bench/micro/operations.py; "
            f"choose from {', '.join(OPERATIONS)}"
        )
    output.make_folder(options.out)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    point = workloads.throughput(options.slots, options.pages, options.blocks)
    with Steps(console, len(names) * (options.blocks + 1)) as steps:
        times = benchmarks(options, steps, "micro-benchmarks, first pass")
        calls = count(point, names, steps)
        trials = measure(point, [each for each in known if each.name in names], seed, steps)
        later = benchmarks(options, steps, "micro-benchmarks, second pass")
    for name, (_, more) in later.items():
        times[name][1].extend(more)
    record = MicroRecord(
        created=trial.now(),
        command=own_command(sys.argv),
        environment=environment.collect(ROOT),
        point=point.id,
        site=point.site,
        slots=point.slots,
        blocks=options.blocks,
        seed=seed,
        prices={name: price(group, batches) for name, (group, batches) in times.items()},
        models={
            name: Model(
                calls=calls[name],
                trials=[t for t in trials[name] if isinstance(t, PageTrial)],
                void=[t for t in trials[name] if isinstance(t, str)],
            )
            for name in names
        },
    )
    save(record, options.out)
    return record


def save(record: MicroRecord, folder: Path) -> None:
    """Write the record, whole or not at all."""
    part = folder / f"{FILE_NAME}.part"
    part.write_text(record.model_dump_json(indent=1) + "\n")
    os.replace(part, folder / FILE_NAME)


Times = dict[str, tuple[str, list[float]]]
"""Name of a micro-benchmark: its group, and seconds an operation in each batch."""


def benchmarks(options: Options, steps: Steps, phase: str) -> Times:
    """One pass of all micro-benchmarks, in a process of their own."""
    steps.now(phase)
    with tempfile.TemporaryDirectory(prefix="c10k-") as folder:
        saved = Path(folder) / "saved.json"
        arguments = [
            *("-u", "-m", "pytest", str(ROOT / "bench" / "micro"), "-v"),
            *("--rounds", str(max(options.rounds // 2, 1)), "--pages", str(options.pages)),
            *("--benchmark-json", str(saved)),
        ]
        with Child("the micro-benchmarks", arguments) as child:
            said = follow(child, steps, phase)
            if child.process.returncode:
                words = [*said, *(child.last_words() or "").splitlines()]
                named = [line for line in words if TROUBLE.search(line)]
                raise MicroError(
                    f"the micro-benchmarks failed: {named[-1] if named else 'it is not said why'}; "
                    "see python -m pytest bench/micro"
                )
        return read(json.loads(saved.read_text()))


def follow(child: Child, steps: Steps, phase: str) -> list[str]:
    """Turn pytest's lines into progress until it has ended; returns them."""
    said: list[str] = []
    try:
        while True:
            line = child.hear(time.monotonic() + QUIET_S)
            said.append(line)
            if found := COLLECTED.search(line):
                steps.expect(int(found[1]))
            elif PASSED in line:
                steps.done()
                steps.now(phase, line.partition(" ")[0].rpartition("::")[2])
    except TimeoutError as error:
        raise MicroError(f"{error}: {said[-1] if said else 'nothing was said'}") from None
    except ProcessError:
        child.end()  # it has said all it had to say
    return said


def read(saved: Mapping[str, Any]) -> Times:
    """The times in pytest-benchmark's file, under the names that operations use."""
    found: Times = {}
    for row in saved["benchmarks"]:
        file, _, test = row["fullname"].rpartition("::")
        name = f"{Path(file).stem.removeprefix('test_')}.{test.removeprefix('test_')}"
        batches = row["stats"]["data"]
        found[name] = row["group"], batches
        if switches := row["extra_info"].get("switches_per_operation"):
            found[SWITCH_OF_THREADS] = "thread switch", [batch / switches for batch in batches]
    return found


def price(group: str, batches: Sequence[float]) -> Price:
    """The quartiles of all batches of both passes."""
    q1, q2, q3 = quantiles(batches, n=4, method="inclusive")
    return Price(
        group=group,
        median_us=q2 * US,
        q1_us=q1 * US,
        q3_us=q3 * US,
        min_us=min(batches) * US,
        batches=len(batches),
    )


def count(point: Point, names: Sequence[str], steps: Steps) -> dict[str, dict[str, float]]:
    """How often each backend calls what, per page."""
    found = {}
    try:
        with Server(point.site, seed=SITE_SEED, cores=[]) as server:
            for name in names:
                steps.now("counting", name)
                found[name] = count_one(name, server.prefix, point.slots)
                steps.done()
    except ServerError as error:
        raise MicroError(str(error)) from None
    return found


def count_one(name: str, prefix: str, slots: int) -> dict[str, float]:
    """One backend's calls per page, from one crawl under the profile hook."""
    with Child("the counting crawl", ["-m", "bench.micro.count"]) as child:
        child.say(json.dumps({"backend": name, "prefix": prefix, "slots": slots}))
        try:
            found = json.loads(child.hear(time.monotonic() + QUIET_S))
        except (TimeoutError, ProcessError) as error:
            raise MicroError(f"{name}: {error}") from None
    if found["errors"]:
        raise MicroError(f"{name}: the counting crawl had errors: {found['errors']}")
    return {call: times / found["pages"] for call, times in found["calls"].items()}


def measure(
    point: Point, chosen: Sequence[backends.Known], seed: int, steps: Steps
) -> dict[str, list[PageTrial | str]]:
    """Ordinary trials in balanced random order: each one's page, or why it does not count."""
    found: dict[str, list[PageTrial | str]] = {each.name: [] for each in chosen}
    with ExitStack() as stack:
        pinning = stack.enter_context(campaign.out_of_the_way())
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-"))
        try:
            bench = trial.Bench(
                warmup=stack.enter_context(campaign.warmup_server(pinning)),
                backends={each.name: each for each in chosen},
                pinning=pinning,
                seed=seed,
                scratch=Path(scratch),
            )
            for turns in order.schedule({point.id: list(found)}, {point.id: point.blocks}, seed):
                with campaign.start(point, pinning) as server:
                    for turn in turns:
                        steps.now("trials", f"block {turn.block + 1} {turn.label}")
                        found[turn.label].append(page(bench, point, turn, server))
                        steps.done()
        except ServerError as error:
            raise MicroError(str(error)) from None
    return found


def page(bench: trial.Bench, point: Point, turn: order.Turn, server: Server) -> PageTrial | str:
    """One trial, per page; or why it does not count."""
    process = psutil.Process(server.pid)
    before = process.num_ctx_switches().voluntary
    record: TrialRecord = trial.run(bench, point, turn, server, 0)
    wakes = process.num_ctx_switches().voluntary - before
    if record.status != "ok" or record.cpu is None or not record.pages:
        return f"{record.status}: {record.reason}"
    sleeps, faults = (record.extra[name] for name in ("switches_voluntary", "page_faults"))
    assert isinstance(sleeps, int)
    assert isinstance(faults, int)
    return PageTrial(
        block=turn.block,
        user_us=record.cpu.client_user_s * US / record.pages,
        system_us=record.cpu.client_system_s * US / record.pages,
        sleeps=sleeps / record.pages,
        wakes=wakes / record.pages,
        faults=faults / record.pages,
    )
