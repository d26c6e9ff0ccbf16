"""The workloads over TLS: modes in one block, sizes, ramps, and what the server is started with."""

from __future__ import annotations

import pytest

from bench.plan import plan
from bench.plan.cast import MAIN_VARIANTS, Cast
from bench.plan.labels import Label
from bench.plan.over_tls import PAGES_OF, tls_c10k, tls_fetch, tls_handshake
from bench.plan.plan import PlannedPoint
from bench.plan.profiles import profile
from bench.plan.sizes import PAGES_PER_SLOT, pages_of, sized
from bench.plan.tls import ASYNCIO, EACH_PAGE, KEPT, OTHER_TLS, WAYS, Tls, client_kib
from bench.plan.workloads import RAMP_PER_S, TLS_RAMP_PER_S, c10k
from crawlers.catalogue import OURS
from crawlers.registry import MODELS, names


def test_a_block_holds_each_backend_in_each_mode() -> None:
    cast = plan.cast(tls_handshake(10, 1000, Cast(2)), ["threads", "trio"])
    assert {str(label) for label in cast} == {f"threads/{mode}" for mode in EACH_PAGE}
    assert set(cast.values()) == {2}


def test_plain_and_tls_are_in_the_same_block() -> None:
    point = tls_fetch(10, 1000, Cast(2, 2))
    entry = PlannedPoint(point, plan.cast(point, ["callbacks", "uvloop"]))
    turns = plan.make([entry], seed=1).turns
    for block in range(2):
        labels = {str(turn.label) for turn in turns if turn.block == block}
        assert labels == {f"{name}/{mode}" for name in ("callbacks", "uvloop") for mode in KEPT}


def test_only_a_handshake_mode_forbids_tickets() -> None:
    assert WAYS["handshake"].tls == Tls(tickets=False)
    assert WAYS["tickets"].tls == WAYS["tls"].tls == Tls()
    assert not WAYS["plain"].tls
    assert not WAYS["churn"].tls
    assert {mode for mode, way in WAYS.items() if not way.keep_alive} == set(EACH_PAGE)


def test_the_servers_options() -> None:
    assert Tls().arguments == ["--tls", "ecdsa", "--tls-version", "1.3"]
    assert Tls("rsa", "1.2", tickets=False).arguments == [
        *("--tls", "rsa", "--tls-version", "1.2", "--no-tickets"),
    ]


def test_a_label_decides_on_tls_where_a_point_has_modes() -> None:
    point = tls_fetch(10, 1000, Cast(1))
    assert point.way(Label("callbacks", mode="plain")).tls is None
    assert point.way(Label("callbacks", mode="tls")).tls is not None
    assert tls_c10k(10, Cast(1)).way(Label("callbacks")).tls is not None
    assert c10k(10, Cast(1)).way(Label("callbacks")).tls is None


def test_a_point_without_tls_is_recorded_as_before_there_was_any() -> None:
    assert not {"tls", "modes"} & c10k(10, Cast(1)).params.keys()
    assert tls_c10k(10, Cast(1)).params["tls"] == "TLS 1.3, ecdsa, tickets"
    assert tls_fetch(10, 1000, Cast(1)).params["modes"] == "plain tls"


def test_connections_over_tls_are_opened_more_slowly() -> None:
    assert c10k(10, Cast(1)).ramp_per_s == RAMP_PER_S
    assert tls_c10k(10, Cast(1)).ramp_per_s == TLS_RAMP_PER_S
    assert tls_fetch(10, 1000, Cast(1)).ramp_per_s is None


def test_a_handshake_takes_the_time_of_many_pages() -> None:
    point = tls_handshake(10, 30_000, Cast(1))
    pages = {
        mode: pages_of(sized(point, Label("callbacks", mode=mode))) for mode in (*KEPT, *EACH_PAGE)
    }
    assert pages["plain"] > pages["tls"] > pages["churn"] > 10 * pages["handshake"]
    slow = sized(point, Label("httpx", mode="handshake"))
    assert pages_of(slow) == slow.urls
    assert pages_of(slow) >= PAGES_PER_SLOT * 10


def test_every_backend_whose_pages_are_measured_has_a_known_or_optional_name() -> None:
    assert {*MODELS, *MAIN_VARIANTS} <= set(PAGES_OF)
    assert set(PAGES_OF) - set(names()) <= {"rloop"}


def test_asyncio_is_expected_to_take_its_buffer() -> None:
    assert client_kib("async_await") > 256 > client_kib("trio")
    assert client_kib("uvloop") == client_kib("threads")
    for name in ("aiohttp", "httpx2", "anyio", "asyncio_buffered", "async_await_pool", "processes"):
        assert client_kib(name) == client_kib("async_await"), name
    others = ("asyncio_small_tls", "uvloop_sockets", "anyio_trio", "curio", "gevent")
    for name in (*others, "aiohttp_uvloop", "callbacks", "requests", "of_somebody_else"):
        assert client_kib(name) == client_kib("threads"), name


def test_what_is_said_of_the_ladder_names_backends_that_exist() -> None:
    assert set(OURS) >= ASYNCIO | OTHER_TLS
    assert not ASYNCIO & OTHER_TLS


@pytest.mark.parametrize(
    ("name", "workloads"),
    [
        ("smoke", {"tls-c10k"}),
        ("quick", {"tls-c10k"}),
        ("full", {"tls-c10k", "tls-fetch", "tls-handshake"}),
    ],
)
def test_a_profile_measures_tls(name: str, workloads: set[str]) -> None:
    assert {p.workload for p in profile(name).points if p.workload[:3] == "tls"} == workloads


def test_the_headline_is_in_the_quick_profile() -> None:
    found = profile("quick")
    assert found.backends is not None
    chosen = {entry.point.id: entry for entry in plan.select("quick", found.backends)}
    cast = {str(label) for label in chosen["tls-c10k-1000"].cast}
    assert cast == {*MODELS, "uvloop", "trio", "aiohttp", "bare_tls"}
