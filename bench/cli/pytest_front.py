"""pytest-benchmark as the front end: one test for each backend at each workload point.

pytest-benchmark runs all rounds of a test in a row, but a campaign interleaves all backends,
block by block. So the campaign runs first, once the tests are collected and ``-k`` has selected
some. Each test then hands to pytest-benchmark how long a page took in each of its trials: a timer
that replays these durations takes the place of the fixture's own, and ``pedantic`` runs one empty
round per trial. Whole trials would rank backwards, because in turns a fast backend gets a larger
site. Statistics, JSON files and comparisons are pytest-benchmark's own, and so are its tables,
which are printed with ``-v`` or where they compare.

The timer is a private attribute, ``BenchmarkFixture._timer``. pyproject.toml pins the release,
and tests/bench/cli/test_pytest_front.py fails if a new one moves the timer.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from rich.console import Console

from bench import BenchError, store
from bench.analysis import stats
from bench.cli import options
from bench.cli.command import draw_to_files
from bench.cli.commands.run import publish
from bench.controls import CONTROLS
from bench.plan.participants import Label
from bench.plan.plan import PlannedPoint
from bench.run import runner
from bench.run.runner import Finished
from bench.schema import TrialRecord
from bench.terminal import Terminal
from bench.text import printable

ENTRY = "entry"
ENTRIES = pytest.StashKey[Sequence[PlannedPoint]]()
FINISHED = pytest.StashKey[Finished]()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.campaign(parser.getgroup("campaign", "the campaign to measure").addoption)


def pytest_configure(config: pytest.Config) -> None:
    """Fail early, in one line, for a profile or backend that does not exist."""
    draw_to_files()
    ours = config.option
    wanted = ours.benchmark_compare or ours.benchmark_histogram
    ours.benchmark_quiet = not (ours.verbose > 0 or wanted)
    if ours.benchmark_histogram and find_spec("pygal") is None:
        wanted_by = "python -m pip install 'pytest-benchmark[histogram]'"
        raise pytest.UsageError(f"--benchmark-histogram needs pygal: {wanted_by}")
    try:
        config.stash[ENTRIES] = runner.planned(options.chosen(ours))[1]
    except BenchError as error:
        raise pytest.UsageError(printable(str(error))) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each backend at each point, and none for a twin."""
    if ENTRY not in metafunc.fixturenames:
        return
    tests = {
        (entry.point.id, label.backend): entry.point.workload
        for entry in metafunc.config.stash[ENTRIES]
        for label in entry.labels
        if label.backend not in CONTROLS
    }
    names = [f"{w}-{backend}-{point.rpartition('-')[2]}" for (point, backend), w in tests.items()]
    metafunc.parametrize(ENTRY, tests, ids=names)


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    specs = [getattr(item, "callspec", None) for item in session.items]
    selection = {spec.params[ENTRY] for spec in specs if spec and ENTRY in spec.params}
    if not selection or config.option.collectonly or config.getoption("benchmark_skip"):
        return
    chosen = options.chosen(config.option)
    chosen.selection = selection
    chosen.command = runner.own_command(["pytest", *config.invocation_params.args])
    with terminal(config) as console:
        try:
            finished = options.measure(chosen, console)
        except BenchError as error:
            raise pytest.UsageError(printable(str(error))) from None
        config.stash[FINISHED] = finished
        if not finished.end.complete:
            if finished.records.trials and not config.getoption("--no-charts"):
                show_results(finished, console, verbose=config.option.verbose > 0)
            code = runner.exit_code(finished, console)
            pytest.exit(f"the campaign did not finish: {finished.end.reason}", returncode=code)


