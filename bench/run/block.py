"""One block of one point: start, warm up, run, check, record.

A block in turns has all its labels alive together. Each gets a server and a worker of its own. All
of them start and warm up at the same time, on both processors, and are stopped; so it does not
matter which was ready first. They take turns (:mod:`bench.run.turns`) until the first crawl runs
out of work. Then all crawls run to their ends at the same time, uncounted, so that every crawl is
complete and its digest and ledger can be checked like those of any other trial.

A whole trial is a block with one label, which is never stopped. Only the worker's crawl is timed:
the harness sleeps through it, except that it looks at the number of threads now and then, and does
at the barrier what there is to do.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bench.conditions import Params
from bench.controls import CONTROLS, FAMILY
from bench.histograms import FloatArray, encode_latency
from bench.machine import cpu, host
from bench.plan.durations import WARM_S, weight
from bench.plan.workloads import DEAR_SHARE, SITE_SEED, Point
from bench.run.trial import Trial
from bench.run.turns import TurnTaken, Window, level, take_turns
from bench.schema import Cpu, HostNoise, Switches, TrialRecord, Turns, TurnsRecord
from bench.sides.group import MOST_TASKS
from bench.sides.process import threads
from bench.sides.protocol import Result
from bench.sides.servers import Server

TURNS_DEADLINE_S: Final = 120.0
"""The longest that the turns of one block may take, whatever is still alive."""

DRAIN_S: Final = 3.0
TIME_WAIT_ALLOWED: Final = 100_000
"""Sockets in TIME_WAIT that a trial may start with; each lasts 60 s.

