"""From what a trial observed to its record."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import controls
from bench.histograms import encode_latency
from bench.machine.probes import host, kernel, memory
from bench.plan.mixed import EVERY
from bench.plan.order import Turn
from bench.plan.tls import Way
from bench.plan.workloads import SITE_SEED, Point
from bench.run import working
from bench.run.fairness import fairness
from bench.run.judge import void_reason
from bench.run.limiter import Load, limiter, slot_bound
from bench.run.protocol import Result
from bench.run.state import Trial, params
from bench.run.steady import NOTHING_STEADY, Steady, steady
from bench.run.workers import seconds
from bench.schema import Cpu, Fairness, Kind, Latency, Ledger, TrialRecord, Work
from bench.text import now
from crawlers.backend import Backend

DRAIN_S = 3.0
TIME_WAIT_ALLOWED = 100_000
"""Sockets in TIME_WAIT that a trial may start with; each lasts 60 s.

Such a socket blocks its port only towards the address it was connected to, and
every block of a point has a server with an address of its own, so the next
trial is not affected. The number is recorded with the trial, and bounded:
ten thousand connections leave ten thousand.
"""

NO_TURN = (
    "no turn counted: a crawl of this block ran out of pages before every slot of every label "
    "was busy; give the point more pages (bench/plan/profiles.py)"
)

NO_RESULT: dict[str, Any] = {
    **dict.fromkeys(("elapsed_s", "pages", "bytes", "pages_per_s", "redirects")),
    **dict.fromkeys(("digest", "cpu", "service_time", "ledger")),
    **{"statuses": {}, "errors": {}, "mechanism": {}},
}
"""The fields of a trial without a result."""


def identity(point: Point, turn: Turn, backend: Backend, number: int) -> dict[str, Any]:
    """The fields that say which trial a record is about."""
    return {
        "kind": kind_of(point, turn, backend),
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


def kind_of(point: Point, turn: Turn, backend: Backend) -> Kind:
    """Whether this is a trial, or only there for others to be compared with."""
    if backend.family == controls.FAMILY:
        return "control"
    return "companion" if turn.label.asleep and not point.asleep else "trial"


def refused(point: Point, turn: Turn, backend: Backend, number: int, reason: str) -> TrialRecord:
    """The record of a trial that this machine's limits do not allow."""
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


def finish(trial: Trial) -> TrialRecord:
    """Judge the trial, wait for its sockets to close, and write it all down."""
    bench, point, server = trial.bench, trial.point, trial.server
    seeds = {"hash": trial.hash_seed, "site": SITE_SEED, "campaign": bench.seed}
    if point.kind == "openloop":
        seeds["schedule"] = trial.schedule_seed
    fields, extra = NO_RESULT, dict[str, Any]()
    if trial.result is not None and trial.ledger is not None:
        fields, extra = measured(trial, trial.result, trial.ledger)
        control = trial.backend.name if trial.backend.family == controls.FAMILY else None
        trial.reason = void_reason(
            point,
            trial.result,
            trial.ledger,
            server.digest,
            control,
            trial.way,
            trial.cancelled,
        )
        if trial.reason is None and trial.work_expected is not None:
            trial.reason = working.reason(trial.result.work, trial.work_expected)
        if trial.reason is None and trial.turns is not None and not trial.turns.counted:
            trial.reason = NO_TURN
        if trial.reason is None and point.opening is not None and fields["pages_per_s"] is None:
            trial.reason = NOTHING_STEADY
        trial.status = "ok" if trial.reason is None else "void"
    extra["time_wait_left"] = kernel.drain(DRAIN_S, TIME_WAIT_ALLOWED).time_wait
    extra["ready_s"] = trial.ready_s
    return TrialRecord(
        **identity(point, trial.turn, trial.backend, trial.number),
        **fields,
        extra=extra,
        status=trial.status,
        reason=trial.reason,
        started=trial.started,
        digest_expected=server.digest,
        kernel=trial.kernel,
        pinning={
            "client": trial.pinning.client or None,
            "server": trial.pinning.server or None,
            "reason": trial.unpinned or server.not_pinned or trial.pinning.reason,
        },
        seeds=seeds,
        memory=trial.memory,
        ramp=trial.ramp,
        cancelled=trial.cancelled,
        turns=trial.turns,
        stderr=trial.stderr,
        host=trial.host or host.finish(trial.noise),
        trial_s=time.monotonic() - trial.began,
    )


