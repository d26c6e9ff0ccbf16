"""Where backends with several threads ran, in made-up records."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions import page
from bench.report import charts, summary
from bench.schema import AnyRecord, TrialRecord
from tests.bench.altered import altered, replaced
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, campaign
from tests.bench.turned import fetched, in_turns_at

SHARED = {"client": [0, 1], "server": [0], "reason": None}
ONE = {"client": [1], "server": [0], "reason": None}


def placed(lines: list[AnyRecord], *, wake: float = 1.0) -> list[AnyRecord]:
    """Threads on the server's processor, which sleeps, and companions of the base.

    Waking the server makes a page of the base so many times as expensive.
    """

    def both(line: TrialRecord) -> Iterator[TrialRecord]:
        threads = line.backend == "threads"
        yield altered(line, pinning=SHARED if threads else ONE, server_polls=not threads)
        if line.label == "callbacks" and line.kind == "trial":
            asleep = {"kind": "companion", "params__server": "asleep", "server_polls": False}
            woken = {"cpu__client_user_s": sure(line.cpu).client_user_s * wake}
            if line.turns:
                woken["turns__cpu_s"] = line.turns.cpu_s * wake
            yield altered(line, **asleep, **woken, pinning=ONE)

    return replaced(lines, both)


def made(**options: object) -> list[AnyRecord]:
    return list(campaign(workloads=("throughput",), base="callbacks", samples=30, **options))  # type: ignore[arg-type]


def test_tables_and_charts_say_where_threads_ran() -> None:
    found: Analysis = analysed(placed(made()))
    assert found.places is not None
    assert found.places.brief == "threads: 2 processors, shared with the server."
    assert found.places.words in summary.closed_loop(found).notes
    assert found.places.words in summary.to_markdown(found)
    assert "threads: 2 processors, shared with the server; every other" in found.places.words
    designs = charts.story(found)
    noted = {name for name, one in designs.items() if found.places.brief in one.notes}
    assert {"cpu", "throughput"} <= noted
    assert not noted & charts.WITHOUT_TIMES


def test_points_where_all_have_several_processors_name_nobody() -> None:
    def few(line: TrialRecord) -> Iterator[TrialRecord]:
        yield altered(line, pinning=SHARED) if line.point == "throughput-10" else line

    places = analysed(replaced(placed(made()), few)).places
    assert places is not None
    assert places.labels == ("threads",)


def test_campaigns_in_which_all_had_one_processor_say_nothing() -> None:
    found = analysed(made())
    assert found.places is None
    assert "processors, shared" not in summary.to_markdown(found)


def test_what_runs_on_several_processors_is_compared_with_companions() -> None:
    def ratio(lines: list[AnyRecord]) -> float:
        found = analysed(lines).compare(stats.CPU_PER_1000)
        (one,) = (c for c in found if (c.point, c.label) == ("throughput-100", "threads"))
        return one.ratio.value or 0.0

    plain = in_turns_at(made())
    assert ratio(plain) > 1.3 * ratio(placed(plain, wake=2.0))


def test_what_a_page_is_made_of_leaves_out_whose_server_slept() -> None:
    first, *_ = lines = made()
    labels = page.measured(analysed([first, *fetched(lines)])).values.keys()
    shared = analysed([first, *placed(fetched(lines))])
    assert page.measured(shared).values.keys() == labels - {"threads"}
    assert "Not split, because the server slept for them: threads." in summary.to_markdown(shared)
