"""pytest-benchmark as the front end: exact durations, one row each, no host name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_benchmark.fixture import BenchmarkFixture

from bench import store
from bench.analysis import stats
from bench.cli import pytest_front
from bench.cli.pytest_front import FINISHED, hand_over, page_s, replaying
from bench.launch import ROOT
from bench.machine.environment import pytest_benchmark_generate_machine_info
from tests.bench import small
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, campaign
from tests.programs import python


@given(st.lists(st.floats(1e-9, 1e4), min_size=1, max_size=30))
def test_a_replayed_timer_gives_back_each_duration_to_the_last_bit(durations: list[float]) -> None:
    timer = replaying(durations)
    measured = []
    for _ in durations:
        started = timer()
        measured.append(timer() - started)
    assert measured == durations


def test_pytest_benchmark_still_keeps_its_timer_where_we_replace_it(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails when a new release moves the private attribute: then see bench/cli/pytest_front.py."""
    monkeypatch.setattr(benchmark, "disabled", False)  # as it is under xdist
    durations = [0.1, 0.25, 1 / 3]
    hand_over(benchmark, durations, "a-group")
    assert benchmark.stats is not None
    assert benchmark.stats.stats.data == durations
    assert benchmark.stats.group == "a-group"


def test_a_page_is_replayed_and_not_a_trial() -> None:
    """In turns callbacks have four times the pages of aiohttp, and came after it in the tables."""
    analysis = analysed(campaign(blocks=1, workloads=("throughput", "openloop", "c10k")))
    trials = {(t.point, t.label): t for t in analysis.records.trials}
    fast, slow = (trials["throughput-100", name] for name in ("callbacks", "async_await"))
    longer = fast.model_copy(update={"elapsed_s": 9 * (fast.elapsed_s or 0.0)})
    assert sure(page_s(longer)) < sure(page_s(slow))
    asked = next(t for t in trials.values() if t.response_time)
    assert page_s(asked) == sure(asked.response_time).p50_ms / 1000
    assert page_s(next(t for t in trials.values() if t.memory)) is None


def test_the_machine_is_described_without_its_name() -> None:
    text = json.dumps(pytest_benchmark_generate_machine_info())
    assert os.uname().nodename not in text
    assert "python_version" in text


def front_end(*arguments: str, outside: bool = False) -> subprocess.CompletedProcess[str]:
    """Run ``pytest bench`` as nox does."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "bench", "--profile", "smoke", *arguments],
        cwd=ROOT,
        env=small.environment(outside=outside),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A small campaign with a backend that fails, run by pytest: its folder, JSON and output."""
    folder = tmp_path_factory.mktemp("front-end")
    results, saved = folder / "results", folder / "saved.json"
    done = front_end(
        *("-k", "throughput and 100", "--backends", "callbacks,threads,lazy", "--blocks", "2"),
        *("--seed", "3", "--results", str(results), "--benchmark-json", str(saved)),
        outside=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (campaign,) = results.iterdir()
    return campaign, saved, done.stdout


@pytest.mark.slow
def test_every_backend_that_counts_but_the_twin_has_one_row_with_its_trials_as_rounds(
    run: tuple[Path, Path, str],
) -> None:
    campaign, saved, output = run
    trials, text = store.load(campaign).trials, saved.read_text()
    rows: list[dict[str, Any]] = json.loads(text)["benchmarks"]
    assert sorted(row["name"] for row in rows) == [
        "test_trials[throughput-callbacks-100]",
        "test_trials[throughput-threads-100]",
    ]
    for row in rows:
        backend = row["name"].split("-")[1]
        assert row["group"] == "throughput-100"
        mine = [t for t in trials if t.label == backend]
        assert row["stats"]["data"] == [1 / sure(stats.pages_per_s(t)) for t in mine]
        # What they did with their sites says who is fast; how long they had these does not.
        assert len({t.pages for t in trials if t.status == "ok"}) > 1
        assert row["extra_info"]["campaign"] == campaign.name
    assert "callbacks#2" in {trial.label for trial in trials}
    assert "#2" not in text
    assert os.uname().nodename not in json.dumps(json.loads(text)["machine_info"])
    assert list((campaign / "charts").glob("throughput*.svg"))
    assert (campaign / "summary.md").is_file()
    assert "1 failed, 2 passed" in output, "a backend that fails fails only its own test"
    assert "2 of 2 trials of lazy do not count: wrong digest" in output
    assert "benchmark 'throughput-100'" not in output, "its tables are for -v"


@pytest.mark.slow
def test_pytest_benchmark_compares_what_was_saved(run: tuple[Path, Path, str]) -> None:
    _, saved, _ = run
    again = saved.with_name("again.json")
    again.write_bytes(saved.read_bytes())
    done = python("-m", "pytest_benchmark", "compare", str(saved), str(again), cwd=saved.parent)
    assert done.returncode == 0, done.stderr
    assert "test_trials[throughput-callbacks-100]" in done.stdout


def test_collecting_measures_nothing(tmp_path: Path) -> None:
    done = front_end("--collect-only", "-q", "--results", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_trials[c10k-threads-500]" in done.stdout
    assert "[real-" not in done.stdout  # smoke has no such point
    assert not list(tmp_path.iterdir())


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--profile", "huge"), "unknown profile 'huge': choose one of smoke, quick, headlines"),
        slow(("--backends", "nonesuch"), "no backend named 'nonesuch'"),
        slow(("--resume", "nowhere"), "nowhere: no campaign here"),
    ],
)
def test_bad_options_get_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = front_end(*arguments)
    assert done.returncode != 0
    assert message in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.slow
def test_ctrl_c_draws_what_there_is(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", "bench", "--profile", "smoke", "--blocks", "30"),
            *("-k", "waiting and 10]", "--backends", "callbacks,generators"),
            *("--results", str(tmp_path)),
        ],
        cwd=ROOT,
        env=small.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        folder = small.wait_for_lines(tmp_path, 6)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, output
    assert f"continue with --resume {folder}" in output
    assert list((folder / "charts").glob("*.svg"))


@pytest.mark.parametrize(
    ("complete", "options", "times"),
    [(True, [], 1), (True, ["--no-charts"], 0), (False, [], 0)],
)
def test_the_end_of_a_campaign_is_drawn_once_unless_you_want_no_charts(
    complete: bool, options: list[str], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was interrupted has been drawn already."""
    published = Mock()
    monkeypatch.setattr(pytest_front, "publish", published)
    config = Mock(stash={FINISHED: Mock(**{"end.complete": complete})}, getoption=options.count)
    config.option.verbose, config.pluginmanager.getplugin.return_value = 0, None
    pytest_front.pytest_terminal_summary(Mock(), config)
    assert published.call_count == times
