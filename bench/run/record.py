"""From what a trial observed to its record; and what the slots of its crawl did."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import controls
from bench.histograms import encode_latency
from bench.machine import host, kernel
from bench.plan.plan import Turn
from bench.plan.tls import Way
from bench.plan.workloads import SITE_SEED, WORK_EVERY, Opening, Point
from bench.run import working
from bench.run.judge import BUSY, Load, limiter, served_reason, slot_bound, void_reason
from bench.run.state import Trial, params
from bench.schema import (
    Cpu,
    Fairness,
    Kind,
    Latency,
    Ledger,
    Switches,
    TrialRecord,
    Windows,
    Work,
)
from bench.sides.protocol import Loaded, Result
from bench.sides.servers import ModelServer
from bench.text import now
from crawlers.backend import Backend

DRAIN_S = 3.0
TIME_WAIT_ALLOWED = 100_000
"""Sockets in TIME_WAIT that a trial may start with; each lasts 60 s.

Such a socket blocks its port only towards the address it was connected to, and
every block of a point has a server with an address of its own, so the next
trial is not affected. Ten thousand connections leave ten thousand.
"""

NO_TURN = (
    "no turn counted: a crawl of this block ran out of pages before every slot of every label "
    "was busy; give the point more pages (bench/plan/profiles.py)"
)

NO_TURN_LOADED = "no turn counted: the turns ended before every connection had been answered"

NO_RESULT: dict[str, Any] = {
    **dict.fromkeys(("elapsed_s", "pages", "bytes", "pages_per_s", "redirects")),
    **dict.fromkeys(("digest", "cpu", "service_time", "ledger")),
    **{"statuses": {}, "errors": {}, "mechanism": {}},
}
"""The fields of a trial without a result."""


def identity(point: Point, turn: Turn, backend: Backend, number: int) -> dict[str, Any]:
    return {
        "kind": kind_of(turn, backend),
        "trial": number,
        "block": turn.block,
        "position": turn.position,
        "workload": point.workload,
        "point": point.id,
        "params": params(point, turn),
        "backend": turn.label.backend,
        "label": turn.label.recorded,
        "family": backend.family,
        "rung": backend.rung,
    }


def kind_of(turn: Turn, backend: Backend) -> Kind:
    """Whether this is a trial, or only there for others to be compared with."""
    if backend.family == controls.FAMILY:
        return "control"
    return "companion" if turn.label.asleep else "trial"


def refused(point: Point, turn: Turn, backend: Backend, number: int, reason: str) -> TrialRecord:
    return TrialRecord(
        **identity(point, turn, backend, number),
        **NO_RESULT,
        status="refused",
        reason=reason,
        started=now(),
        trial_s=0.0,
        digest_expected=None,
        kernel={},
        host=None,
        pinning={},
        seeds={},
    )


def drain() -> None:
    """Wait for the sockets of a trial to close."""
    kernel.drain(DRAIN_S, TIME_WAIT_ALLOWED)


def finish(trial: Trial) -> TrialRecord:
    """Judge the trial and write it all down."""
    bench, point, server = trial.bench, trial.point, trial.server
    seeds = {"hash": trial.hash_seed, "site": SITE_SEED, "campaign": bench.seed}
    if point.kind == "openloop":
        seeds["schedule"] = trial.schedule_seed
    fields, crawls = NO_RESULT, point.role == "client"
    if trial.result is not None and trial.ledger is not None:
        fields = measured(trial, trial.result, trial.ledger)
        trial.reason = crawl_reason(trial, trial.result, trial.ledger)
    elif trial.loaded is not None and trial.served is not None:
        fields = under_load(trial, trial.loaded)
        name = trial.turn.label.name
        trial.reason = served_reason(name, trial.loaded, trial.served, server.digest)
    if fields is not NO_RESULT:
        if trial.reason is None and trial.turns is not None and not trial.turns.counted:
            trial.reason = NO_TURN if crawls else NO_TURN_LOADED
        if trial.reason is None and point.opening is not None and fields["pages_per_s"] is None:
            trial.reason = NOTHING_STEADY
        trial.status = "ok" if trial.reason is None else "void"
    return TrialRecord(
        **identity(point, trial.turn, trial.backend, trial.number),
        **fields,
        extra=trial.extra,
        status=trial.status,
        reason=trial.reason,
        started=trial.started,
        digest_expected=server.digest,
        kernel=trial.kernel,
        pinning={
            "client": (trial.pinning.client if crawls else trial.pinning.server) or None,
            "server": (trial.pinning.server if crawls else trial.pinning.client) or None,
            "reason": trial.unpinned or server.not_pinned or trial.pinning.reason,
        },
        seeds=seeds,
        memory=trial.memory,
        cancelled=trial.cancelled,
        turns=trial.turns,
        stderr=trial.stderr,
        host=trial.host or host.finish(trial.noise),
        trial_s=time.monotonic() - trial.began,
    )


def crawl_reason(trial: Trial, result: Result, ledger: Ledger) -> str | None:
    reason = void_reason(
        trial.point,
        result,
        ledger,
        trial.server.digest,
        trial.backend.name if trial.backend.family == controls.FAMILY else None,
        trial.way,
        trial.cancelled,
    )
    if reason is None and trial.work_expected is not None:
        return working.reason(result.work, trial.work_expected)
    return reason


def pace_of(trial: Trial, result: Result, part: Steady | None) -> tuple[Load, float | None]:
    """How fast a crawl was, how busy both sides were, and how long it took at that pace."""
    turns, server_s = trial.turns, sum(trial.server_cpu)
    elapsed_s: float | None = result.elapsed_s
    rate = result.answered / elapsed_s if elapsed_s else 0.0
    client_s, wall_s = result.user_s + result.system_s, result.call_s
    if turns is not None:
        # Its own clocks ran on while it was stopped.
        client_s, server_s, wall_s = turns.cpu_s, turns.server_cpu_s, turns.wall_s
        rate = turns.exchanges / wall_s if wall_s else 0.0
        elapsed_s = result.answered / rate if rate else None
    if part is not None:
        rate = part.rate
        elapsed_s = result.answered / rate
    elif trial.point.opening is not None:
        elapsed_s = None
    client = client_s / wall_s if wall_s else 0.0
    # A server that polls is always busy; what counts is its work.
    server = server_s / wall_s * min(1.0, trial.server_working) if wall_s else 0.0
    return Load(client, server, rate, processors=trial.most_busy), elapsed_s


AS_SEEN = ("pages", "bytes", "redirects", "statuses", "errors", "digest")
"""What a result says and a record has under the same name."""


def cpu_of(trial: Trial, client: Result | Loaded) -> Cpu:
    user_s, system_s = trial.server_cpu
    return Cpu(
        client_user_s=client.user_s,
        client_system_s=client.system_s,
        server_user_s=user_s,
        server_system_s=system_s,
    )


def measured(trial: Trial, result: Result, ledger: Ledger) -> dict[str, Any]:
    """The fields of a record that need a result; what has no field goes into ``trial.extra``."""
    point = trial.point
    part = steady_part(trial, result)
    load, elapsed_s = pace_of(trial, result, part)
    sampled = {"threads_sampled": trial.threads} if trial.threads else {}
    fields: dict[str, Any] = {
        **{name: getattr(result, name) for name in AS_SEEN},
        "elapsed_s": elapsed_s,
        "pages_per_s": result.pages / elapsed_s if elapsed_s else None,
        "mechanism": {**result.mechanism, **sampled},
        "ledger": ledger,
        "cpu": cpu_of(trial, result),
        "switches": switches(trial.times, result),
        "service_time": encode_latency(part.service) if part else service_time(trial, result),
        "fairness": None if point.opening else slots_of(trial.times, result, point.slots),
    }
    extra = trial.extra
    extra |= {
        "client_share": load.client_share,
        "server_share": load.server_share,
        "page_faults": result.page_faults,
        "server_polls": trial.server_polls,
    }
    offered = None
    if point.kind == "openloop":
        # The rate of the schedule as drawn: a Poisson draw is seldom exactly its mean.
        offered = point.urls / result.last_due_s if point.urls and result.last_due_s else None
        fields |= {
            "offered_per_s": offered,
            "achieved_per_s": load.rate,
            "late_starts": result.late,
            "response_time": latency(trial.times, "response", result.response),
        }
    fields["work"] = work(trial, result)
    if trial.cancelled is not None:
        fields["pages_per_s"] = None  # there were none, as there should be
    elif trial.memory is None:
        # It was measured with keep-alive on plain HTTP, and says nothing about other ways.
        ceiling = trial.bench.ceiling if trial.way == Way() else None
        bound = slot_bound(point.slots, point.delay)
        load = replace(load, ceiling=ceiling, offered=offered, slot_bound=bound)
        fields["limiter"] = limiter(load)
        extra["ceiling_share"] = load.rate / ceiling if ceiling else None
    return fields


def under_load(trial: Trial, loaded: Loaded) -> dict[str, Any]:
    turns, server = trial.turns, trial.server
    assert isinstance(server, ModelServer)
    rate = turns.exchanges / turns.wall_s if turns and turns.wall_s else None
    # A server that waits for its processor is not idle: other programs are running there.
    share = (turns.cpu_s + trial.waited_s) / turns.wall_s if turns and turns.wall_s else None
    trial.extra |= {
        "server_share": share,
        "page_faults": trial.page_faults,
        "connections_opened": loaded.connections,
    }
    for name in ("working", "alone"):
        if times := latency(trial.times, name, getattr(loaded, name)):
            trial.extra |= {f"{name}_p50_ms": times.p50_ms, f"{name}_p90_ms": times.p90_ms}
    on_time = {
        "response_time": latency(trial.times, "others", loaded.others),
        "offered_per_s": trial.point.rate,
        "late_starts": loaded.late,
    }
    return {
        **(on_time if loaded.others else {}),
        "elapsed_s": loaded.requests / rate if rate else loaded.elapsed_s,
        "pages": loaded.requests,
        "bytes": loaded.bytes,
        "pages_per_s": rate,
        "redirects": 0,
        "statuses": {"200": loaded.requests},
        "errors": {},
        "digest": loaded.digest,
        "mechanism": {**server.facts, "threads_sampled": trial.threads},
        "ledger": None,
        "cpu": cpu_of(trial, loaded),
        "service_time": None,
        "limiter": None if share is None else "server" if share >= BUSY else "client",
    }


def work(trial: Trial, result: Result) -> Work | None:
    """The work on the pages that needed it, and the times of both kinds; None without work."""
    found, round_us = result.work, trial.round_us
    if found is None or trial.work_expected is None or round_us is None:
        return None
    expected, check = trial.work_expected
    return Work(
        every=WORK_EVERY,
        seed=trial.schedule_seed,
        work_ms=trial.point.work_ms or 0.0,
        round_us=round_us,
        rounds=trial.rounds,
        pages=found.pages,
        expected=expected,
        check=found.check,
        check_expected=check,
        cpu_ms=1000 * found.cpu_s / found.pages if found.pages else 0.0,
        wall_ms=1000 * found.wall_s / found.pages if found.pages else 0.0,
        threads=found.threads,
        others=latency(trial.times, "others", found.others),
        worked=latency(trial.times, "worked", found.worked),
    )


def seconds(out: Path, name: str, count: int) -> npt.NDArray[np.float64]:
    return np.fromfile(out.with_suffix(f".{name}"), np.float64, count)


def latency(times: Path, name: str, count: int) -> Latency | None:
    return encode_latency(seconds(times, name, count)) if count else None


def service_time(trial: Trial, result: Result) -> Latency | None:
    """The service times; in turns those of exchanges that no stop fell into, if any."""
    if trial.turns is None:
        return latency(trial.times, "service", result.service)
    return encode_latency(trial.within_turns) if len(trial.within_turns) else None


def steady_part(trial: Trial, result: Result) -> Steady | None:
    """The part of a crawl with a paced start that counts; None without such a start or part."""
    opening = trial.point.opening
    if opening is None or result.ended is None:
        return None
    return steady(
        opening,
        seconds(trial.times, "ended", result.ended),
        seconds(trial.times, "service", result.service),
    )


def slots_of(times: Path, result: Result, slots: int) -> Fairness | None:
    """How evenly the slots were served, None where the worker did not record that."""
    if result.slots is None or result.ended is None:
        return None
    numbers = np.fromfile(times.with_suffix(".slots"), "l", result.slots)
    return fairness(numbers, seconds(times, "ended", result.ended), slots)


def switches(times: Path, result: Result) -> Switches:
    windows = None
    if result.windows:
        rows = np.fromfile(times.with_suffix(".windows"), np.float64).reshape(-1, 4)
        exchanges, cpu_s, voluntary, involuntary = np.diff(rows, axis=0).T
        windows = Windows(
            exchanges=exchanges.astype(int).tolist(),
            cpu_us=np.rint(1e6 * cpu_s).astype(int).tolist(),
            voluntary=voluntary.astype(int).tolist(),
            involuntary=involuntary.astype(int).tolist(),
        )
    return Switches(voluntary=result.voluntary, involuntary=result.involuntary, windows=windows)


# --- how evenly --------------------------------------------------------------------------


QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)


def fairness(
    slots: npt.NDArray[np.int64], ended_s: npt.NDArray[np.float64], count: int
) -> Fairness | None:
    """How evenly ``count`` slots were served; None if there was not enough work for all.

    In a closed loop every slot sends its next request as soon as it has an answer, so all slots
    should complete about the same number of exchanges. A model that keeps resuming some slots
    before others starves the others: they complete fewer exchanges, with longer gaps in between.

    ``slots`` and ``ended_s`` hold the slot and the time of each completion, in
    seconds since the crawl began. The last ``count`` exchanges do not count:
    by then some slots have nothing left to do, which is not unfair. The rest is one window.
    """
    if len(ended_s) <= count:
        return None
    order = np.argsort(ended_s, kind="stable")
    slots, ended_s = slots[order], ended_s[order]
    until = float(ended_s[-count - 1])
    kept = ended_s <= until
    slots, ended_s = slots[kept], ended_s[kept]
    done = np.bincount(slots, minlength=count)
    return Fairness(
        slots=count,
        quantiles=list(QUANTILES),
        ends_s=[round(until, 6)],
        completions=[np.quantile(done, QUANTILES).tolist()],
        silent=[int((done == 0).sum())],
        longest_gap_s=np.quantile(longest_gaps(slots, ended_s, count, until), QUANTILES).tolist(),
        jain=float(done.sum() ** 2 / (count * (done**2).sum())),
    )


def longest_gaps(
    slots: npt.NDArray[np.int64], ended_s: npt.NDArray[np.float64], count: int, until: float
) -> npt.NDArray[np.float64]:
    """For each slot the longest time without a completion, from the start to ``until``."""
    every_slot = np.arange(count)
    slot = np.concatenate([every_slot, slots, every_slot])
    when = np.concatenate([np.zeros(count), ended_s, np.full(count, until)])
    order = np.lexsort((when, slot))
    slot, when = slot[order], when[order]
    same = slot[1:] == slot[:-1]
    longest = np.zeros(count)
    np.maximum.at(longest, slot[1:][same], np.diff(when)[same])
    return longest


# --- the steady part ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Steady:
    """The part of a crawl with a paced start in which all its slots should be at work.

    It begins when the start is over (:attr:`bench.plan.workloads.Opening.settled_s`), whether a
    backend has kept up with the start or not: what it has not opened by then is its own delay. It
    ends with the last start of an exchange, when the list has run out of pages. ``service`` are
    the times of exchanges that began in it.
    """

    seconds: float
    exchanges: int
    service: npt.NDArray[np.float64]

    @property
    def rate(self) -> float:
        return self.exchanges / self.seconds


NOTHING_STEADY = "the list ran out before all slots should have been at work: too few pages"
"""Why a trial without such a part does not count."""


def steady(
    opening: Opening,
    ended: npt.NDArray[np.float64],
    service: npt.NDArray[np.float64],
) -> Steady | None:
    """The steady part of a crawl: when its exchanges ended, and how long they took.

    Times are in seconds from the start of the crawl. None where there is no such part.
    """
    started = ended - service
    since, until = opening.settled_s, float(started.max(initial=0.0))
    counted = int(((ended >= since) & (ended <= until)).sum())
    if until <= since or not counted:
        return None
    return Steady(
        seconds=until - since,
        exchanges=counted,
        service=service[started >= since],
    )
