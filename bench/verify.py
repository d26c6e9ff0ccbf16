"""Correct or void: what the crawler says, what the site expects, what the server saw."""

from __future__ import annotations

from typing import Any

from bench.schema import Ledger
from bench.workloads import Point


def void_reason(
    point: Point, result: dict[str, Any], ledger: Ledger, expected: str | None
) -> str | None:
    """Why this trial must not count, or None when it may.

    Every page answered with the right status and body, each served exactly
    once, over no more connections and with no more requests in flight than
    the job's slots allow.
    """
    if result["stopped"]:
        return f"the crawl was stopped: {result['stopped']}"
    if expected is None:
        return "the server gave no digest to check against"
    if result["digest"] != expected:
        errors = ", ".join(f"{count} {kind}" for kind, count in result["errors"].items())
        return f"wrong digest of {result['urls']} URLs" + (f"; errors: {errors}" if errors else "")
    answered = result["answered"]
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
