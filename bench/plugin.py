"""pytest-benchmark as the front end: one test for each backend at each workload point.

pytest-benchmark runs all rounds of a test in a row; a campaign interleaves
all backends, block by block. So the campaign runs first, once the tests are
collected and ``-k`` has chosen among them, and every test then hands its
trials' durations to pytest-benchmark: the fixture's timer is replaced by one
that replays them, and ``pedantic`` runs one empty round per trial. The
statistics, tables, JSON files and comparisons are pytest-benchmark's own, over
exactly the durations that were measured.

The timer is a private attribute (``BenchmarkFixture._timer``): pyproject.toml
pins the release and tests/bench/test_plugin.py fails when it moves.
"""

from __future__ import annotations

import platform
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from rich.console import Console

from bench import backends, output, runner, store, workloads
from bench.errors import BenchError
from bench.probes import environment
from bench.process import RESULTS, ROOT
from bench.runner import Finished, Options
from bench.schema import TrialRecord

ENTRY = "entry"
NAMES = pytest.StashKey[list[str]]()
FINISHED = pytest.StashKey[Finished]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The campaign's options, as ``python -m bench run`` has them."""
    group = parser.getgroup("campaign", "the campaign that is measured")
    group.addoption(
        "--profile", default="quick", help="smoke, quick (default) or full: how much is measured"
    )
    group.addoption("--backends", help="only these backends: A,B (default: all installed)")
    group.addoption("--blocks", type=int, help="blocks of every point, not the profile's number")
    group.addoption("--seed", type=int, help="order of the blocks (default: drawn and recorded)")
    group.addoption("--trial-deadline", type=float, help="end a trial after so many seconds")
    group.addoption("--results", type=Path, default=RESULTS, help="where campaigns go")
    group.addoption("--resume", type=Path, help="finish this campaign; its own options hold")


def pytest_configure(config: pytest.Config) -> None:
    """Fail early, in one line, for a profile or backend that does not exist."""
    wanted = config.getoption("--backends")
    try:
        usual = workloads.profile(config.getoption("--profile")).backends
        names = [name.strip() for name in wanted.split(",") if name.strip()] if wanted else None
        known = backends.look_up(names or usual)
        config.stash[NAMES] = backends.choose(known, names, usual)
    except BenchError as error:
        raise pytest.UsageError(str(error)) from None


