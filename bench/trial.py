"""One trial: pin, start, warm up, go, sample, verify, record.

The timed part is the worker's alone. The harness sleeps through it, but for a
look at the worker's thread count now and then (for c10k: at the barrier).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench import fairness, limiter, stats
from bench.backends import Known
from bench.interrupts import interruptible
from bench.order import Turn
from bench.probes import cpu, host, kernel, memory, ramp
from bench.process import HASH_SEED, OWN_PYTHON, Child, ProcessError, dies_with_parent
from bench.schema import Cpu, Fairness, Latency, Ledger, Memory, Ramp, TrialRecord
from bench.servers import Server, ServerError
from bench.verify import void_reason
from bench.workloads import (
    NULL_SUFFIX,
    RAMP_PER_S,
    SITE_SEED,
    Params,
    Point,
    backend_of,
    interpreter_of,
    model_of,
)

START_S = 30.0
SAMPLE_S = 0.25
RELEASE_SAMPLE_S = 0.05
"""Between looks while the barrier empties, which takes the loops a second."""
BARRIER_POLL_S = 0.02
BARRIER_SETTLE_S = 0.1
"""Wait between "all are held" and the reading: the last client has yet to go to sleep."""
DRAIN_S = 3.0
TIME_WAIT_ALLOWED = 100_000
"""Leftover sockets that a trial may start with; each lasts 60 s.

One holds its port only towards the server address it was connected to, and
every block of a point has a server of its own, so it is in nobody's way. Their
number is recorded with the trial, and must not grow without end: ten thousand
connections leave ten thousand.
"""


class TrialError(Exception):
    """The worker did not give a result; the message is the record's reason."""


@dataclass(slots=True)
class Bench:
    """What all trials of a campaign share."""

    warmup: Server
    backends: Mapping[str, Known]
    pinning: cpu.Pinning
    seed: int
    scratch: Path
    deadline_s: float | None = None
    ceilings: dict[str, float] = field(default_factory=dict)
    pythons: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"": OWN_PYTHON})


@dataclass(slots=True)
class Findings:
    """What a trial found, as far as it came."""

    hello: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] | None = None
    ledger: Ledger | None = None
    memory: Memory | None = None
    ramp: Ramp | None = None
    server_growth: int | None = None
    server_cpu: tuple[float, float] | None = None
    kernel: dict[str, int | None] = field(default_factory=dict)
    threads: int = 0
    status: str = "ok"
    reason: str | None = None
    stderr: str | None = None
    unpinned: str | None = None


def now() -> str:
    """The time, ISO 8601, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def schedule_seed(bench: Bench, turn: Turn) -> int:
    """The arrival schedule's seed: the same for all labels of a block, new in each block."""
    return bench.seed * 1000 + turn.block


def params(point: Point, turn: Turn) -> Params:
    """The point's parameters, and which recorder was used."""
    null = turn.label.endswith(NULL_SUFFIX)
    return point.params | {"recorder": "null" if null else point.recorder}


def key(record: TrialRecord) -> tuple[int, str, str]:
    """The :attr:`bench.order.Turn.key` of the turn that gave this record."""
    suffix = NULL_SUFFIX if record.params.get("recorder") == "null" else ""
    return record.block, record.point, record.label + suffix


def command(bench: Bench, point: Point, turn: Turn, server: Server) -> dict[str, Any]:
    """What the worker is told."""
    schedule: dict[str, Any] | None = None
    if point.kind == "openloop":
        schedule = {
            "kind": "poisson",
            "rate": point.rate,
            "seed": schedule_seed(bench, turn),
        }
    elif point.kind == "hold":
        schedule = {
            "kind": "constant",
            "rate": RAMP_PER_S,
            "seed": 0,
        }
    return {
        "backend": model_of(backend_of(turn.label)),
        "prefix": server.prefix,
        "warmup_prefix": bench.warmup.prefix,
        "urls": point.urls,
        "slots": point.slots,
        "timeout_s": bench.deadline_s or point.deadline_s,
        "schedule": schedule,
        "switch_interval_s": point.params["switch_interval_s"],
        "recorder": params(point, turn)["recorder"],
        "out": str(bench.scratch / "times"),
        "watch_parent": dies_with_parent() is None,
    }


def run(bench: Bench, point: Point, turn: Turn, server: Server, number: int) -> TrialRecord:
    """Run one trial and return its record, whatever becomes of it.

    A worker that fails or hangs, and a server that went away, give a record
    that says so.
    """
    began = time.monotonic()
    started = now()
    noise = host.start()
    found = Findings()
    python = bench.pythons[interpreter_of(backend_of(turn.label))]
    with Child("the worker", ["-m", "bench.worker"], python=python) as child:
        try:
            measure(bench, point, turn, server, child, found)
        except TimeoutError:
            child.abort()
            limit = bench.deadline_s or point.deadline_s
            found.status, found.reason = "failed", f"no result in {limit:g} s; the worker was ended"
        except (ProcessError, TrialError, ServerError) as error:
            found.status, found.reason = "failed", str(error)
        if found.status == "failed":
            child.end(0.5)
            found.stderr = child.last_words()
    return record(bench, point, turn, server, number, found, started, began, noise)