Such a socket blocks its port only towards the address it was connected to, and
every block of a point has a server with an address of its own, so the next
trial is not affected. Ten thousand connections leave ten thousand.
"""

HEAVY: Final = 10.0
"""From so many times the page of ``callbacks`` on, a crawl need not be level with the others."""

ALIKE: Final = "the pages of a list are alike"
NOTHING_LEFT: Final = (
    "behind the dear first pages, no part of the crawl has a whole counted turn of every label"
)

NO_WAIT: Final = (
    f"of a label with more than {MOST_TASKS} threads not recorded: its threads wait for each "
    "other, and all of them for each stop, so their sum says nothing about other programs"
)
"""Why a turn has no wait for a processor."""


def run(
    trials: Sequence[Trial], server: Server | None = None
) -> tuple[list[TrialRecord], TurnsRecord]:
    """Run the trials of one block of a point; records in their order.

    ``server`` is that of a whole trial, if it is shared. A label whose worker or server fails
    gives a record that says so, and the others go on. Raises
    :class:`bench.sides.servers.ServerError` when a fixture server does not start.
    """
    began, noise = time.monotonic(), host.start()
    labels, taken, window = [str(trial.label) for trial in trials], list[TurnTaken](), None
    point = trials[0].point
    with ExitStack() as stack:
        for trial in trials:
            trial.start(stack, server)
        try:
            for trial in trials:
                trial.ready()
                with trial.losing(trial.start_s):
                    trial.tell()
            for trial in trials:
                warm(trial)
            before = host.counters()
            if point.interleaved:
                taken = take_turns(
                    trials,
                    random.Random(trials[0].hash_seed),
                    deadline=time.monotonic() + TURNS_DEADLINE_S,
                    rounds=point.rounds,
                )
                taken, window = evenly(taken, trials)
                finish(trials)
            else:
                alone(trials[0])
        finally:
            # Together and at once: SIGTERM would wait until a stopped process is resumed.
            for trial in trials:
                trial.end()
    # The machine keeps these for all processes together.
    moved, after = host.delta(before, host.counters()), host.finish(noise)
    host.drain(DRAIN_S, TIME_WAIT_ALLOWED)
    records = []
    for place, trial in enumerate(trials):
        trial.turns = summary(taken, labels, place, trial)
        records.append(recorded(trial, moved, after))
        trial.forget()
    # Each has its share of the time that they spent together.
    share = (time.monotonic() - began) / len(records)
    records = [trial_record.model_copy(update={"trial_s": share}) for trial_record in records]
    return records, log(taken, labels, point, trials[0].planned.block, window)


def warm(trial: Trial) -> None:
    """Wait until a worker has warmed up, warm its server, and stop both until their turn."""
    if not trial.going:
        return
    in_turns = trial.point.interleaved
    with trial.losing(trial.start_s):
        trial.worker.ready(trial.start_s)
        if in_turns:
            trial.tested.stop()
        trial.warm()
        if in_turns:
            trial.begin()
            trial.other.stop()


def alone(trial: Trial) -> None:
    """A whole trial: nothing is stopped, and nothing else runs."""
    if not trial.going:
        return

    def sample() -> None:
        trial.threads = max(trial.threads, threads(trial.tested.pid))

    trial.tested.look_for_children()
    before = trial.tested.wait_s()
    with trial.losing(trial.deadline_s), ExitStack() as ending:
        ending.callback(trial.release)  # whatever happens, nothing is held in the end
        with ExitStack() as around:
            for condition in trial.conditions:
                around.enter_context(condition.around(trial))
            trial.begin()
            trial.deadline = time.monotonic() + trial.deadline_s
            trial.go()
        trial.result = trial.worker.result(trial.deadline, sample)
        sample()
        if before is not None and (after := trial.tested.wait_s()) is not None:
            trial.waited_s = after - before
        for condition in trial.conditions:
            condition.ended(trial, trial.result)
        trial.rest()
        trial.collect()


def finish(trials: Sequence[Trial]) -> None:
    """Let all crawls run to their ends at the same time, and ask both ends what they saw."""
    for trial in trials:
        if trial.going and trial.broke_off:
            trial.lose(f"{trial.lost}: {trial.worker.ending()}")
    going = [trial for trial in trials if trial.going]
    for trial in going:
        trial.other.resume()
        with trial.losing(0.0):
            trial.rest()
    for trial in going:
        if trial.going:
            pinning = trial.bench.pinning
            if pinning.client:  # nothing is timed any more
                cpu.pin(trial.tested.pid, [*pinning.client, *pinning.server])
            trial.tested.resume()
            if not trial.begun:
                trial.go()
            trial.threads = threads(trial.tested.pid)
    for trial in going:
        if trial.going:
            # So many share the processors meanwhile.
            limit_s = len(going) * trial.deadline_s
            with trial.losing(limit_s):
                trial.result = trial.worker.result(time.monotonic() + limit_s)
                trial.collect()


def evenly(
    turns: list[TurnTaken], trials: Sequence[Trial]
) -> tuple[list[TurnTaken], Window | None]:
    """Count turns in the same part of each crawl, where pages differ by their place.

    Those of a list are all alike. A control goes through its work several times. A crawl that
    broke off did not get so far as the others; one that ended in its turn is done. A heavy backend
    has so small a site that little would be left of the others, and its dear pages add no more than
    2 % to its mean.
    """
    if trials[0].point.urls is not None:
        return turns, None
    crawls = [
        place
        for place, trial in enumerate(trials)
        if trial.label.name not in CONTROLS
        and not trial.broke_off
        and weight(trial.point, trial.label) < HEAVY
    ]
    return level(turns, crawls, DEAR_SHARE)


def whole(parts: Iterable[float | None]) -> float | None:
    """Their sum; None where one of them is not known."""
    known = list(parts)
    return None if None in known else sum(part for part in known if part is not None)


def summary(turns: list[TurnTaken], labels: list[str], place: int, trial: Trial) -> Turns | None:
    """What one label's turns add up to; also keeps the service times without a stop inside."""
    own = [turn for turn in turns if turn.taker == place]
    counted = [turn for turn in own if turn.counted]
    if not own:
        return None
    spanned = None
    service, ended = trial.seconds("service"), trial.seconds("ended")
    if len(service) and len(ended):
        first, last = turn_of(counted, ended - service), turn_of(counted, ended)
        inside = (first == last) & (last >= 0)
        trial.within_turns = service[inside]
        spanned = int((last >= 0).sum() - inside.sum())
    trial.waited_s = whole(turn.wait_s for turn in counted)
    return Turns(
        turn_s=trial.turn_s,
        warm_s=WARM_S,
        taken=len(own),
        counted=len(counted),
        exchanges=sum(turn.exchanges for turn in counted),
        wall_s=sum(turn.wall_s for turn in counted),
        cpu_s=sum(turn.cpu_s for turn in counted),
        server_cpu_s=sum(turn.server_cpu_s for turn in counted),
        aside_s=sum(turn.aside_s for turn in counted),
        steal_s=whole(turn.steal_s for turn in counted),
        beside=labels,
        spanned=spanned,
    )


def turn_of(turns: list[TurnTaken], at: FloatArray) -> npt.NDArray[np.int64]:
    """For each moment the index of the turn that it lies in, -1 for none."""
    if not turns:
        return np.full(len(at), -1, dtype=np.int64)
    began = np.array([turn.began for turn in turns])
    ended = began + np.array([turn.wall_s for turn in turns])
    index = np.searchsorted(began, at, side="right") - 1
    inside = np.where((index >= 0) & (at <= ended[index]), index, -1)
    return inside.astype(np.int64)


