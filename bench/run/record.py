"""From what both sides of a trial observed to its record."""

from __future__ import annotations

from typing import Any, Final

from bench import controls
from bench.conditions.condition import Params
from bench.histograms import encode_latency
from bench.machine import kernel
from bench.plan.plan import Turn
from bench.plan.workloads import SITE_SEED, Point
from bench.run.trial import Trial
from bench.schema import Cpu, HostNoise, Switches, TrialRecord
from bench.sides.protocol import Result
from bench.text import now
from crawlers.backend import Backend

DRAIN_S: Final = 3.0
TIME_WAIT_ALLOWED: Final = 100_000
"""Sockets in TIME_WAIT that a trial may start with; each lasts 60 s.

Such a socket blocks its port only towards the address it was connected to, and
every block of a point has a server with an address of its own, so the next
trial is not affected. Ten thousand connections leave ten thousand.
"""

NO_TURN: Final = (
    "no turn counted: a crawl of this block ran out of pages before every slot of every label "
    "was busy, or the turns of a load ended; give the point more (bench/plan/profiles.py)"
)

NO_RESULT: Final[dict[str, Any]] = {
    "elapsed_s": None,
    "pages": None,
    "bytes": None,
    "pages_per_s": None,
    "redirects": None,
    "digest": None,
    "cpu": None,
    "service_time": None,
    "ledger": None,
    "statuses": {},
    "errors": {},
    "mechanism": {},
}
"""The fields of a trial without a result."""

AS_SEEN: Final = ("pages", "bytes", "redirects", "statuses", "errors", "digest")
"""What a result says and a record has under the same name."""


def identity(point: Point, turn: Turn, backend: Backend, number: int) -> dict[str, Any]:
    """What a record says of a trial before it has run."""
    label = turn.label
    own = next((condition for condition in point.varied if condition.name == label.condition), None)
    params: Params = point.params | {"recorder": "times"}
    for condition in point.under(label):
        params |= condition.own
    if own is not None and label.recorded == label.backend:
        params["condition"] = own.name
    control = backend.family == controls.FAMILY
    return {
        "kind": "control" if control else own.kind if own else "trial",
        "trial": number,
        "block": turn.block,
        "position": turn.position,
        "workload": point.workload,
        "point": point.id,
        "params": params,
        "backend": label.backend,
        "label": label.recorded,
        "family": backend.family,
        "rung": backend.rung,
    }


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


def finish(trial: Trial, moved: dict[str, int | None], noise: HostNoise) -> TrialRecord:
    """Judge the trial and write it all down."""
    bench, point, fields = trial.bench, trial.point, NO_RESULT
    pinning, client, server = trial.pinning, trial.pinning.client, trial.pinning.server
    if point.load:  # the server is under test, where a client is otherwise
        client, server = server, client
    seeds = {"hash": trial.hash_seed, "site": SITE_SEED, "campaign": bench.seed}
    if any(condition.seeded for condition in trial.conditions):
        seeds["schedule"] = trial.seed
    if trial.result is not None and trial.going:
        fields = measured(trial, trial.result)
        trial.reason = trial.why_void(trial.result, trial.parts | fields)
        if trial.reason is None and trial.turns is not None and not trial.turns.counted:
            trial.reason = NO_TURN
        trial.status = "ok" if trial.reason is None else "void"
    return TrialRecord(
        **identity(point, trial.turn, trial.backend, trial.number),
        **fields,
        status=trial.status,
        reason=trial.reason,
        started=trial.started,
        digest_expected=trial.server.digest,
        kernel=moved,
        pinning={
            "client": client or None,
            "server": server or None,
            "reason": trial.unpinned or trial.server.not_pinned or pinning.reason,
        },
        seeds=seeds,
        turns=trial.turns,
        stderr=trial.stderr,
        host=noise,
        trial_s=0.0,
    )


def measured(trial: Trial, result: Result) -> dict[str, Any]:
    """The fields of a record that need a result."""
    turns, elapsed_s = trial.turns, None if trial.turns else result.elapsed_s
    if turns and turns.exchanges:  # the rate is that of the time in which it ran
        elapsed_s = result.answered * turns.wall_s / turns.exchanges
    user_s, system_s = trial.server_cpu
    sampled = {"threads_sampled": trial.threads} if trial.threads else {}
    fields: dict[str, Any] = {
        **{name: getattr(result, name) for name in AS_SEEN},
        "elapsed_s": elapsed_s,
        "pages_per_s": result.pages / elapsed_s if elapsed_s else None,
        "mechanism": {**result.mechanism, **sampled},
        "ledger": trial.ledger,
        "cpu": Cpu(
            client_user_s=result.user_s,
            client_system_s=result.system_s,
            server_user_s=user_s,
            server_system_s=system_s,
        ),
        "switches": Switches(voluntary=result.voluntary, involuntary=result.involuntary),
        "service_time": trial.latency("service"),
    }
    if turns is not None:  # those of exchanges that no stop fell into, if any
        inside = trial.within_turns
        fields["service_time"] = encode_latency(inside) if len(inside) else None
    for condition in trial.conditions:
        fields |= condition.seen(trial)
    return {**fields, **trial.strain(result, fields)}