@contextmanager
def terminal(config: pytest.Config) -> Iterator[Console]:
    """The terminal itself, without pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        yield Terminal(sys.stdout)


def show_results(finished: Finished, console: Console, *, verbose: bool) -> None:
    console.print()
    with warnings.catch_warnings():
        # pytest may turn warnings into errors, which must not stop the drawing.
        warnings.simplefilter("default")
        publish(finished, console, verbose=verbose)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    finished = config.stash.get(FINISHED, None)
    if finished and finished.end.complete and not config.getoption("--no-charts"):
        with terminal(config) as console:
            try:
                show_results(finished, console, verbose=config.option.verbose > 0)
            except store.StoreError as error:
                terminalreporter.write_line(str(error), red=True)


def replaying(durations: Sequence[float]) -> Callable[[], float]:
    """A timer under which successive rounds last exactly ``durations``.

    pytest-benchmark reads it twice per round. The first reading is 0.0, so that the difference
    is the duration to the last bit.
    """
    return iter([tick for duration in durations for tick in (0.0, duration)]).__next__


def hand_over(benchmark: BenchmarkFixture, durations: Sequence[float], group: str) -> None:
    if not hasattr(benchmark, "_timer"):
        raise RuntimeError(
            "this release of pytest-benchmark has no _timer; see bench/cli/pytest_front.py"
        )
    benchmark.group = group
    benchmark._timer = replaying(durations)
    benchmark.pedantic(lambda: None, rounds=len(durations))  # type: ignore[no-untyped-call]


def page_s(trial: TrialRecord) -> float | None:
    """Seconds for a page: the inverse of the rate, or what a request waits in an open loop.

    None where nothing but a barrier or a signal is waited for.
    """
    if trial.response_time is not None:
        return trial.response_time.p50_ms / 1000
    rate = stats.pages_per_s(trial)
    if trial.memory is not None or trial.cancelled is not None or not rate:
        return None
    return 1 / rate


def give_up(benchmark: BenchmarkFixture) -> None:
    """Make pytest-benchmark leave this test out of its table, because it has no durations."""
    with suppress(StopIteration):  # what raises is left out
        benchmark.pedantic(next, [iter(())])  # type: ignore[no-untyped-call]


def owner(trial: TrialRecord) -> str:
    """The backend whose test a trial belongs to; with a mark that no test has for twins."""
    return trial.backend if trial.params.get("mode") else str(Label.of(trial))


def named(trial: TrialRecord) -> bool:
    """Whether the trial is what its point is named for: the last of its modes, if it has any."""
    *_, last = str(trial.params.get("modes") or "").split() or [""]
    return (trial.params.get("mode") or "") == last


@pytest.fixture
def replay(
    entry: tuple[str, str], request: pytest.FixtureRequest, benchmark: BenchmarkFixture
) -> Callable[[], None]:
    """A function that hands a test's trials to pytest-benchmark, and fails if any is invalid."""

    def hand_over_trials() -> None:
        finished = request.config.stash.get(FINISHED, None)
        if finished is None:
            pytest.skip("no campaign was run")
        point, backend = entry
        trials = finished.records.trials
        own = [trial for trial in trials if trial.point == point and backend == owner(trial)]
        ok = [trial for trial in own if trial.status == "ok" and named(trial)]
        good = [trial for trial in ok if trial.elapsed_s is not None]
        durations = [duration for trial in good if (duration := page_s(trial))]
        bad = [trial for trial in own if trial.status in ("void", "failed")]
        rates = [rate for trial in good if (rate := stats.pages_per_s(trial))]
        benchmark.extra_info.update(
            campaign=finished.records.campaign.campaign,
            pages_per_s=stats.middle(rates),
            limiter=", ".join(sorted({t.limiter for t in good if t.limiter})) or None,
        )
        if durations:
            hand_over(benchmark, durations, point)
        elif good or bad:
            give_up(benchmark)
        else:
            reason = next((trial.reason for trial in own if trial.reason), "not measured")
            pytest.skip(printable(reason))
        if bad:
            pytest.fail(
                printable(
                    f"{len(bad)} of {len(own)} trials of {backend} do not count: {bad[0].reason}"
                ),
                pytrace=False,
            )

    return hand_over_trials
