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
from typing import Final

from bench import controls
from bench.conditions import Condition
from bench.launch import program
from bench.plan.workloads import mean_delay_s
from bench.schema import Ledger, Limiter, Shares, TrialRecord
from bench.sides.protocol import Result, Served
from bench.sides.sides import Sides
from bench.text import listing


def void_reason(
    sides: Sides,
    conditions: Sequence[Condition],
    result: Result,
    ledger: Ledger,
    expected: str | None,
    *,
    urls: int | None = None,
    control: str | None = None,
) -> str | None:
    """Why this crawl does not count, or None when it does: the first reason that there is.

    It counts when it is complete, and every condition of it was met. ``control`` names the
    control, if it is one (:mod:`bench.controls`): only its requests can be checked, for so many
    ``urls``. None counts that ran a free-threaded interpreter with its lock on.
    """
    if by := result.mechanism.get("gil_by"):
        return f"the lock of this free-threaded interpreter was on at the end; suspects: {by}"
    slots = sides.slots
    if all(condition.crawls for condition in conditions):
        if result.stopped:
            return f"the crawl was stopped: {result.stopped}"
        if control:
            reason = control_reason(control, urls or result.urls, result, ledger)
        else:
            reason = crawl_reason(result, ledger, expected)
        if reason:
            return reason
        kept = all(condition.keep_alive for condition in conditions)
        if kept and ledger.connections_opened > slots:
            return f"{ledger.connections_opened} connections opened for {slots} slots"
        if ledger.peak_in_flight > slots:
            return f"{ledger.peak_in_flight} requests in flight at once with {slots} slots"
        if ledger.pipelined:
            return f"{ledger.pipelined} requests were sent before the answer to the one before"
        if not control and (reason := unequal_reason(sides, conditions, result)):
            return reason
    if ledger.handshakes and not any(condition.tls for condition in conditions):
        return "the server counted handshakes on plain HTTP"
    reasons = (condition.void(sides, result, ledger) for condition in conditions)
    return next(filter(None, reasons), None)


def crawl_reason(result: Result, ledger: Ledger, expected: str | None) -> str | None:
    """It is complete when every page was answered as it should be and was served exactly once."""
    if expected is None:
        return "the server gave no digest to check against"
    if result.digest != expected:
        errors = ", ".join(f"{count} {kind}" for kind, count in result.errors.items())
        return f"wrong digest of {result.urls} URLs" + (f"; errors: {errors}" if errors else "")
    answered, pages = result.answered, result.statuses.get("200", 0)
    if result.pages != pages:
        return f"{result.pages} pages counted, but {pages} URLs answered with status 200"
    if ledger.repeated or ledger.requests != answered or ledger.distinct != answered:
        return (
            f"{answered} URLs answered, but the server saw {ledger.requests} requests for "
            f"{ledger.distinct} URLs, {ledger.repeated} of them repeated"
        )
    return None


ROUNDING: Final = 1.001


def unequal_reason(sides: Sides, conditions: Sequence[Condition], result: Result) -> str | None:
    """Each answer has its time, garbage is collected, and slots are busy no longer than the crawl.

    Those of published whole trials were busy for up to 99.6 % of it.
    """
    recorded, busy_s = result.kept["service"], float(sides.seconds("service").sum())
    if recorded != result.answered and all(condition.counted for condition in conditions):
        return f"{result.answered} URLs answered, but the times of {recorded} exchanges recorded"
    collected = all(condition.collected for condition in conditions)
    if collected and result.mechanism.get("gc") == "disabled":
        return "the garbage collector was off at the end of the crawl"
    if busy_s > ROUNDING * sides.slots * result.elapsed_s:
        return (
            f"its exchanges took {busy_s:.3g} s in sum, but {sides.slots} slots had only "
            f"{result.elapsed_s:.3g} s each"
        )
    return None


def control_reason(control: str, urls: int, result: Result, ledger: Ledger) -> str | None:
    """A control asks for every page equally often."""
    wanted = urls * (1 if control == "bare_tls" else controls.REPEATS)
    if ledger.requests != wanted or ledger.distinct != urls:
        seen = f"{ledger.requests} requests of the control for {ledger.distinct} URLs"
        return f"the server saw {seen}, not {wanted} for {urls}"
    return None if result.answered else "the control did nothing"