def entries(config: pytest.Config) -> list[tuple[str, str, str]]:
    """(workload, point id, backend) of everything there is to measure, twins left out."""
    resume = config.getoption("--resume")
    if resume is not None:
        _, records = runner.reopen(resume)
        pairs = [(e.workload, e.point, e.labels) for e in records.campaign.plan]
    else:
        points = workloads.profile(config.getoption("--profile")).points
        names = config.stash[NAMES]
        named = config.getoption("--backends") is not None
        pairs = [(p.workload, p.id, workloads.labels(p, names, everyone=named)) for p in points]
    return [
        (workload, point, backend)
        for workload, point, labels in pairs
        for backend in dict.fromkeys(map(workloads.backend_of, labels))
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test of ``test_<workload>`` for each backend at each of its points."""
    if ENTRY not in metafunc.fixturenames:
        return
    wanted = metafunc.function.__name__.removeprefix("test_")
    try:
        found = [e for e in entries(metafunc.config) if e[0] == wanted]
    except BenchError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize(
        ENTRY,
        [(point, backend) for _, point, backend in found],
        ids=[f"{backend}-{point.rpartition('-')[2]}" for _, point, backend in found],
    )


def entry_of(item: pytest.Item) -> tuple[str, str] | None:
    """(point id, backend) of a test of ours, None for any other.

    A workload that the profile leaves out gives a test without an entry.
    """
    callspec = getattr(item, "callspec", None)
    value = callspec.params.get(ENTRY) if callspec is not None else None
    if not isinstance(value, tuple):
        return None
    point, backend = value
    return point, backend


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the tests of workloads that the profile leaves out."""
    empty = [
        item
        for item in items
        if ENTRY in getattr(item, "fixturenames", ()) and entry_of(item) is None
    ]
    if empty:
        config.hook.pytest_deselected(items=empty)
        items[:] = [item for item in items if item not in empty]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Run the campaign of the tests that were chosen."""
    config = session.config
    selection = {entry for item in session.items if (entry := entry_of(item)) is not None}
    if not selection or config.option.collectonly or config.getoption("benchmark_skip"):
        return
    options = Options(
        profile=config.getoption("--profile"),
        # Named or not makes a difference: see plan.select.
        backends=config.stash[NAMES] if config.getoption("--backends") else None,
        selection=selection,
        blocks=config.getoption("--blocks"),
        seed=config.getoption("--seed"),
        results=config.getoption("--results"),
        resume=config.getoption("--resume"),
        deadline_s=config.getoption("--trial-deadline"),
        command=runner.own_command(["pytest", *config.invocation_params.args]),
    )
    with terminal(config) as console:
        try:
            finished = runner.run(options, console)
        except BenchError as error:
            raise pytest.UsageError(str(error)) from None
        config.stash[FINISHED] = finished
        if not finished.end.complete:
            if finished.records.trials:
                publish(finished, console)
            code = runner.exit_code(finished, console)
            pytest.exit(f"the campaign is not finished: {finished.end.reason}", returncode=code)


@contextmanager
def terminal(config: pytest.Config) -> Iterator[Console]:
    """The real terminal, past pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        yield Console(file=sys.stdout, emoji=False)
        return
    with capture.global_and_fixture_disabled():
        yield Console(file=sys.stdout, emoji=False)


def publish(finished: Finished, console: Console) -> None:
    """Charts, page, summary and table."""
    console.print()
    file = finished.folder / store.FILE_NAME
    with warnings.catch_warnings():
        # What is an error in tests must not keep a measured campaign from its charts.
        warnings.simplefilter("default")
        output.write(finished.records, finished.folder, console, file)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """After pytest-benchmark's table: ours, and the charts."""
    finished = config.stash.get(FINISHED, None)
    if finished is not None and finished.end.complete:
        with terminal(config) as console:
            try:
                publish(finished, console)
            except store.StoreError as error:
                terminalreporter.write_line(str(error), red=True)


def pytest_benchmark_generate_machine_info() -> dict[str, Any]:
    """What the numbers were taken on: no host name, and not ninety processor flags.

    Under pytest-benchmark's own names where it has one, so that its
    comparisons go on working.
    """
    found = environment.collect(ROOT)
    return {
        "processor": found.cpu_model or "",
        "machine": found.machine,
        "cpu_count": found.cpu_count,
        "python_implementation": platform.python_implementation(),
        "python_version": platform.python_version(),
        "python_build": found.python_build,
        "system": platform.system(),
        "release": found.kernel,
        "os": found.os,
    }


def replaying(durations: Sequence[float]) -> Callable[[], float]:
    """A timer under which successive rounds last exactly ``durations``.

    It is asked twice in each round. The first answer is 0.0, so that the
    difference is the duration to the last bit.
    """
    ticks = iter([tick for duration in durations for tick in (0.0, duration)])

    def replayed_timer() -> float:
        return next(ticks)

    return replayed_timer


def hand_over(benchmark: BenchmarkFixture, durations: Sequence[float], group: str) -> None:
    """Give durations to pytest-benchmark as rounds of this test."""
    if not hasattr(benchmark, "_timer"):
        raise RuntimeError("this pytest-benchmark keeps its timer elsewhere; see bench/plugin.py")
    benchmark.group = group
    benchmark._timer = replaying(durations)
    benchmark.pedantic(lambda: None, rounds=len(durations))  # type: ignore[no-untyped-call]


def describe(trials: Sequence[TrialRecord]) -> dict[str, float | str | None]:
    """What stands beside the durations in pytest-benchmark's JSON."""
    rates = [trial.pages_per_s for trial in trials if trial.pages_per_s]
    stamps = sorted({trial.limiter for trial in trials if trial.limiter})
    return {
        "pages_per_s": median(rates) if rates else None,
        "limiter": ", ".join(stamps) or None,
    }


class NothingToReplayError(Exception):
    """No trial of a test counts."""


def give_up(benchmark: BenchmarkFixture, reason: str) -> None:
    """Tell pytest-benchmark that this test has no durations, so that it makes no row."""

    def nothing() -> None:
        raise NothingToReplayError(reason)

    with suppress(NothingToReplayError):
        benchmark.pedantic(nothing)  # type: ignore[no-untyped-call]


@pytest.fixture
def replay(
    entry: tuple[str, str], request: pytest.FixtureRequest, benchmark: BenchmarkFixture
) -> Callable[[], None]:
    """Called by a test: hands its trials to pytest-benchmark, fails if any does not count."""

    def hand_over_trials() -> None:
        finished = request.config.stash.get(FINISHED, None)
        if finished is None:
            pytest.skip("no campaign was run")
        point, backend = entry
        mine = [
            trial
            for trial in finished.records.trials
            if (trial.point, trial.label) == entry and trial.params.get("recorder") != "null"
        ]
        good = [trial for trial in mine if trial.status == "ok" and trial.elapsed_s is not None]
        bad = [trial for trial in mine if trial.status in ("void", "failed")]
        benchmark.extra_info.update(campaign=finished.records.campaign.campaign, **describe(good))
        if good:
            hand_over(benchmark, [trial.elapsed_s or 0.0 for trial in good], point)
        elif not bad:
            pytest.skip(next((trial.reason for trial in mine if trial.reason), "not measured"))
        else:
            give_up(benchmark, bad[0].reason or "")
        if bad:
            pytest.fail(
                f"{len(bad)} of {len(mine)} trials of {backend} do not count: {bad[0].reason}",
                pytrace=False,
            )

    return hand_over_trials
