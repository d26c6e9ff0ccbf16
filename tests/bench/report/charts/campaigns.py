"""Made-up campaigns to draw, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from bench.analysis.analysis import Analysis
from bench.report import charts
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Figure
from tests.bench import synthetic
from tests.bench.synthetic import altered, control, in_turns, replaced, where


def page_us(trial: TrialRecord) -> float:
    """Microseconds of the client for a page."""
    assert trial.cpu is not None
    return 1e6 * (trial.cpu.client_user_s + trial.cpu.client_system_s) / (trial.pages or 1)


def fetched(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """The trials of throughput-100 again as fetches in turns, with both controls."""
    found: list[AnyRecord] = []
    for record in records:
        if isinstance(record, TrialRecord) and record.point == "throughput-100" and record.cpu:
            moved, us = altered(record, workload="fetch", point="fetch-100"), page_us(record)
            found.append(in_turns(moved, us))
            if record.label == record.backend == "callbacks":
                found += [control(moved, "bare", 9.0), control(moved, "stripped", us - 8.0)]
    return found


@lru_cache(maxsize=12)
def made(**kwargs: Any) -> tuple[AnyRecord, ...]:
    """A campaign without variants, regimes and fairness."""
    defaults: dict[str, Any] = {"samples": 1100, "rates": (5000, 30_000)}
    return tuple(synthetic.campaign(**defaults | kwargs))


@lru_cache(maxsize=12)
def whole(**kwargs: Any) -> tuple[AnyRecord, ...]:
    """A campaign with every workload, and whole stacks among its variants."""
    others = ("gevent", "asyncio_sockets", "uvloop", "aiohttp", "httpx")
    ladder = tuple(synthetic.rungs((*synthetic.MODELS, *others)))
    stacks = [
        rung.model_copy(update={"family": "stack"}) if rung.name in ("aiohttp", "httpx") else rung
        for rung in ladder
    ]
    names = tuple(rung.name for rung in ladder if rung.missing is None)
    defaults: dict[str, Any] = {
        "backends": names,
        "workloads": synthetic.EVERY,
        "ladder": stacks,
        "samples": 1100,
        "rates": (5000, 30_000),
    }
    lines = replaced(
        synthetic.campaign(**defaults | kwargs),
        lambda t: in_turns(t, page_us(t)) if t.point == "throughput-10" else t,
    )
    return (*lines[:-1], *fetched(lines), lines[-1])


@lru_cache(maxsize=1)
def unequal() -> tuple[AnyRecord, ...]:
    """The whole, with other connections of threads at the server, so work that is not equal."""
    opened = {"ledger__connections_opened": 999}
    return tuple(where(whole(), lambda t: t.ledger and t.label == "threads", **opened))


def changed(records: Sequence[AnyRecord], **update: Any) -> list[AnyRecord]:
    """The records with these changes to every trial."""
    return where(records, bool, **update)


def designs(records: Sequence[AnyRecord]) -> dict[str, Figure]:
    """What every chart of the story says, by name."""
    return designs_of(synthetic.analysed(records))


@lru_cache(maxsize=8)
def designs_of(analysis: Analysis) -> dict[str, Figure]:
    """The same of an analysis."""
    return charts.story(analysis)


@lru_cache(maxsize=1)
def standard() -> dict[str, Figure]:
    """What the charts of a campaign say that has something for each."""
    return designs(unequal())
