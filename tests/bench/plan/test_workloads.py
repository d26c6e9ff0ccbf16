"""Single workloads: modes in one block, connections over TLS, processors, and real pages."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan import plan, workloads
from bench.plan.labels import Label
from bench.plan.participants import MAIN_VARIANTS, Participants
from bench.plan.plan import PlannedPoint
from bench.plan.sizes import PAGES_PER_SLOT, pages_of, sized
from bench.plan.tls import (
    ASYNCIO,
    DISTANT,
    EACH_PAGE,
    KEPT,
    OPENED,
    OTHER_TLS,
    WAYS,
    Mode,
    Tls,
    client_kib,
)
from bench.plan.workloads import (
    PAGES_OF,
    RAMP_PER_S,
    TLS_RAMP_PER_S,
    Point,
    c10k,
    churn,
    processors,
    scaling,
    steps,
    tls_c10k,
    tls_fetch,
    tls_handshake,
    wire,
)
from bench.run.preflight import unable
from crawlers.backend import Backend
from crawlers.catalogue import OURS
from crawlers.registry import MODELS, names

# --- modes: new connections, TLS --------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "modes"),
    [
        (churn(100, 1000, Participants(2, 2)), OPENED),
        (tls_fetch(10, 1000, Participants(2, 2)), KEPT),
        (tls_handshake(10, 1000, Participants(2, 2)), EACH_PAGE),
        (wire(5, 40, Participants(2, 2)), DISTANT),
    ],
    ids=["churn", "tls-fetch", "tls-handshake", "wire"],
)
def test_a_block_holds_each_backend_in_each_mode(point: Point, modes: tuple[Mode, ...]) -> None:
    entry = PlannedPoint(point, plan.labels_of(point, ["threads", "trio"]))
    turns = plan.make([entry], seed=1).turns
    for block in range(2):
        labels = {str(turn.label) for turn in turns if turn.block == block}
        assert labels == {f"{name}/{mode}" for name in ("threads", "trio") for mode in modes}
    assert point.params["modes"] == " ".join(modes)
    assert point.ramp_per_s is None


def test_a_mode_decides_on_the_connection_and_on_tls() -> None:
    point = tls_fetch(10, 1000, Participants(1))
    assert {mode for mode, way in WAYS.items() if not way.keep_alive} == set(EACH_PAGE)
    assert {mode for mode, way in WAYS.items() if way.tls} == {"tls", "handshake", "tickets"}
    assert WAYS["handshake"].tls == Tls(tickets=False)
    assert WAYS["tickets"].tls == WAYS["tls"].tls == Tls()
    assert point.way(Label("callbacks", mode="plain")) == WAYS["plain"]
    assert point.way(Label("callbacks", mode="tls")) == WAYS["tls"]
    assert point.over_tls
    assert not churn(100, 1000, Participants(1)).over_tls


def test_a_backend_without_https_takes_part_where_there_is_none() -> None:
    backend = Backend("sockets", "async", 1, "", "", no_https="its calls take no ssl")
    assert unable(backend, churn(100, 1000, Participants(1))) is None
    assert "its calls take no ssl" in (unable(backend, tls_fetch(10, 100, Participants(1))) or "")


def test_what_takes_longer_has_fewer_pages() -> None:
    point = tls_handshake(10, 30_000, Participants(1))
    pages = {
        mode: pages_of(sized(point, Label("callbacks", mode=mode))) for mode in (*KEPT, *EACH_PAGE)
    }
    assert pages["plain"] > pages["tls"] > pages["churn"] > 10 * pages["handshake"]
    slow = sized(point, Label("httpx", mode="handshake"))
    assert slow.urls == pages_of(slow) >= PAGES_PER_SLOT * 10


def test_one_server_never_sees_more_connections_than_a_client_has_ports() -> None:
    """Were every connection closed by the client, each port would still be used once at most."""
    (entry,) = plan.select("full", names(), only=["churn"])
    assert {label.name for label in entry.labels} == {*MODELS, *MAIN_VARIANTS}
    most = max(
        pages_of(sized(entry.point, label)) for label in entry.labels if label.mode == "churn"
    )
    assert most < 28_232 / 2


# --- TLS --------------------------------------------------------------------------------


def test_the_servers_options() -> None:
    assert Tls().arguments == ["--tls", "ecdsa", "--tls-version", "1.3"]
    assert Tls("rsa", "1.2", tickets=False).arguments == [
        *("--tls", "rsa", "--tls-version", "1.2", "--no-tickets"),
    ]


def test_connections_held_over_tls_are_opened_more_slowly_and_recorded() -> None:
    plain, over = c10k(10, Participants(1)), tls_c10k(10, Participants(1))
    assert (plain.ramp_per_s, over.ramp_per_s) == (RAMP_PER_S, TLS_RAMP_PER_S)
    assert plain.way(Label("callbacks")).tls is None
    assert over.way(Label("callbacks")).tls is not None
    assert over.params["tls"] == "TLS 1.3, ecdsa, tickets"
    assert not {"tls", "modes"} & plain.params.keys()  # as before there was any TLS


def test_every_backend_that_a_table_names_exists() -> None:
    assert {*MODELS, *MAIN_VARIANTS} <= set(PAGES_OF)
    assert set(PAGES_OF) <= set(names())
    assert set(OURS) >= ASYNCIO | OTHER_TLS
    assert not ASYNCIO & OTHER_TLS


def test_asyncio_is_expected_to_take_its_buffer() -> None:
    assert client_kib("async_await") > 256 > client_kib("trio")
    assert client_kib("uvloop") == client_kib("threads")
    for name in ("aiohttp", "httpx2", "anyio", "asyncio_protocol", "async_await_pool", "processes"):
        assert client_kib(name) == client_kib("async_await"), name
    others = ("asyncio_small_tls", "uvloop_sockets", "anyio_trio", "curio", "gevent")
    for name in (*others, "aiohttp_uvloop", "callbacks", "requests", "of_somebody_else"):
        assert client_kib(name) == client_kib("threads"), name


# --- processors -------------------------------------------------------------------------


@given(st.integers(0, 4096))
def test_steps_double_and_leave_all_but_the_servers_to_the_point_without_a_number(
    usable: int,
) -> None:
    found = steps(usable)
    assert list(found) == [2**power for power in range(len(found))]
    assert all(step < usable - 1 for step in found)
    assert 2 ** len(found) >= usable - 1


def test_a_point_names_its_processors_and_is_for_those_that_can_use_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    found = scaling(1000, 5)
    assert [point.id for point in found] == [f"processors-{n}apart" for n in (1, 2, 4)]
    everyone = [*MODELS, "processes", "loop_per_thread", "trio"]
    for point in found:
        assert point.params["processors"] == "apart"
        assert point.params["over"] == point.over
        labels = {label.backend for label in plan.labels_of(point, everyone)}
        assert labels == {"callbacks", "threads", "processes", "loop_per_thread"}
    assert "over" not in processors("apart", 1000, Participants(5)).params
    monkeypatch.delattr(os, "sched_getaffinity")
    assert scaling(1000, 5) == []


# --- real pages -------------------------------------------------------------------------


def test_no_debian_documentation_falls_back_to_a_python_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "lib" / "docs"
    docs.mkdir(parents=True)
    files = ["index.html", *(f"page{number}.html" for number in range(25))]
    for name in files:
        (docs / name).write_text("<p>")
    package = SimpleNamespace(
        files=[Path("lib/docs") / name for name in files],
        metadata={"Name": "somedocs"},
        version="1.2",
        locate_file=lambda path: tmp_path / path,
    )
    empty = SimpleNamespace(files=None, metadata={"Name": "empty"}, version="1")
    monkeypatch.setattr(workloads, "DEBIAN_DOCS", ())
    monkeypatch.setattr("importlib.metadata.distributions", lambda: [empty, package])
    monkeypatch.setattr(workloads, "find_html", find_html := workloads.find_html.__wrapped__)
    assert find_html() == (docs, "somedocs 1.2 (PyPI)")
    point = workloads.real(Participants(2))[0]
    assert point.site == f"dir:{docs}"
    assert point.params["site"] == "dir:somedocs 1.2 (PyPI)"
    monkeypatch.setattr("importlib.metadata.distributions", list)
    assert workloads.real(Participants(1)) == []
