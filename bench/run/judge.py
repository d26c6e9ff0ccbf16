"""Correct or void: compares the crawler's result, the site's digest and the server's ledger."""

from __future__ import annotations

from bench import controls
from bench.plan.workloads import Point
from bench.run.protocol import Result
from bench.schema import Ledger


def void_reason(
    point: Point, result: Result, ledger: Ledger, expected: str | None, control: str | None = None
) -> str | None:
    """Why this trial does not count, or None when it does.

    It counts when every page was answered with the right status and body and
    served exactly once, and when there were never more connections or requests
    in flight than the job has slots. ``control`` names the control, if it is one
    (:mod:`bench.controls`): only its requests can be checked.
    """
    if result.stopped:
        return f"the crawl was stopped: {result.stopped}"
    if control:
        return control_reason(point, result, ledger, control)
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
    if ledger.connections_opened > point.slots:
        return f"{ledger.connections_opened} connections opened for {point.slots} slots"
    if ledger.peak_in_flight > point.slots:
        return f"{ledger.peak_in_flight} requests in flight at once with {point.slots} slots"
    if point.kind == "hold" and ledger.peak_in_flight != point.slots:
        return f"only {ledger.peak_in_flight} of {point.slots} connections were held at once"
    return None


def control_reason(point: Point, result: Result, ledger: Ledger, control: str) -> str | None:
    """Why the run of a control does not count: it asks for each page equally often, or for none."""
    wanted = 0 if control == "shared" else controls.REPEATS * (point.urls or 0)
    if ledger.requests != wanted or (wanted and ledger.distinct != point.urls):
        return f"the server saw {ledger.requests} requests of the control, not {wanted}"
    if ledger.connections_opened > point.slots:
        return f"{ledger.connections_opened} connections opened for {point.slots} slots"
    return None if result.answered else "the control did nothing"
