"""The share of the A/A scatter that stolen time and waiting explain."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import store, turnlog
from bench.analysis import scatter, stats, trust
from bench.analysis.analysis import Analysis
from bench.report import archive
from bench.schema import TurnsRecord
from tests.bench.synthetic import campaign, gathered

LABELS = ["threads", "callbacks", "callbacks#2"]


def turns(
    block: int = 0,
    *,
    rounds: int = 40,
    stolen: float = 0.0,
    noise: float = 0.05,
    waits: bool = False,
    labels: list[str] | None = None,
) -> TurnsRecord:
    """A block's turns: of what is stolen from a turn (or waited in it), its rate suffers."""
    rng = np.random.default_rng(block + 1)
    names = LABELS if labels is None else labels
    order: list[int] = []
    for _ in range(rounds):
        first = [int(i) for i in rng.permutation(len(names))]
        order += [*first, *reversed(first)]
    number = len(order)
    lost = stolen * 4000 * rng.integers(0, 2, number)
    rate = np.exp(rng.normal(0, noise, number)) * (1 - lost / 10_000)
    exchanges = np.round(100_000 * rate).astype(int)
    return TurnsRecord(
        block=block,
        point="throughput-100",
        labels=names,
        label=order,
        round=[turn // (2 * len(names)) for turn in range(number)],
        counted=[True] * number,
        began_us=[10_000 * turn for turn in range(number)],
        wall_us=[10_000] * number,
        cpu_us=[9_000] * number,
        server_cpu_us=[9_000] * number,
        exchanges=[int(n) for n in exchanges],
        steal_ms=[0 if waits else round(x / 1000) for x in lost],
        wait_us=[round(x) for x in lost] if waits else [],
    )


def share(found: list[scatter.Explained], level: str, cause: str) -> scatter.Explained:
    (one,) = (
        one
        for one in found
        if one.level == level and one.causes == (cause,) and one.metric is stats.PAGES_PER_S
    )
    return one


def test_scatter_that_is_stolen_time_is_explained() -> None:
    log = [turns(block, stolen=1.0, noise=0.001) for block in range(6)]
    one = share(scatter.explained(log), "round", "steal")
    assert one.share > 0.95
    assert one.low <= one.share <= one.high
    assert one.samples == 6 * 40


def test_scatter_of_another_kind_is_not() -> None:
    log = [turns(block, stolen=0.02, noise=0.2) for block in range(6)]
    assert share(scatter.explained(log), "round", "steal").share < 0.1
    assert not share(scatter.explained([turns(b) for b in range(6)]), "round", "steal").seen


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.floats(0.01, 0.4), st.floats(0.0, 1.0))
def test_a_share_is_a_share(noise: float, stolen: float) -> None:
    log = [turns(block, stolen=stolen, noise=noise) for block in range(4)]
    for one in scatter.explained(log):
        assert 0 <= one.low <= one.high <= 1
        assert 0 <= one.share <= 1


def test_waiting_counts_where_it_was_recorded() -> None:
    log = [turns(block, stolen=1.0, noise=0.001, waits=True) for block in range(6)]
    found = scatter.explained(log)
    assert share(found, "round", "wait").share > 0.95
    together = [one for one in found if one.causes == ("steal", "wait")]
    assert {one.level for one in together} == {"round", "block"}
    without = scatter.explained([turns(block, stolen=1.0) for block in range(6)])
    assert {one.causes for one in without} == {("steal",)}


def test_waiting_unknown_for_another_label_does_not_hide_it() -> None:
    """The run queues of a worker with many threads are not read."""
    log = []
    for one in (turns(block, stolen=1.0, noise=0.001, waits=True) for block in range(4)):
        waited = [
            None if one.labels[label] == "threads" else wait
            for label, wait in zip(one.label, one.wait_us, strict=True)
        ]
        log.append(one.model_copy(update={"wait_us": waited}))
    assert share(scatter.explained(log), "round", "wait").share > 0.95


def test_turns_that_do_not_count_and_unknown_steal_are_left_out() -> None:
    log = [turns(block, stolen=1.0, noise=0.001) for block in range(4)]
    odd = log[0].model_copy(update={"counted": [False] * len(log[0].counted)})
    blind = log[1].model_copy(update={"steal_ms": [None] * len(log[1].steal_ms)})
    one = share(scatter.explained([odd, blind, *log[2:]]), "round", "steal")
    assert one.samples == 2 * 40
    assert scatter.explained([]) == []
    assert scatter.explained([turns(b, labels=["threads", "callbacks"]) for b in range(3)]) == []


def test_whole_blocks_are_one_sample_each() -> None:
    log = [turns(block, stolen=1.0, noise=0.001) for block in range(8)]
    one = share(scatter.explained(log), "block", "steal")
    assert one.samples == 8
    assert one.share > 0.9


def test_the_noise_section_says_it() -> None:
    records = gathered(campaign(workloads=("throughput",), samples=30))
    log = [turns(block, stolen=1.0, noise=0.02) for block in range(6)]
    lines = trust.method_lines(Analysis(records, log))
    assert any("between single rounds: stolen time explains" in line for line in lines)
    assert any("between single blocks: stolen time explains" in line for line in lines)
    calm = trust.method_lines(Analysis(records, [turns(block) for block in range(6)]))
    assert any("No time was stolen" in line for line in calm)
    assert not any("stolen" in line for line in trust.method_lines(Analysis(records)))


def test_the_log_beside_the_records_is_read_and_bundled(tmp_path: Path) -> None:
    with store.Store(tmp_path / store.FILE_NAME, create=True) as opened:
        for record in campaign(workloads=("throughput",), samples=30, blocks=1):
            opened.append(record)
    for block in range(3):
        turnlog.append(tmp_path, turns(block))
    analysis = Analysis.load(tmp_path)
    assert len(analysis.turns) == 3
    assert analysis.explained
    assert turnlog.FILE_NAME in archive.files_of(tmp_path / store.FILE_NAME)


def test_successive_blocks_that_depend_on_each_other_are_noticed() -> None:
    def pair(logs: list[float]) -> stats.Comparison:
        ratio = stats.ratio(
            dict.fromkeys(range(len(logs)), 1.0),
            {block: math.exp(x) for block, x in enumerate(logs)},
        )
        return stats.Comparison(
            "throughput", "p", stats.CPU_PER_1000, "callbacks", "callbacks#2", ratio, False
        )

    rng = np.random.default_rng(3)
    shocks = rng.normal(0, 0.02, 200)
    drifting = [float(shocks[0])]
    for shock in shocks[1:]:
        drifting.append(0.7 * drifting[-1] + float(shock))
    found = []
    for logs in ([float(x) for x in shocks], drifting):
        result = stats.AaResult((pair(logs),), 1, 0, 0, 0, {"p": "turns"})
        serial = result.serial(stats.CPU_PER_1000, "turns")
        assert serial is not None
        assert serial[1] == pytest.approx(1 / math.sqrt(199))
        found.append(serial[0])
    assert abs(found[0]) < 0.25
    assert found[1] > 0.5
