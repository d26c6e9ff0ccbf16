"""Why a trial does not count: the first reason that a condition gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.conditions import TWIN, Condition
from bench.conditions.flips import FLIPS
from bench.conditions.held import HELD, INTERRUPTED
from bench.conditions.recorders import NULL
from bench.conditions.schedule import NOTHING_STEADY, Opening
from bench.conditions.ways import ENCRYPTED, HANDSHAKE, NEW, PLAIN, TICKETS
from bench.conditions.work import WithWork
from bench.run.judge import served_reason, void_reason
from bench.schema import Cancelled, Handshakes
from bench.sides.protocol import Served, Worked
from bench.sides.sides import Sides
from tests.bench import small

EACH_PAGE = {"connections_opened": 10, "requests_per_connection_max": 1}
CANCELLED = Cancelled(
    in_flight=4,
    noticed_s=0.1,
    returned_s=0.01,
    first_closed_s=0.001,
    closed_s=0.02,
    client_cpu_s=0.005,
    server_work_s=0.001,
    switch_interval_s=0.005,
    left={},
    open_at_server=0,
)
ENDED = {"stopped": "interrupted", "errors": {"cancelled": 4}, "pages": 0}
HELD_BACK = {"requests": 4, "distinct": 4}
WORKED = Worked(pages=2, check=7, cpu_s=0.1, wall_s=0.1, threads=1)
WORK = WithWork(ms=1)
OPENING = Opening(slots=4, delay_s=0.01)


def four_slots(**parts: Any) -> Sides:
    sides = Sides()
    sides.slots, sides.parts = 4, parts
    sides.seconds = lambda name: np.array(parts.get(name, []))  # type: ignore[method-assign]
    return sides


def shaken(full: int, resumed: int = 0) -> dict[str, Any]:
    return {"handshakes": Handshakes(full=full, resumed=resumed, failed=0)}


def cancelled(**changes: Any) -> dict[str, Any]:
    return {"cancelled": CANCELLED.model_copy(update=changes)}


Changes = Mapping[str, Any]


@pytest.mark.parametrize(
    ("under", "result", "ledger", "parts", "reason"),
    [
        (TWIN, {}, {}, {}, None),
        (TWIN, {"stopped": "deadline"}, {}, {}, "stopped: deadline"),
        (TWIN, {"mechanism": {"gil": "enabled"}}, {}, {}, None),  # as every other build has it
        (TWIN, {"mechanism": {"gil_by": "uvloop"}}, {}, {}, "lock of this free-threaded interpr"),
        (TWIN, {"digest": "e", "errors": {"timeout": 2}}, {}, {}, "10 URLs; errors: 2 timeout"),
        (TWIN, {}, {"requests": 11}, {}, "11 requests"),
        (TWIN, {}, {"requests": 9}, {}, "9 requests"),
        (TWIN, {}, {"repeated": 1}, {}, "1 of them repeated"),
        (TWIN, {}, {"distinct": 9}, {}, "9 URLs"),
        (TWIN, {}, {"distinct": 11}, {}, "11 URLs"),
        (TWIN, {}, {"connections_opened": 5}, {}, "5 connections opened"),
        (TWIN, {}, {"peak_in_flight": 5}, {}, "5 requests in flight"),
        (TWIN, {}, {"pipelined": 3}, {}, "3 requests were sent before the answer"),
        (TWIN, {"pages": 20}, {}, {}, "20 pages counted, but 10 URLs answered with status 200"),
        (TWIN, {"pages": 9}, {}, {}, "9 pages counted, but 10 URLs answered with status 200"),
        (TWIN, {"kept": {"service": 20}}, {}, {}, "the times of 20 exchanges recorded"),
        (TWIN, {"kept": {"service": 9}}, {}, {}, "the times of 9 exchanges recorded"),
        (TWIN, {}, {}, {"service": [4.01]}, "4 slots had only 1 s each"),
        (TWIN, {}, {}, {"service": [4.0]}, None),
        (TWIN, {"elapsed_s": 2.0}, {}, {"service": [8.0]}, None),
        (NULL, {"kept": {"service": 0}}, {}, {}, None),
        (TWIN, {"mechanism": {"gc": "disabled"}}, {}, {}, "garbage collector was off"),
        (FLIPS["collector"], {"mechanism": {"gc": "disabled"}}, {}, {}, None),
        (TWIN, {}, shaken(4), {}, "on plain HTTP"),
        (ENCRYPTED, {}, shaken(4), {}, None),
        (ENCRYPTED, {}, {}, {}, "this was not TLS"),
        (ENCRYPTED, {}, shaken(3), {}, "3 handshakes"),
        (PLAIN, {}, shaken(4), {}, "on plain HTTP"),
        (PLAIN, {}, {}, {}, None),
        (NEW, {}, EACH_PAGE, {}, None),
        (NEW, {}, {"requests_per_connection_max": 3}, {}, "3 requests on one connection"),
        (HANDSHAKE, {}, EACH_PAGE | shaken(9, 1), {}, "offers no tickets"),
        (TICKETS, {}, EACH_PAGE | shaken(1, 9), {}, None),
        (HELD, {}, {}, {}, None),
        (HELD, {}, {"peak_in_flight": 3}, {}, "only 3 of 4 connections were held"),
        (HELD, {}, {"peak_connections": 2}, {}, "only 2 of 4 connections were held"),  # pipelined
        (INTERRUPTED, ENDED, HELD_BACK, cancelled(), None),
        (INTERRUPTED, ENDED | {"stopped": None}, HELD_BACK, cancelled(), "ended as complete"),
        (INTERRUPTED, ENDED | {"stopped": "deadline"}, HELD_BACK, {}, "ended as deadline"),
        (
            INTERRUPTED,
            ENDED | {"errors": {"cancelled": 3, "timeout": 1}},
            HELD_BACK,
            cancelled(),
            "3 cancelled, 1 timeout of 4",
        ),
        (INTERRUPTED, ENDED | {"errors": {}}, HELD_BACK, cancelled(), "none of 4"),
        (INTERRUPTED, ENDED, HELD_BACK | {"peak_in_flight": 3}, cancelled(), "only 3 of 4"),
        (INTERRUPTED, ENDED, HELD_BACK | {"requests": 5}, cancelled(), "of 5 in all"),
        (
            INTERRUPTED,
            ENDED,
            HELD_BACK,
            cancelled(left={"descriptor socket": 2}),
            "left behind: 2 × descriptor socket",
        ),
        (INTERRUPTED, ENDED, HELD_BACK, cancelled(open_at_server=1), "1 connections were still"),
        (WORK, {}, {}, {"expected": (2, 7)}, "0 pages were worked on, where 2"),
        (WORK, {"work": WORKED}, {}, {"expected": (3, 7)}, "2 pages were worked on, where 3"),
        (WORK, {"work": WORKED}, {}, {"expected": (2, 8)}, "came to 7, not to 8"),
        (WORK, {"work": WORKED}, {}, {"expected": (2, 7)}, None),
        (OPENING, {}, {}, {"pages_per_s": None}, NOTHING_STEADY),
        (OPENING, {}, {}, {"pages_per_s": 1.0}, None),
    ],
)
def test_every_disagreement_is_named(
    under: Condition, result: Changes, ledger: Changes, parts: Changes, reason: str | None
) -> None:
    found = void_reason(
        four_slots(**parts),
        [under],
        replace(small.RESULT, **result),
        small.LEDGER.model_copy(update=ledger),
        "d",
    )
    assert found == reason or (reason is not None and reason in (found or ""))


def test_without_a_digest_nothing_counts() -> None:
    assert "no digest" in (void_reason(four_slots(), [], small.RESULT, small.LEDGER, None) or "")


@pytest.mark.parametrize(
    ("control", "requests", "distinct", "reason"),
    [
        ("bare", 40, 10, None),
        ("bare_tls", 10, 10, None),
        ("bare", 39, 10, "the server saw 39 requests of the control for 10 URLs, not 40 for 10"),
        ("bare", 41, 10, "the server saw 41 requests of the control for 10 URLs, not 40 for 10"),
        ("bare", 40, 9, "the server saw 40 requests of the control for 9 URLs, not 40 for 10"),
    ],
)
def test_a_control_asks_for_every_page_equally_often(
    control: str, requests: int, distinct: int, reason: str | None
) -> None:
    ledger = small.LEDGER.model_copy(update={"requests": requests, "distinct": distinct})
    result = replace(small.RESULT, kept={"service": 0})
    for urls, own in ((None, result), (10, replace(result, urls=9))):
        found = void_reason(four_slots(), [], own, ledger, None, urls=urls, control=control)
        assert found == reason
    idle = replace(result, answered=0)
    found = void_reason(four_slots(), [], idle, ledger, None, control=control)
    assert found == (reason or "the control did nothing")


LOADED = replace(small.RESULT, loaded=Served(10, 99, connections=2))


@pytest.mark.parametrize(
    ("name", "served", "expected", "wrong"),
    [
        ("callbacks", Served(10, 99), "d", ""),
        ("callbacks", Served(10, 99), "other", "wrong digest"),
        ("callbacks", Served(11, 99), "d", "10 answers"),
        ("callbacks", Served(10, 98), "d", "checksum of 99"),
        ("callbacks", Served(10, 99, 2), "d", ""),
        ("callbacks", Served(10, 99, 3), "d", "but 3 accepted"),
        ("callbacks", Served(10, 99, 1), "d", "but 1 accepted"),
        ("callbacks", Served(10, 99, 2, 1), "d", "but 1 were worked on"),
        ("bare", Served(0, 0), "d", ""),
    ],
)
def test_a_server_and_its_load_must_agree(
    name: str, served: Served, expected: str, wrong: str
) -> None:
    found = served_reason(name, LOADED, served, expected) or ""
    assert wrong in found
    assert bool(wrong) == bool(found)
