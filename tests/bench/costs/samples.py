"""Made-up records of costs."""

from __future__ import annotations

from typing import Any

from bench.costs.record import Costs, Header, Sample
from tests.bench.synthetic import environment

PAGES = 500


def header(**changes: Any) -> Header:
    values: dict[str, Any] = {
        "created": "2026-11-22T02:00:00.000+00:00",
        "command": ["bench", "costs"],
        "environment": environment(),
        "pages": PAGES,
        "slots": 100,
        "seeds": [1, 2],
        "tools": {"instructions": "valgrind 3.19.0", "kernel": "getrusage and TCP_INFO"},
    }
    return Header(**(values | changes))


def sample(instrument: str = "instructions", seed: int = 1, **changes: Any) -> Sample:
    """A sample; costs per page are given by ``page``, above a start that cancels."""
    page: dict[str, float] = changes.pop("page", {"instructions": 87_000.0})
    values: dict[str, Any] = {
        "backend": "callbacks",
        "workload": "fetch",
        "instrument": instrument,
        "seed": seed,
        "status": "ok",
        "counts": {
            name: (1_000_000 + round(each * PAGES), 1_000_000 + round(2 * each * PAGES))
            for name, each in page.items()
        },
    }
    return Sample(**(values | changes))


def costs(*values: float, backend: str = "callbacks", **changes: Any) -> Costs:
    """A record of instructions: one sample for each value, each with a seed of its own."""
    samples = tuple(
        sample(seed=seed, backend=backend, page={"instructions": value})
        for seed, value in enumerate(values, 1)
    )
    return Costs(header(**changes), samples)
