"""From what a trial observed to its record; and what the slots of its crawl did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bench import controls
from bench.histograms import encode_latency
from bench.machine import kernel
from bench.plan.plan import Turn
from bench.plan.tls import Way
from bench.plan.workloads import SITE_SEED, WORK_EVERY, Opening, Point
from bench.run.judge import Load, limiter, slot_bound
from bench.run.trial import Trial, params
from bench.schema import (
    Cpu,
    Fairness,
    HostNoise,
    Kind,
    Latency,
    Switches,
    TrialRecord,
    Windows,
    Work,
)
from bench.sides.protocol import Result
from bench.sides.servers import Server
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


class Seen(Protocol):
    """Both sides of a trial that has ended, as its record needs them."""

    server: Server

    def reason(self) -> str | None: ...

    def fields(self) -> dict[str, Any]: ...


def finish(
    trial: Trial, sides: Seen, moved: dict[str, int | None], noise: HostNoise
) -> TrialRecord:
    """Judge the trial and write it all down."""
    bench, point, server, result = trial.bench, trial.point, sides.server, trial.result
    seeds = {"hash": trial.hash_seed, "site": SITE_SEED, "campaign": bench.seed}
    if point.kind == "openloop":
        seeds["schedule"] = trial.schedule_seed
    fields, crawls = NO_RESULT, point.role == "client"
    if result is not None and trial.status == "ok":
        fields = {name: getattr(result, name) for name in AS_SEEN} | sides.fields()
        trial.reason = sides.reason()
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
        kernel=moved,
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
        host=noise,
        trial_s=0.0,
    )


def pace_of(
    trial: Trial, result: Result, part: Steady | None, server_s: float, working: float
) -> tuple[Load, float | None]:
    """How fast a crawl was, how busy both sides were, and how long it took at that pace."""
    turns = trial.turns
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
    server = server_s / wall_s * min(1.0, working) if wall_s else 0.0
    return Load(client, server, rate, processors=trial.most_busy), elapsed_s


AS_SEEN = ("pages", "bytes", "redirects", "statuses", "errors", "digest")
"""What a result says and a record has under the same name."""


def cpu_of(client: Result, server: tuple[float, float]) -> Cpu:
    user_s, system_s = server
    return Cpu(
        client_user_s=client.user_s,
        client_system_s=client.system_s,
        server_user_s=user_s,
        server_system_s=system_s,
    )


def measured(trial: Trial, server_cpu: tuple[float, float], working: float) -> dict[str, Any]:
    """The fields of a crawl's record; what has no field goes into ``trial.extra``.

    ``working`` is the share of its processor time that the server did not poll in.
    """
    point, result = trial.point, trial.result
    assert result is not None
    part = steady_part(trial, result)
    load, elapsed_s = pace_of(trial, result, part, sum(server_cpu), working)
    sampled = {"threads_sampled": trial.threads} if trial.threads else {}
    fields: dict[str, Any] = {
        "elapsed_s": elapsed_s,
        "pages_per_s": result.pages / elapsed_s if elapsed_s else None,
        "mechanism": {**result.mechanism, **sampled},
        "ledger": trial.ledger,
        "cpu": cpu_of(result, server_cpu),
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
            "response_time": latency(trial.times, "response", result.kept["response"]),
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
        return latency(trial.times, "service", result.kept["service"])
    return encode_latency(trial.within_turns) if len(trial.within_turns) else None


def steady_part(trial: Trial, result: Result) -> Steady | None:
    """The part of a crawl with a paced start that counts; None without such a start or part."""
    opening = trial.point.opening
    if opening is None or "ended" not in result.kept:
        return None
    return steady(
        opening,
        seconds(trial.times, "ended", result.kept["ended"]),
        seconds(trial.times, "service", result.kept["service"]),
    )


def slots_of(times: Path, result: Result, slots: int) -> Fairness | None:
    """How evenly the slots were served, None where the worker did not record that."""
    if "slots" not in result.kept:
        return None
    numbers = np.fromfile(times.with_suffix(".slots"), "l", result.kept["slots"])
    return fairness(numbers, seconds(times, "ended", result.kept["ended"]), slots)


def switches(times: Path, result: Result) -> Switches:
    windows = None
    if result.kept.get("windows"):
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
