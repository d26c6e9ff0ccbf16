"""Real counts of real crawls: small ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.costs import measure, record
from bench.costs.measure import CostsOptions, Progress
from bench.costs.record import CostsError, Sample
from bench.machine import instruments

SMALL = CostsOptions(backends=["callbacks"], workloads=("fetch",), pages=60, slots=5, seeds=[1])


def run(options: CostsOptions) -> list[Sample]:
    """The samples; each was reported."""
    seen: list[Sample] = []

    def keep(progress: Progress) -> None:
        seen.append(progress.sample)

    found = measure.run(options, keep)
    assert {sample.key for sample in found.samples} == {sample.key for sample in seen}
    return list(found.samples)


def usable(*names: str) -> None:
    """Skip without these instruments."""
    for each in instruments.find(names, "valgrind"):
        if each.missing is not None:
            pytest.skip(each.missing)


def test_bytes_segments_and_switches() -> None:
    (sample,) = run(replace(SMALL, instruments=("kernel",)))
    assert sample.status == "ok", sample.reason
    small, large = sample.counts["switches"]
    assert small >= 0
    assert large >= 0
    if "bytes_sent" in sample.counts:
        small, large = sample.counts["bytes_sent"]
        assert 40 * 60 < large - small < 400 * 60, "a request of some ninety bytes a page"
        small, large = sample.counts["segments_sent"]
        assert large - small >= 60


def test_system_calls_of_a_page() -> None:
    usable("system calls")
    (sample,) = run(replace(SMALL, instruments=("system calls",)))
    assert sample.status == "ok", sample.reason
    small, large = sample.counts["system_call.sendto"]
    assert large - small == 60, "one for each page"


@pytest.mark.slow
def test_instructions_and_allocations_of_a_page() -> None:
    usable("instructions", "allocations")
    samples = run(
        replace(SMALL, instruments=("instructions", "allocations"), pages=200, source="valgrind")
    )
    assert [sample.status for sample in samples] == ["ok", "ok"], [s.reason for s in samples]
    small, large = samples[0].counts["instructions"]
    assert 10_000 < (large - small) / 200 < 1_000_000
    small, large = samples[1].counts["allocations"]
    assert 5 < (large - small) / 200 < 5000


def test_a_wrong_crawl_is_void_and_gives_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bench.costs.crawls.judge.void_reason", lambda *_: "wrong digest of 60 URLs"
    )
    (sample,) = run(replace(SMALL, instruments=("kernel",)))
    assert (sample.status, sample.reason) == ("void", "wrong digest of 60 URLs")
    assert sample.counts == {}


def test_nothing_to_count_with_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CostsError, match="apt-get install strace"):
        measure.run(replace(SMALL, instruments=("system calls",)), lambda _: None)


def test_the_command_counts_writes_and_redraws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "costs"
    asked = ["costs", "--backends", "callbacks", "--workload", "fetch", "--count", "kernel"]
    asked += ["--pages", "40", "--slots", "4", "--seeds", "1", "--out", str(out), "--json"]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"fetch"}
    assert "switches" in told["fetch"]["callbacks"]
    assert len(record.load(out).samples) == 1
    (out / "summary.md").unlink()
    assert main(["costs", "--redraw", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told
    assert "# What a page takes" in (out / "summary.md").read_text()


def test_an_unknown_count_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["costs", "--count", "seconds"]) == 2
    assert "cannot count 'seconds'" in capsys.readouterr().err