def measure(
    bench: Bench, point: Point, turn: Turn, server: Server, child: Child, found: Findings
) -> None:
    """The worker's life; fills in ``found`` as it goes."""
    cores = bench.pinning.client
    found.unpinned = cpu.pin(child.pid, cores) if cores else bench.pinning.reason
    child.say(json.dumps(command(bench, point, turn, server)))
    began = time.monotonic()
    found.hello = answer(child, began + START_S)
    found.hello["ready_s"] = time.monotonic() - began
    server.reset()
    reader = None
    if point.kind == "hold":
        reader = memory.Reader(child.pid, server.pid)
        memory.settle()
        before = reader.read()
        server.hold()
    counters = kernel.counters()
    user, system = server.cpu()
    deadline = time.monotonic() + (bench.deadline_s or point.deadline_s)
    child.say("go")
    watch = ramp.Watch(child.pid) if reader is not None else None
    try:
        if reader is not None and watch is not None:
            barrier(point, server, child, deadline, watch)
            found.threads = threads(child.pid)
            held = reader.read()
            watch.opens()
            server.release()
            found.memory = memory.memory(before, held, point.slots)
            found.server_growth = memory.server_growth(before, held, point.slots)

        def sample() -> None:
            found.threads = max(found.threads, threads(child.pid))
            if watch is not None:
                watch.look(server.barrier()[1])

        every_s = SAMPLE_S if watch is None else RELEASE_SAMPLE_S
        found.result = answer(child, deadline, sample, every_s)
        sample()
    except BaseException:
        if reader is not None and server.alive:
            server.release()
        raise
    finally:
        found.ramp = watch.ramp() if watch is not None else None
    user_after, system_after = server.cpu()
    found.server_cpu = (user_after - user, system_after - system)
    found.kernel = kernel.delta(counters, kernel.counters())
    found.ledger = server.ledger()


def answer(
    child: Child,
    deadline: float,
    sample: Callable[[], None] | None = None,
    every_s: float = SAMPLE_S,
) -> dict[str, Any]:
    """The worker's next message; ``sample`` is called each ``every_s`` seconds until then.

    Raises :class:`TrialError` when it is that the worker failed, or no message.
    """
    line = child.hear(deadline, every_s if sample else None, sample)
    try:
        message: dict[str, Any] = json.loads(line)
    except ValueError:
        raise TrialError(f"the worker wrote {line[:80]!r} where a message was due") from None
    if message.get("event") == "failed":
        raise TrialError(f"the worker failed: {message.get('error')}")
    return message


def barrier(point: Point, server: Server, child: Child, deadline: float, watch: ramp.Watch) -> None:
    """Wait until every connection's request is held by the server, and watch that come.

    Raises :class:`TimeoutError` or :class:`TrialError` when that does not come.
    """
    while True:
        held, connections = server.barrier()
        watch.look(connections)
        if held >= point.slots:
            break
        if child.process.poll() is not None:
            raise TrialError(f"the worker ended before the barrier: {child.ending()}")
        if time.monotonic() > deadline:
            raise TrialError(f"only {held} of {point.slots} connections reached the barrier")
        with interruptible():
            time.sleep(BARRIER_POLL_S)
    time.sleep(BARRIER_SETTLE_S)


