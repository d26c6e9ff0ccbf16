"""Made-up records of costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.costs.report import STUDY, Counted, Crawled
from bench.study.record import Run, SampleRecord
from tests.bench.study import made

PAGES = 500
TOOLS = {"instructions": "valgrind 3.19.0", "system calls": "strace 6.1"}


def crawls(page: dict[str, float], pages: int = PAGES) -> Crawled:
    """What pages took that took this each, above a start that cancels."""
    counts = {
        name: (1_000_000 + round(each * pages), 1_000_000 + round(2 * each * pages))
        for name, each in page.items()
    }
    return Crawled(pages=pages, counts=counts)


def sample(
    instrument: str = "instructions",
    seed: int = 1,
    *,
    backend: str = "callbacks",
    lost: str | None = None,
    **workloads: dict[str, float],
) -> SampleRecord[Counted]:
    """A sample: what a page of each workload took."""
    return SampleRecord(
        run="one",
        program=f"{backend}/{instrument}",
        repeat=seed - 1,
        status="void" if lost else "ok",
        reason=lost,
        part=Counted(crawls={name: crawls(page) for name, page in workloads.items()}),
    )


def run(*samples: SampleRecord[Counted], **changes: Any) -> Run[Counted]:
    settings = {"pages": PAGES, "slots": 100, **TOOLS}
    created = "2026-11-22T02:00:00.000+00:00"
    return made.run(STUDY, samples, created=created, settings=settings, **changes)


def counted(values: Sequence[float], backend: str = "callbacks") -> list[SampleRecord[Counted]]:
    """Instructions of a fetched page: a sample for each value, with a seed of its own."""
    return [
        sample(seed=seed, backend=backend, fetch={"instructions": value})
        for seed, value in enumerate(values, 1)
    ]