def log(
    taken: list[TurnTaken],
    labels: list[str],
    point: Point,
    block: int,
    window: Window | None = None,
) -> TurnsRecord:
    start_s = taken[0].began if taken else 0.0

    def us(times: Iterable[float]) -> list[int]:
        return [round(1e6 * time_s) for time_s in times]

    waits = [None if t.wait_s is None else round(1e6 * t.wait_s) for t in taken]
    reasons = {"wait_us": NO_WAIT} if None in waits else {}
    if window is None:
        why = ALIKE if point.urls is not None else NOTHING_LEFT
        reasons |= dict.fromkeys(("since", "until"), why)
    return TurnsRecord(
        block=block,
        point=point.id,
        labels=labels,
        label=[turn.taker for turn in taken],
        round=[turn.round for turn in taken],
        counted=[turn.counted for turn in taken],
        began_us=us(turn.began - start_s for turn in taken),
        wall_us=us(turn.wall_s for turn in taken),
        cpu_us=us(turn.cpu_s for turn in taken),
        server_cpu_us=us(turn.server_cpu_s for turn in taken),
        exchanges=[turn.exchanges for turn in taken],
        steal_ms=[None if t.steal_s is None else round(1e3 * t.steal_s) for t in taken],
        wait_us=waits,
        aside_us=us(turn.aside_s for turn in taken),
        reached=[round(turn.reached, 5) for turn in taken],
        since=window.since if window else None,
        until=window.until if window else None,
        reasons=reasons,
    )


# --- from what both sides of a trial saw to its record --------------------------------------


NO_TURN: Final = (
    "no turn counted: a crawl of this block ran out of pages before every slot of every label "
    "was busy, or the turns of a load ended; give the point more (bench/plan/profiles.py)"
)

AS_SEEN: Final = ("pages", "bytes", "redirects", "statuses", "errors", "digest")
"""What a result says and a record has under the same name."""


def identity(trial: Trial) -> dict[str, Any]:
    """What a record says of a trial before it has run."""
    point, planned, label, backend = trial.point, trial.planned, trial.label, trial.backend
    own = next((condition for condition in point.varied if condition.name == label.condition), None)
    params: Params = point.params | {"recorder": "times"}
    for condition in trial.conditions:
        params |= condition.own
        if condition.mode:
            params["mode"] = condition.name
    if own is not None and label.recorded == label.backend:
        params["condition"] = own.name
    control = backend.family == FAMILY
    return {
        "kind": "control" if control else own.kind if own else "trial",
        "trial": trial.number,
        "block": planned.block,
        "position": planned.position,
        "workload": point.workload,
        "point": point.id,
        "params": params,
        "backend": label.backend,
        "label": label.recorded,
        "family": backend.family,
        "rung": backend.rung,
    }


def refused(trial: Trial) -> TrialRecord:
    return TrialRecord(
        **identity(trial),
        status=trial.status,
        reason=trial.reason,
        started=trial.started,
        trial_s=0.0,
    )


def recorded(trial: Trial, moved: dict[str, int | None], noise: HostNoise) -> TrialRecord:
    """Judge the trial and write it all down."""
    bench, point, fields = trial.bench, trial.point, dict[str, Any]()
    pinning, client, server = trial.pinning, trial.pinning.client, trial.pinning.server
    if point.load:  # the server is under test, where a client is otherwise
        client, server = server, client
    seeds = {"hash": trial.hash_seed, "site": SITE_SEED, "campaign": bench.seed}
    if any(condition.seeded for condition in trial.conditions):
        seeds["schedule"] = trial.seed
    if trial.result is not None and trial.going:
        fields = measured(trial, trial.result)
        trial.parts |= fields
        trial.reason = trial.why_void(trial.result)
        if trial.reason is None and trial.turns is not None and not trial.turns.counted:
            trial.reason = NO_TURN
        trial.status = "ok" if trial.reason is None else "void"
    return TrialRecord(
        **identity(trial),
        **fields,
        status=trial.status,
        reason=trial.reason,
        started=trial.started,
        digest_expected=trial.server.digest,
        kernel=moved,
        pinning={
            "client": client or None,
            "server": server or None,
            "reason": trial.not_pinned or trial.server.not_pinned or pinning.reason,
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
        fields |= condition.seen(trial, result)
    return {**fields, **trial.strain(result, fields)}
