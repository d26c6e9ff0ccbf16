"""The table of workloads: whole, unambiguous, and within what it promises."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import workloads
from bench.stats import MIN_BLOCKS
from bench.workloads import MODELS, Point, ProfileError

PROFILES = sorted(workloads.PROFILES)


def points(profile: str) -> dict[str, Point]:
    return {point.id: point for point in workloads.profile(profile).points}


def test_an_unknown_profile_names_those_there_are() -> None:
    with pytest.raises(ProfileError, match=r"unknown profile 'huge'.*smoke, quick, full"):
        workloads.profile("huge")


@pytest.mark.parametrize("profile", PROFILES)
def test_point_ids_are_unique_and_begin_with_their_workload(profile: str) -> None:
    found = workloads.profile(profile).points
    assert len({point.id for point in found}) == len(found)
    assert all(point.id.rpartition("-")[0] == point.workload for point in found)


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_the_settings_that_the_charts_need_are_there(profile: str) -> None:
    found = points(profile)
    assert {f"{w}-{n}" for w in ("throughput", "waiting") for n in (1, 10, 100, 1000)} <= set(found)
    assert {f"c10k-{n}" for n in (100, 1000, 5000, 10000)} <= set(found)


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_a_memory_slope_has_four_numbers_of_connections(profile: str) -> None:
    held = {point.slots for point in workloads.profile(profile).points if point.kind == "hold"}
    assert len(held) >= 4


@pytest.mark.parametrize("profile", PROFILES)
def test_the_records_name_no_folder_of_this_machine(profile: str) -> None:
    for point in workloads.profile(profile).points:
        assert not any("/" in str(value) for value in point.params.values())


def test_labels_hold_the_twin_and_the_recorder_that_keeps_nothing() -> None:
    found = points("quick")
    assert workloads.labels(found["throughput-100"], MODELS) == [*MODELS, "callbacks#2"]
    assert workloads.labels(found["c10k-100"], MODELS) == list(MODELS)
    assert workloads.labels(found["cost-100"], MODELS) == ["callbacks", "callbacks/null"]
    assert workloads.labels(found["throughput-100"], ["threads"]) == ["threads"]


def test_variants_stay_out_of_points_meant_for_the_models() -> None:
    found = points("quick")
    assert "trio" not in workloads.labels(found["openloop-1000"], [*MODELS, "trio"])
    assert "trio" in workloads.labels(found["openloop-1000"], ["trio"], everyone=True)
    assert "trio" in workloads.labels(found["c10k-10000"], [*MODELS, "trio"])


def test_full_takes_every_backend_and_the_rest_in_fewer_blocks() -> None:
    assert workloads.profile("full").backends is None
    found = points("full")
    everyone = [*workloads.MAIN, "curio", "mine"]
    assert workloads.labels(found["ladder-100"], everyone) == [*everyone, "callbacks#2"]
    assert workloads.labels(found["throughput-100"], everyone) == [
        *(*workloads.MAIN, "callbacks#2"),
    ]
    held = found["c10k-10000"]
    assert workloads.labels(held, everyone) == everyone
    assert workloads.fewer(held, everyone) == {"curio": held.rest, "mine": held.rest}
    assert workloads.fewer(found["ladder-100"], everyone) == {}
    assert workloads.labels(found["regime-10x1ms"], everyone) == [*MODELS, "callbacks#2"]


def test_full_holds_ten_thousand_and_four_numbers_of_connections_for_every_rung() -> None:
    held = [p for p in workloads.profile("full").points if p.kind == "hold" and p.rest]
    assert len(held) >= 4
    assert max(p.slots for p in held) == 10_000
    # Pairs with the rung below, from a thousand connections on: enough for an interval.
    assert sum(min(p.rest, p.blocks) for p in held if p.slots >= 1000) >= MIN_BLOCKS


def test_full_has_forty_comparisons_of_one_backend_with_itself() -> None:
    """Pages/s, CPU and median at every point with a twin."""
    twins = [p for p in workloads.profile("full").points if p.twin and p.blocks >= MIN_BLOCKS]
    assert 3 * len(twins) >= 40


def test_the_regime_map_has_no_hole() -> None:
    delays = {workloads.WAITING_DELAY: 50, "none": 0}
    cells = {
        (p.slots, delays.get(p.delay) or int(p.delay.rpartition(":")[2]))
        for p in workloads.profile("full").points
        if p.workload in ("waiting", "regime")
    }
    assert cells == {(slots, delay) for slots in (1, 10, 100, 1000) for delay in (1, 10, 50)}


@pytest.mark.parametrize("label", ["callbacks", "callbacks#2", "callbacks/null"])
def test_the_backend_behind_a_label(label: str) -> None:
    assert workloads.backend_of(label) == "callbacks"


def test_no_debian_documentation_falls_back_to_a_python_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "lib" / "docs"
    docs.mkdir(parents=True)
    names = ["index.html", *(f"page{number}.html" for number in range(25))]
    for name in names:
        (docs / name).write_text("<p>")
    package = SimpleNamespace(
        files=[Path("lib/docs") / name for name in names],
        metadata={"Name": "somedocs"},
        version="1.2",
        locate_file=lambda path: tmp_path / path,
    )
    empty = SimpleNamespace(files=None, metadata={"Name": "empty"}, version="1")
    monkeypatch.setattr(workloads, "DEBIAN_DOCS", ())
    monkeypatch.setattr("importlib.metadata.distributions", lambda: [empty, package])
    assert workloads.find_html() == (docs, "somedocs 1.2 (PyPI)")
    point = workloads.real(2)[0]
    assert point.site == f"dir:{docs}"
    assert point.params["site"] == "dir:somedocs 1.2 (PyPI)"


def test_no_documentation_at_all_leaves_the_workload_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "DEBIAN_DOCS", ())
    monkeypatch.setattr("importlib.metadata.distributions", list)
    assert workloads.real(1) == []
