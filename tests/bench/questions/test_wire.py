"""Round trips of a page, recounted from what a made-up proxy has counted."""

from __future__ import annotations

from typing import Any, Final

import pytest

from bench.plan.tls import DISTANT, WAYS
from bench.questions import wire
from bench.schema import AnyRecord, TrialRecord
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed, campaign

CONNECTIONS: Final = 5
NEEDED: Final = {"plain": 1, "churn": 2, "tls": 1, "handshake": 3}
ROUND_TRIP_MS: Final = 20.0


def distant(slow: str = "", added: int = 0, **options: Any) -> list[AnyRecord]:
    """A campaign through a proxy, where a backend that is slow adds round trips to each page."""
    found: list[AnyRecord] = []
    for line in campaign(workloads=("throughput",), **options):
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif line.point == "throughput-100" and line.service_time and line.pages:
            found += [_in_mode(line, mode, added * (line.backend == slow)) for mode in DISTANT]
    return found


def _in_mode(line: TrialRecord, mode: Any, added: int) -> TrialRecord:
    """The proxy sees the handshakes of TLS and no others."""
    way, pages = WAYS[mode], sure(line.pages)
    opened = CONNECTIONS if way.keep_alive else pages
    counted = (1 + added) * pages + opened * (way.tls is not None)
    waits_ms = (NEEDED[mode] + added) * ROUND_TRIP_MS
    update = {
        "workload": "wire",
        "point": "wire-5",
        "params": {**line.params, "mode": mode, "tls": way.tls.words if way.tls else None},
        "extra": {"proxy_round_trips": counted, "proxy_connections": opened},
        "service_time": sure(line.service_time).model_copy(update={"p50_ms": waits_ms}),
    }
    return line.model_copy(update=update)


@pytest.mark.parametrize("added", [0, 1])
def test_a_page_needs_what_its_protocols_need_and_what_a_library_adds(added: int) -> None:
    found = wire.measured(analysed(distant(slow="threads", added=added)))
    assert list(found.values) == list(MODELS)
    for mode, needed in NEEDED.items():
        for label in MODELS:
            trips = needed + added * (label == "threads")
            assert found.median(label, mode) == trips
            assert found.median(label, f"{mode}_ms") == ROUND_TRIP_MS * trips


def test_the_headline_counts_who_adds_some_and_the_prose_names_them() -> None:
    answer = sure(wire.answer(analysed(distant(blocks=1))))
    assert sure(answer.finding).startswith(
        "**A new connection over TLS costs a page 3 round trips, a kept one 1, with 4 "
        "backends** (counted by the proxy, in 1 block). "
    )
    answer = sure(wire.answer(analysed(distant(slow="generators", added=1, blocks=1))))
    assert sure(answer.headline).text == (
        "With 1 of 4 backends a page needs more round trips than HTTP and TLS do"
    )
    assert answer.prose.endswith("More than these need: `generators`.")