def threads(pid: int) -> int:
    """How many threads a process has now; 0 where that cannot be read cheaply."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int(status.partition("\nThreads:")[2].split(None, 1)[0])


def latency(path: Path, count: int) -> Latency | None:
    """The distribution of the times the worker wrote, None when there are none."""
    if not count:
        return None
    return stats.encode_latency(np.fromfile(path, np.float64, count))


def fairness_of(out: Path, result: dict[str, Any], slots: int) -> Fairness | None:
    """How evenly the slots got on, None where the worker did not keep that."""
    if "slots" not in result:
        return None
    return fairness.fairness(
        np.fromfile(out.with_suffix(".slots"), "l", result["slots"]),
        np.fromfile(out.with_suffix(".ended"), np.float64, result["ended"]),
        slots,
    )


def record(
    bench: Bench,
    point: Point,
    turn: Turn,
    server: Server,
    number: int,
    found: Findings,
    started: str,
    began: float,
    noise: host.Before,
) -> TrialRecord:
    """The record of a trial; also drains the sockets it left."""
    values: dict[str, Any] = {
        "trial": number,
        "block": turn.block,
        "position": turn.position,
        "workload": point.workload,
        "point": point.id,
        "params": params(point, turn),
        "backend": backend_of(turn.label),
        "label": turn.label.removesuffix(NULL_SUFFIX),
        "family": bench.backends[backend_of(turn.label)].family,
        "rung": bench.backends[backend_of(turn.label)].rung,
        "started": started,
        "digest_expected": server.digest,
        "kernel": found.kernel,
        "pinning": {
            "client": bench.pinning.client or None,
            "server": bench.pinning.server or None,
            "reason": found.unpinned or server.not_pinned or bench.pinning.reason,
        },
        "seeds": {"hash": HASH_SEED, "site": SITE_SEED, "campaign": bench.seed},
        "memory": found.memory,
        "ramp": found.ramp,
        "stderr": found.stderr,
    }
    if point.kind == "openloop":
        values["seeds"]["schedule"] = schedule_seed(bench, turn)
    if found.result is None or found.ledger is None:
        values |= dict.fromkeys(EMPTY) | {"statuses": {}, "errors": {}, "mechanism": {}}
        extra: dict[str, Any] = {}
    else:
        outcome, extra = measured(bench, point, server, found, found.result, found.ledger)
        values |= outcome
    drained = kernel.drain(DRAIN_S, TIME_WAIT_ALLOWED)
    extra["time_wait_left"] = drained.time_wait
    extra["ready_s"] = found.hello.get("ready_s")
    values["host"] = host.finish(noise)
    values |= {"status": found.status, "reason": found.reason, "extra": extra}
    values["trial_s"] = time.monotonic() - began
    return TrialRecord.model_validate(values)


EMPTY = (
    *("elapsed_s", "pages", "bytes", "pages_per_s", "redirects"),
    *("digest", "cpu", "service_time", "ledger"),
)
"""What a trial without a result does not have."""


def measured(
    bench: Bench,
    point: Point,
    server: Server,
    found: Findings,
    result: dict[str, Any],
    ledger: Ledger,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts of a record that need a result; also settles the trial's status."""
    elapsed = result["elapsed_s"]
    rate = result["answered"] / elapsed if elapsed else 0.0
    client_share = (result["user_s"] + result["system_s"]) / result["call_s"]
    server_user, server_system = found.server_cpu or (None, None)
    server_share = None
    if server_user is not None and server_system is not None:
        server_share = (server_user + server_system) / result["call_s"]
    out = bench.scratch / "times"
    mechanism = dict(result["mechanism"])
    if found.threads:
        mechanism["threads_sampled"] = found.threads
    values: dict[str, Any] = {
        "elapsed_s": elapsed,
        "pages": result["pages"],
        "bytes": result["bytes"],
        "pages_per_s": result["pages"] / elapsed if elapsed else None,
        "redirects": result["redirects"],
        "statuses": result["statuses"],
        "errors": result["errors"],
        "digest": result["digest"],
        "mechanism": mechanism,
        "ledger": ledger,
        "cpu": Cpu(
            client_user_s=result["user_s"],
            client_system_s=result["system_s"],
            server_user_s=server_user,
            server_system_s=server_system,
        ),
        "service_time": latency(out.with_suffix(".service"), result["service"]),
        "fairness": fairness_of(out, result, point.slots),
        "response_time": None,
    }
    extra: dict[str, Any] = {
        "client_share": client_share,
        "server_share": server_share,
        "call_s": result["call_s"],
        "retries": result["retries"],
        "switches_voluntary": result["switches_voluntary"],
        "switches_involuntary": result["switches_involuntary"],
        "page_faults": result["page_faults"],
    }
    offered = None
    if point.kind == "openloop":
        # The rate of the schedule as drawn: a Poisson draw is seldom exactly its mean.
        offered = point.urls / result["last_due_s"] if point.urls else None
        values |= {
            "offered_per_s": offered,
            "achieved_per_s": rate,
            "late_starts": result["late"],
            "response_time": latency(out.with_suffix(".response"), result["response"]),
        }
    if found.memory is not None:
        extra["server_growth_bytes"] = found.server_growth
        extra["memory_agreement"] = memory.agreement(found.memory, found.server_growth)
    else:
        ceiling = bench.ceilings.get(point.site) or bench.ceilings.get("")
        stamp, why = limiter.limiter(
            limiter.Load(
                client_share=client_share,
                server_share=server_share,
                rate=rate,
                ceiling=ceiling,
                offered=offered,
                slot_bound=limiter.slot_bound(point.slots, point.delay),
            )
        )
        values["limiter"] = stamp
        extra["limiter_why"] = why
        extra["ceiling_share"] = rate / ceiling if ceiling else None
    found.reason = void_reason(point, result, ledger, server.digest)
    found.status = "ok" if found.reason is None else "void"
    return values, extra