def measured(trial: Trial, result: Result, ledger: Ledger) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a record that need a result, and what goes into ``extra``."""
    point = trial.point
    user_s, system_s = trial.server_cpu
    turns, call_s = trial.turns, result.call_s
    elapsed_s: float | None = result.elapsed_s
    client_share = (result.user_s + result.system_s) / call_s
    server_share = (user_s + system_s) / call_s
    rate = result.answered / elapsed_s if elapsed_s else 0.0
    if turns is not None:
        # Its own clocks ran on while it was stopped.
        rate = turns.exchanges / turns.wall_s if turns.wall_s else 0.0
        elapsed_s = result.answered / rate if rate else None
        client_share = turns.cpu_s / turns.wall_s if turns.wall_s else 0.0
        server_share = turns.server_cpu_s / turns.wall_s if turns.wall_s else 0.0
    part = steady_part(trial, result)
    if part is not None:
        rate = part.rate
        elapsed_s = result.answered / rate
    elif point.opening is not None:
        elapsed_s = None
    # A server that polls is always busy; what counts is its work.
    if trial.server_working is not None:
        server_share *= min(1.0, trial.server_working)
    elif trial.server_work_s is not None and user_s + system_s > 0:
        server_share *= min(1.0, trial.server_work_s / (user_s + system_s))
    sampled = {"threads_sampled": trial.threads} if trial.threads else {}
    fields: dict[str, Any] = {
        "elapsed_s": elapsed_s,
        "pages": result.pages,
        "bytes": result.bytes,
        "pages_per_s": result.pages / elapsed_s if elapsed_s else None,
        "redirects": result.redirects,
        "statuses": result.statuses,
        "errors": result.errors,
        "digest": result.digest,
        "mechanism": {**result.mechanism, **sampled},
        "ledger": ledger,
        "cpu": Cpu(
            client_user_s=result.user_s,
            client_system_s=result.system_s,
            server_user_s=user_s,
            server_system_s=system_s,
        ),
        "service_time": encode_latency(part.service) if part else service_time(trial, result),
        "fairness": None if point.opening else slots_of(trial.times, result, point.slots),
    }
    extra: dict[str, Any] = {
        "client_share": client_share,
        "server_share": server_share,
        "call_s": result.call_s,
        "retries": result.retries,
        "switches_voluntary": result.switches_voluntary,
        "switches_involuntary": result.switches_involuntary,
        "page_faults": result.page_faults,
        "server_polls": trial.server_polls,
        "server_work_s": trial.server_work_s,
    }
    offered = None
    if point.kind == "openloop":
        # The rate of the schedule as drawn: a Poisson draw is seldom exactly its mean.
        offered = point.urls / result.last_due_s if point.urls and result.last_due_s else None
        fields |= {
            "offered_per_s": offered,
            "achieved_per_s": rate,
            "late_starts": result.late,
            "response_time": latency(trial.times, "response", result.response),
        }
    if part is not None:
        extra |= {
            "steady_s": part.seconds,
            "steady_exchanges": part.exchanges,
            "behind_s": part.behind_s,
            "slots_unused": part.unused,
        }
    fields["work"] = work(trial, result)
    if trial.cancelled is not None:
        fields["pages_per_s"] = None  # there were none, as there should be
    elif trial.memory is not None:
        extra["server_growth_bytes"] = trial.server_growth
        extra["memory_agreement"] = memory.agreement(trial.memory, trial.server_growth)
    else:
        ceilings = trial.bench.ceilings
        # It was measured with keep-alive on plain HTTP, and says nothing about other ways.
        plain = trial.way == Way()
        ceiling = (ceilings.get(point.site) or ceilings.get("")) if plain else None
        fields["limiter"], extra["limiter_why"] = limiter(
            Load(
                client_share=client_share,
                server_share=server_share,
                processors=trial.most_busy,
                rate=rate,
                ceiling=ceiling,
                offered=offered,
                slot_bound=slot_bound(point.slots, point.delay),
            )
        )
        extra["ceiling_share"] = rate / ceiling if ceiling else None
    return fields, extra


def work(trial: Trial, result: Result) -> Work | None:
    """The work on the pages that needed it, and the times of both kinds; None without work."""
    found, bench = result.work, trial.bench
    if found is None or trial.work_expected is None or bench.round_us is None:
        return None
    expected, check = trial.work_expected
    return Work(
        every=EVERY,
        seed=trial.schedule_seed,
        work_ms=trial.point.work_ms or 0.0,
        round_us=bench.round_us,
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


def latency(times: Path, name: str, count: int) -> Latency | None:
    """The distribution of the times in a worker's file, None when there are none."""
    return encode_latency(seconds(times, name, count)) if count else None


def service_time(trial: Trial, result: Result) -> Latency | None:
    """The service times; in turns those of exchanges that no stop fell into, if any."""
    if trial.turns is None:
        return latency(trial.times, "service", result.service)
    return encode_latency(trial.within_turns) if len(trial.within_turns) else None


def steady_part(trial: Trial, result: Result) -> Steady | None:
    """The part of a crawl with a paced start that counts; None without such a start or part."""
    opening = trial.point.opening
    if opening is None or result.slots is None or result.ended is None:
        return None
    return steady(
        opening,
        seconds(trial.times, "ended", result.ended),
        seconds(trial.times, "service", result.service),
        np.fromfile(trial.times.with_suffix(".slots"), "l", result.slots),
    )


def slots_of(times: Path, result: Result, slots: int) -> Fairness | None:
    """How evenly the slots were served, None where the worker did not record that."""
    if result.slots is None or result.ended is None:
        return None
    numbers = np.fromfile(times.with_suffix(".slots"), "l", result.slots)
    return fairness(numbers, seconds(times, "ended", result.ended), slots)
