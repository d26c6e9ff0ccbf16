"""Measures everything that an account needs: micro-benchmarks, counts and trials.

The micro-benchmarks run twice, before and after the rest. If the machine drifts, the
quartiles of the prices show it, instead of a gap between prices and pages.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console

from bench import filesystem
from bench.launch import ROOT
from bench.machine.probes import environment
from bench.micro.account import FILE_NAME, MicroError, MicroRecord, Model, PageTrial
from bench.micro.operations import OPERATIONS
from bench.micro.prices import QUIET_S, US, benchmarks, price
from bench.micro.steps import Steps
from bench.plan import backends, order, workloads
from bench.plan.cast import Cast
from bench.plan.labels import Label
from bench.plan.workloads import SITE_SEED, Point
from bench.run import campaign, trial
from bench.run.process import Child, ProcessError
from bench.run.runner import own_command
from bench.run.servers import Server, ServerError
from bench.run.state import Bench
from bench.schema import TrialRecord
from bench.text import now
from crawlers.backend import Backend


@dataclass(frozen=True, slots=True)
class MicroOptions:
    """How much to measure."""

    out: Path
    backends: Sequence[str] | None = None
    pages: int = 5000
    slots: int = 100
    blocks: int = 5
    rounds: int = 100
    seed: int | None = None


def run(options: MicroOptions, console: Console) -> MicroRecord:
    """Measure everything and write the record to ``options.out`` at the end.

    Raises :class:`bench.errors.BenchError` for a backend that cannot be used, or if a
    part fails.
    """
    known = backends.look_up(options.backends or list(OPERATIONS))
    names = backends.choose(known, options.backends)
    if without := [name for name in names if name not in OPERATIONS]:
        raise MicroError(
            f"{without[0]} has no operations in bench/micro/operations.py; "
            f"choose from {', '.join(OPERATIONS)}"
        )
    filesystem.make_folder(options.out)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    point = workloads.throughput(options.slots, options.pages, Cast(options.blocks))
    with Steps(console, len(names) * (options.blocks + 1)) as steps:
        rounds = max(options.rounds // 2, 1)
        times = benchmarks(rounds, options.pages, steps, "micro-benchmarks, first pass")
        calls = count(point, names, steps)
        trials = measure(point, [each for each in known if each.name in names], seed, steps)
        later = benchmarks(rounds, options.pages, steps, "micro-benchmarks, second pass")
    for name, (_, more) in later.items():
        times[name][1].extend(more)
    record = MicroRecord(
        created=now(),
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
    """Write the record completely or not at all."""
    filesystem.write_text(folder / FILE_NAME, record.model_dump_json(indent=1) + "\n")


def count(point: Point, names: Sequence[str], steps: Steps) -> dict[str, dict[str, float]]:
    """Each backend's calls per page."""
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
    """One backend's calls per page, from one crawl under a profile hook."""
    with Child("the counting crawl", ["-m", "bench.micro.count"]) as child:
        child.send(json.dumps({"backend": name, "prefix": prefix, "slots": slots}))
        try:
            found = json.loads(child.receive(time.monotonic() + QUIET_S))
        except (TimeoutError, ProcessError) as error:
            raise MicroError(f"{name}: {error}") from None
    if found["errors"]:
        raise MicroError(f"{name}: the counting crawl had errors: {found['errors']}")
    return {call: times / found["pages"] for call, times in found["calls"].items()}


def measure(
    point: Point, chosen: Sequence[Backend], seed: int, steps: Steps
) -> dict[str, list[PageTrial | str]]:
    """Ordinary trials in balanced random order; each gives its page, or why it does not count."""
    found: dict[str, list[PageTrial | str]] = {each.name: [] for each in chosen}
    with ExitStack() as stack:
        pinning = stack.enter_context(campaign.out_of_the_way())
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-"))
        try:
            bench = Bench(
                warmup=stack.enter_context(campaign.warmup_server(pinning)),
                backends={each.name: each for each in chosen},
                pinning=pinning,
                seed=seed,
                scratch=Path(scratch),
            )
            cast = {Label(name): point.blocks for name in found}
            for turns in order.schedule({point.id: cast}, seed):
                with campaign.start(point, pinning) as server:
                    for turn in turns:
                        steps.now("trials", f"block {turn.block + 1} {turn.label}")
                        found[turn.label.name].append(page(bench, point, turn, server))
                        steps.done()
        except ServerError as error:
            raise MicroError(str(error)) from None
    return found


def page(bench: Bench, point: Point, turn: order.Turn, server: Server) -> PageTrial | str:
    """One trial per page, or why it does not count."""
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
