"""Correct or void: compares the crawler's result, the site's digest and the server's ledger.

And what limited a trial: the client, the server, the schedule, or it is unclear.

The rules, in this order; the thresholds are the constants below:

1. ``client``: the worker used at least 90 % of its processors, the server did not.
2. ``server``: the server used at least 90 % of a processor and the client did
   not, or the trial reached 85 % of the server's measured ceiling.
3. ``schedule``: an open loop achieved 95 % of its offered rate; or a closed
   loop behind a delay reached 80 % of slots / mean delay, the most that so
   many slots can do; or it left both processors idle for at least 30 % of the
   time, so that it mostly waited (ramp-up and last answers included).
4. ``unclear`` otherwise: both were busy, or neither was. A single slot without
   a delay ends here, because client and server take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench import controls
from bench.launch import program
from bench.plan.tls import Way
from bench.plan.workloads import Point, mean_delay_s
from bench.run import working
from bench.run.trial import Trial
from bench.schema import Cancelled, Ledger, Limiter, TrialRecord
from bench.sides.protocol import Result
from bench.text import listing


def crawl_reason(trial: Trial, expected: str | None) -> str | None:
    """Why a crawl does not count, by the digest that the site has."""
    result, ledger, backend = trial.result, trial.ledger, trial.backend
    assert result is not None
    assert ledger is not None
    control = backend.name if backend.family == controls.FAMILY else None
    reason = void_reason(trial.point, result, ledger, expected, control, trial.way, trial.cancelled)
    if reason is None and trial.work_expected is not None:
        return working.reason(result.work, trial.work_expected)
    return reason


def void_reason(
    point: Point,
    result: Result,
    ledger: Ledger,
    expected: str | None,
    control: str | None = None,
    way: Way | None = None,
    cancelled: Cancelled | None = None,
) -> str | None:
    """Why this trial does not count, or None when it does.

    It counts when every page was answered with the right status and body and
    served exactly once, and when there were never more connections or requests
    in flight than the job has slots. ``control`` names the control, if it is one
    (:mod:`bench.controls`): only its requests can be checked. ``way`` says how the pages
    were to be fetched, by default that of the point. A crawl that was to be interrupted
    (``cancelled``) counts by other rules: see :func:`cancelled_reason`. None counts that ran a
    free-threaded interpreter with its lock on.
    """
    way = way or Way(point.tls)
    if by := result.mechanism.get("gil_by"):
        return f"the lock of this free-threaded interpreter was on at the end; suspects: {by}"
    if point.kind == "cancel":
        return cancelled_reason(point, result, ledger, cancelled)
    if result.stopped:
        return f"the crawl was stopped: {result.stopped}"
    if control:
        return control_reason(point, result, ledger, control) or way_reason(way, ledger)
    if expected is None:
        return "the server gave no digest to check against"
    if result.digest != expected:
        errors = ", ".join(f"{count} {kind}" for kind, count in result.errors.items())
        return f"wrong digest of {result.urls} URLs" + (f"; errors: {errors}" if errors else "")
    answered = result.answered
    if ledger.repeated or ledger.requests != answered or ledger.distinct != answered:
        return (
            f"{answered} URLs answered, but the server saw {ledger.requests} requests for "
            f"{ledger.distinct} URLs, {ledger.repeated} of them repeated"
        )
    if way.keep_alive and ledger.connections_opened > point.slots:
        return f"{ledger.connections_opened} connections opened for {point.slots} slots"
    if ledger.peak_in_flight > point.slots:
        return f"{ledger.peak_in_flight} requests in flight at once with {point.slots} slots"
    if point.kind == "hold" and ledger.peak_in_flight != point.slots:
        return f"only {ledger.peak_in_flight} of {point.slots} connections were held at once"
    return way_reason(way, ledger)


def cancelled_reason(
    point: Point, result: Result, ledger: Ledger, cancelled: Cancelled | None
) -> str | None:
    """Why the trial of an interrupted crawl does not count.

    It counts when the server held a request of every slot, when the crawl reported each of
    them as cancelled, and when nothing was left behind at either end.
    """
    if result.stopped != "interrupted" or cancelled is None:
        return f"the crawl was not interrupted: it ended as {result.stopped or 'complete'}"
    if result.errors != {"cancelled": point.slots}:
        errors = ", ".join(f"{count} {kind}" for kind, count in result.errors.items())
        return f"not every exchange was cancelled: {errors or 'none'} of {point.slots}"
    if ledger.peak_in_flight != point.slots or ledger.requests != point.slots:
        return (
            f"only {ledger.peak_in_flight} of {point.slots} exchanges were in flight at once, "
            f"of {ledger.requests} in all"
        )
    if cancelled.left:
        left = ", ".join(f"{count} × {kind}" for kind, count in sorted(cancelled.left.items()))
        return f"the crawl left behind: {left}"
    if cancelled.open_at_server:
        return f"{cancelled.open_at_server} connections were still open at the server"
    return None


def way_reason(way: Way, ledger: Ledger) -> str | None:
    """Why the pages were not fetched as they should have been, by connections and handshakes."""
    if not way.keep_alive and ledger.requests_per_connection_max > 1:
        most = ledger.requests_per_connection_max
        return f"{most} requests on one connection, where each page should have its own"
    seen = ledger.handshakes
    if way.tls is None:
        return "the server counted handshakes on plain HTTP" if seen else None
    if seen is None:
        return "the server counted no handshakes: this was not TLS"
    if seen.full + seen.resumed < ledger.connections_opened - seen.failed:
        return (
            f"{seen.full + seen.resumed} handshakes completed on {ledger.connections_opened} "
            f"connections, {seen.failed} failed"
        )
    if seen.resumed and not way.tls.tickets:
        return f"{seen.resumed} sessions resumed, where the server offers no tickets"
    return None


def control_reason(point: Point, result: Result, ledger: Ledger, control: str) -> str | None:
    """Why the run of a control does not count: it asks for every page equally often."""
    repeats = 1 if control == "bare_tls" else controls.REPEATS
    urls = point.urls or result.urls
    wanted = repeats * urls
    if ledger.requests != wanted or ledger.distinct != urls:
        return f"the server saw {ledger.requests} requests of the control, not {wanted}"
    if ledger.connections_opened > point.slots:
        return f"{ledger.connections_opened} connections opened for {point.slots} slots"
    return None if result.answered else "the control did nothing"


# --- what limited it ---------------------------------------------------------------------


BUSY = 0.90
NEAR_CEILING = 0.85
NEAR_OFFERED = 0.95
NEAR_SLOT_BOUND = 0.80
IDLE = 0.70


@dataclass(frozen=True, slots=True)
class Load:
    """What a trial used and achieved; shares are of one processor.

    ``processors`` is how many the client may use.
    """

    client_share: float
    server_share: float
    rate: float
    ceiling: float | None = None
    offered: float | None = None
    slot_bound: float | None = None
    processors: int = 1


def slot_bound(slots: int, delay: str) -> float | None:
    """The most requests per second that so many slots can make behind a delay; None without one."""
    mean = mean_delay_s(delay)
    return slots / mean if mean > 0 else None


def limiter(load: Load) -> Limiter:
    client_busy = load.client_share >= BUSY * load.processors
    server_busy = load.server_share >= BUSY
    idle = max(load.client_share, load.server_share) <= IDLE
    if client_busy != server_busy:
        return "client" if client_busy else "server"
    if load.ceiling and load.rate >= NEAR_CEILING * load.ceiling:
        return "server"
    if load.offered and load.rate >= NEAR_OFFERED * load.offered:
        return "schedule"
    if load.slot_bound and (idle or load.rate >= NEAR_SLOT_BOUND * load.slot_bound):
        return "schedule"
    return "unclear"


# --- what to do about trials that do not count -------------------------------------------------

MOST_NAMES: Final = 4


def unusable(trials: Sequence[TrialRecord]) -> list[str]:
    """What to do about the trials that failed or are void, a sentence for each cause."""
    found = []
    failed = [trial for trial in trials if trial.status == "failed"]
    void = [trial for trial in trials if trial.status == "void"]
    wrong = [trial for trial in void if (trial.reason or "").startswith("wrong digest")]
    erring = [trial for trial in wrong if trial.errors]
    if unlike := [trial for trial in wrong if not trial.errors]:
        found.append(
            f"What to do: {_names(unlike)} did not find or read the pages that the site has. See "
            f"which: python -m crawlers conformance {unlike[0].backend}"
        )
    if erring:
        kinds = sorted({kind for trial in erring for kind in trial.errors})
        found.append(
            f"What to do: requests of {_names(erring)} failed ({listing(kinds)}). Close "
            f"other programs, look at {program()} doctor, and run the campaign again."
        )
    if failed:
        found.append(
            f"What to do: {_names(failed)} ended without a result. The reason and the stderr of "
            f"each trial are in its line of trials.jsonl; {program()} doctor shows the limits."
        )
    if others := [trial for trial in void if trial not in wrong]:
        first = others[0].reason or "no reason given"
        found.append(
            f"What to do: {_names(others)} broke a rule of the comparison: {first}. "
            "If it is not the backend's fault, run the campaign again on a quiet machine."
        )
    return found


def _names(trials: Sequence[TrialRecord]) -> str:
    names = list(dict.fromkeys(trial.backend for trial in trials))
    rest = len(names) - MOST_NAMES
    return listing([*names[:MOST_NAMES], *([f"{rest} more"] if rest > 0 else [])])
