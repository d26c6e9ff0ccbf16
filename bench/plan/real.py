"""The workload of real pages: a crawl of the largest documentation on this machine."""

from __future__ import annotations

from bench.plan.cast import Cast
from bench.plan.html import find_html
from bench.plan.workloads import Point

DIRECTORY_S = 15.0
"""A directory of HTML is crawled by the server before it is served for the first time."""


def real(cast: Cast) -> list[Point]:
    """Real HTML from this machine; empty when there is none."""
    found = find_html()
    if found is None:
        return []
    path, name = found
    return [
        Point(
            id="real-10",
            workload="real",
            kind="crawl",
            site=f"dir:{path}",
            site_name=f"dir:{name}",
            slots=10,
            cast=cast,
            interleaved=True,
            prepare_s=DIRECTORY_S,
        )
    ]
