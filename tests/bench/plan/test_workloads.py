"""Single workloads: modes in one block, connections over TLS, processors, and real pages."""

from __future__ import annotations

from dataclasses import replace

from bench.conditions.held import RAMP_PER_S, TLS_RAMP_PER_S
from bench.conditions.ways import ENCRYPTED, PLAIN
from bench.plan import plan, profiles
from bench.plan.durations import PAGES_PER_SLOT, sized
from bench.plan.participants import CITED, TLS_PAGES, Label, usually
from bench.plan.workloads import c10k, in_modes
from bench.run.preflight import unable
from crawlers.backend import Backend
from crawlers.registry import MODELS, names

ONE = usually(MODELS, 1)

# --- modes: new connections, TLS --------------------------------------------------------


def test_a_backend_without_https_takes_part_where_there_is_none() -> None:
    backend = Backend("sockets", "", "", "async", 1, no_https="its calls take no ssl")
    assert unable(backend, in_modes("churn", 100, 1000, ONE)) is None
    assert "its calls take no ssl" in (unable(backend, in_modes("tls-fetch", 10, 100, ONE)) or "")


def test_what_takes_longer_has_fewer_pages() -> None:
    point = in_modes("tls-handshake", 10, 30_000, ONE)
    point = replace(point, varied=(PLAIN, ENCRYPTED, *point.varied))
    plain, tls, churn, shaken, tickets = (
        sized(point, Label("callbacks", condition=one.name)).pages for one in point.varied
    )
    assert plain > tls > churn > 10 * shaken == 10 * tickets
    assert sized(point, Label("httpx", condition="handshake")).pages >= PAGES_PER_SLOT * 10


def test_one_server_never_sees_more_connections_than_a_client_has_ports() -> None:
    """Were every connection closed by the client, each port would still be used once at most."""
    (entry,) = plan.select(profiles.profile("full", ["churn"]), names())
    assert {label.name for label in entry.labels} == set(CITED)
    most = max(
        sized(entry.point, label).pages for label in entry.labels if label.condition == "churn"
    )
    assert most < 28_232 / 2


def test_the_server_is_told_how_many_header_lines_to_send() -> None:
    point = in_modes("headers", 100, 16000, ONE)
    sites = [sized(point, label).site for label in plan.labels_of(point, ["callbacks"])]
    assert [site.rpartition(":")[2] for site in sites] == ["5", "20", "80"]
    assert point.params["modes"] == "headers=5 headers=20 headers=80"
    assert point.params["ramp_per_s"] is None


# --- TLS --------------------------------------------------------------------------------


def test_connections_held_over_tls_are_opened_more_slowly_and_recorded() -> None:
    plain, over = c10k(10, ONE), c10k(10, ONE, tls=True)
    ramps = (plain.params["ramp_per_s"], over.params["ramp_per_s"])
    assert ramps == (RAMP_PER_S, TLS_RAMP_PER_S)
    assert plain.tls is None
    assert over.params["tls"] == "TLS 1.3, ecdsa, tickets"
    assert not {"tls", "modes"} & plain.params.keys()  # as before there was any TLS


def test_every_backend_that_a_table_names_exists() -> None:
    assert {*CITED, *TLS_PAGES} <= set(names())
