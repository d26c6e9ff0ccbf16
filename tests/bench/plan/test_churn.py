"""A connection for each page, beside the same pages on kept connections."""

from __future__ import annotations

import pytest

from bench.plan import budget, plan
from bench.plan.cast import MAIN_VARIANTS, Cast
from bench.plan.churn import churn
from bench.plan.labels import Label
from bench.plan.over_tls import tls_fetch
from bench.plan.plan import PlannedPoint
from bench.plan.profiles import profile
from bench.plan.sizes import pages_of, sized
from bench.run.preflight import unable
from crawlers import registry
from crawlers.backend import Backend
from crawlers.registry import MODELS


def planned(name: str) -> PlannedPoint:
    found = profile(name)
    entries = plan.select(name, found.backends or registry.names())
    (entry,) = (entry for entry in entries if entry.point.workload == "churn")
    return entry


def test_a_block_holds_each_backend_on_kept_and_on_new_connections() -> None:
    cast = plan.cast(churn(100, 1000, Cast(2)), ["threads", "trio"])
    assert {str(label): blocks for label, blocks in cast.items()} == {
        "threads/plain": 2,
        "threads/churn": 2,
    }


def test_a_mode_decides_on_the_connection_and_none_is_over_tls() -> None:
    point = churn(100, 1000, Cast(1))
    assert point.way(Label("callbacks", mode="plain")).keep_alive
    assert not point.way(Label("callbacks", mode="churn")).keep_alive
    assert not point.over_tls
    assert point.params["modes"] == "plain churn"


def test_a_backend_without_https_takes_part() -> None:
    backend = Backend("sockets", "async", 1, "", "", no_https="its calls take no ssl")
    assert unable(backend, churn(100, 1000, Cast(1))) is None
    assert "its calls take no ssl" in (unable(backend, tls_fetch(10, 100, Cast(1))) or "")


def test_fewer_pages_have_a_connection_each() -> None:
    point = churn(100, 24_000, Cast(1))
    kept, opened = (
        pages_of(sized(point, Label("callbacks", mode=mode))) for mode in ("plain", "churn")
    )
    assert kept > 4 * opened > 4 * 6 * 100


@pytest.mark.parametrize(
    ("name", "seconds", "names"),
    [("quick", 8, MODELS), ("full", 80, (*MODELS, *MAIN_VARIANTS))],
)
def test_a_profile_measures_it_in_the_time_it_may_take(
    name: str, seconds: float, names: tuple[str, ...]
) -> None:
    entry = planned(name)
    assert {label.name for label in entry.cast} == set(names)
    assert budget.plan_s([entry]) <= seconds


def test_one_server_never_sees_more_connections_than_a_client_has_ports() -> None:
    """Were every connection closed by the client, each port would still be used once at most."""
    entry = planned("full")
    most = max(pages_of(sized(entry.point, label)) for label in entry.cast if label.mode == "churn")
    assert most < 28_232 / 2
