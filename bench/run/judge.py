"""Correct or void: compares the crawler's result, the site's digest and the server's ledger."""

from __future__ import annotations

from bench import controls
from bench.plan.tls import Way
from bench.plan.workloads import Point
from bench.run.protocol import Result
from bench.schema import Cancelled, Ledger


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
    (``cancelled``) counts by other rules: see :func:`cancelled_reason`.
    """
    way = way or Way(point.tls)
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
    """Why the run of a control does not count: it asks for each page equally often, or for none."""
    repeats = {"shared": 0, "bare_tls": 1}.get(control, controls.REPEATS)
    wanted = repeats * (point.urls or 0)
    if ledger.requests != wanted or (wanted and ledger.distinct != point.urls):
        return f"the server saw {ledger.requests} requests of the control, not {wanted}"
    if ledger.connections_opened > point.slots:
        return f"{ledger.connections_opened} connections opened for {point.slots} slots"
    return None if result.answered else "the control did nothing"
