"""A connection for each page on plain HTTP, beside the same pages on kept connections."""

from __future__ import annotations

from bench.plan.cast import Cast
from bench.plan.over_tls import in_modes
from bench.plan.tls import OPENED
from bench.plan.workloads import Point


def churn(slots: int, urls: int, cast: Cast) -> Point:
    """The list of ``fetch``: each backend takes turns with itself, in both modes.

    A backend sends ``Connection: close`` with each request. The server closes first, so
    TIME_WAIT is at its end and holds none of the client's ports; docs/method.md has the counts.
    """
    return in_modes("churn", OPENED, slots, urls, cast)
