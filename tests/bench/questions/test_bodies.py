"""Small pages and large ones, in made-up records."""

from __future__ import annotations

import pytest

from bench.questions import bodies
from bench.report.charts import story
from bench.schema import AnyRecord, TrialRecord
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed, campaign

US = {"threads": 40.0, "callbacks": 10.0, "generators": 12.0, "async_await": 16.0}
COPYING = {"fetch-100": 0.0, "bodies-65536": 30.0, "bodies-1048576": 490.0}
"""Point -> what a page of it costs every model alike, in microseconds."""


def of_sizes(**options: object) -> list[AnyRecord]:
    """A campaign that fetched pages of three sizes."""
    found: list[AnyRecord] = []
    for line in campaign(workloads=("throughput",), **options):  # type: ignore[arg-type]
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif line.point == "throughput-100" and line.pages and line.cpu:
            for point, copying in COPYING.items():
                noise = 1 + 0.001 * line.block
                client_s = 1e-6 * (US.get(line.backend, 14.0) + copying) * line.pages * noise
                cpu = line.cpu.model_copy(
                    update={"client_user_s": client_s, "client_system_s": 0.0}
                )
                at = {"workload": point.partition("-")[0], "point": point, "cpu": cpu}
                found.append(line.model_copy(update=at))
    return found


def test_a_ratio_shrinks_with_the_page() -> None:
    found = bodies.measured(analysed(of_sizes(blocks=5)))
    assert list(found.values) == list(MODELS)
    base = analysed(of_sizes(blocks=5)).base
    for point, size in bodies.SIZES.items():
        cost = {label: US[label] + COPYING[point] for label in MODELS}
        for label in MODELS:
            ratio = found.median(label, bodies.times(size))
            assert ratio == pytest.approx(cost[label] / cost[base], rel=0.01)


def test_without_the_base_there_is_a_table_and_no_chart() -> None:
    """min() of no blocks had ended findings and report."""
    base = analysed(of_sizes(blocks=2)).base
    records = [
        line.model_copy(update={"status": "failed", "reason": "it ended"})
        if isinstance(line, TrialRecord) and line.label == base
        else line
        for line in of_sizes(blocks=2)
    ]
    analysis = analysed(records)
    assert bodies.NAME not in story(analysis)
    assert sure(bodies.answer(analysis)).tables


def test_the_headline_names_the_size() -> None:
    answer = sure(bodies.answer(analysed(of_sizes(blocks=5))))
    assert sure(answer.headline).text.startswith("A 1 MB page costs 531 µs with threads and 501 µs")
