"""Where backends with several threads ran, in made-up records."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.analysis import Analysis
from bench.report import charts, summary
from bench.schema import AnyRecord, TrialRecord
from tests.bench.altered import altered, replaced
from tests.bench.synthetic import analysed, campaign

SHARED = {"client": [0, 1], "server": [0], "reason": None}
ONE = {"client": [1], "server": [0], "reason": None}


def placed(lines: list[AnyRecord]) -> list[AnyRecord]:
    """Threads on the server's processor, which sleeps, and companions of the base."""

    def both(line: TrialRecord) -> Iterator[TrialRecord]:
        threads = line.backend == "threads"
        yield altered(line, pinning=SHARED if threads else ONE, server_polls=not threads)
        if line.label == "callbacks" and line.kind == "trial":
            asleep = {"kind": "companion", "params__server": "asleep", "server_polls": False}
            yield altered(line, **asleep, pinning=ONE)

    return replaced(lines, both)


def test_tables_and_charts_say_where_threads_ran() -> None:
    lines = campaign(workloads=("throughput",), base="callbacks", samples=30)
    found: Analysis = analysed(placed(lines))
    assert found.places is not None
    assert found.places.brief == "threads: 2 processors, shared with the server."
    assert found.places.words in summary.closed_loop(found).notes
    assert found.places.words in summary.to_markdown(found)
    assert "threads: 2 processors, shared with the server; every other" in found.places.words
    designs = charts.story(found)
    noted = {name for name, one in designs.items() if found.places.brief in one.notes}
    assert {"cpu", "throughput"} <= noted
    assert not noted & charts.WITHOUT_TIMES
    on_one = analysed(lines)
    assert on_one.places is None
    assert "processors, shared" not in summary.to_markdown(on_one)