def served_reason(name: str, result: Result, served: Served, expected: str | None) -> str | None:
    """Why the trial of a server under load does not count, or None when it does.

    It counts when the load got the pages of the site, each answer the same as the first, and when
    the server has served as many requests, and the same bytes in sum.
    """
    got = result.loaded
    assert got is not None
    if result.digest != expected:
        return f"wrong digest of the pages that {name} served"
    # ``bare`` counts nothing: its answers are compared at the load alone.
    if name != "bare" and (got.requests, got.checksum) != (served.requests, served.checksum):
        return (
            f"the load got {got.requests} answers with a checksum of {got.checksum}, but the "
            f"server has sent {served.requests} with {served.checksum}"
        )
    if got.worked != served.worked:
        return f"{got.worked} requests needed work, but {served.worked} were worked on"
    if served.connections not in (0, got.connections):
        return f"{got.connections} connections opened, but {served.connections} accepted"
    return None


# --- what limited it ---------------------------------------------------------------------


BUSY = 0.90
NEAR_CEILING = 0.85
NEAR_OFFERED = 0.95
NEAR_SLOT_BOUND = 0.80
IDLE = 0.70


def slot_bound(slots: int, delay: str) -> float | None:
    """The most requests per second that so many slots can make behind a delay; None without one."""
    mean = mean_delay_s(delay)
    return slots / mean if mean > 0 else None


def limiter(used: Shares) -> Limiter:
    client, server = used.client_share or 0.0, used.server_share or 0.0
    client_busy, server_busy = client >= BUSY * used.processors, server >= BUSY
    if client_busy != server_busy:
        return "client" if client_busy else "server"
    if (used.ceiling_share or 0.0) >= NEAR_CEILING:
        return "server"
    if (used.offered_share or 0.0) >= NEAR_OFFERED:
        return "schedule"
    # A client that waits for its processor is not idle: other programs are running there.
    idle, share = max(client + (used.waited_share or 0.0), server) <= IDLE, used.slots_share
    if share is not None and (idle or share >= NEAR_SLOT_BOUND):
        return "schedule"
    return "unclear"


# --- what to do about trials that do not count -------------------------------------------------

MOST_NAMES: Final = 4


def unusable(trials: Sequence[TrialRecord]) -> list[str]:
    """What to do about the trials that failed or are void, a sentence for each cause."""
    advice = []
    failed = [trial for trial in trials if trial.status == "failed"]
    void = [trial for trial in trials if trial.status == "void"]
    wrong = [trial for trial in void if (trial.reason or "").startswith("wrong digest")]
    erring = [trial for trial in wrong if trial.errors]
    if unlike := [trial for trial in wrong if not trial.errors]:
        advice.append(
            f"What to do: {_names(unlike)} did not find or read the pages that the site has. See "
            f"which: python -m crawlers conformance {unlike[0].backend}"
        )
    if erring:
        kinds = sorted({kind for trial in erring for kind in trial.errors})
        advice.append(
            f"What to do: requests of {_names(erring)} failed ({listing(kinds)}). Close "
            f"other programs, look at {program()} doctor, and run the campaign again."
        )
    if failed:
        advice.append(
            f"What to do: {_names(failed)} ended without a result. The reason and the stderr of "
            f"each trial are in its line of trials.jsonl; {program()} doctor shows the limits."
        )
    if others := [trial for trial in void if trial not in wrong]:
        first = others[0].reason or "no reason given"
        advice.append(
            f"What to do: {_names(others)} broke a rule of the comparison: {first}. "
            "If it is not the backend's fault, run the campaign again on a quiet machine."
        )
    return advice


def _names(trials: Sequence[TrialRecord]) -> str:
    names = list(dict.fromkeys(trial.backend for trial in trials))
    rest = len(names) - MOST_NAMES
    return listing([*names[:MOST_NAMES], *([f"{rest} more"] if rest > 0 else [])])
