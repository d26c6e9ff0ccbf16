"""Small pages and large ones, in made-up records."""

from __future__ import annotations

import pytest

from bench.questions import bodies
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


def test_the_headline_names_the_size() -> None:
    answer = sure(bodies.answer(analysed(of_sizes(blocks=5))))
    assert sure(answer.headline).text.startswith("A 1 MB page costs 531 µs with threads and 501 µs")


def test_threads_are_over_a_base_whose_server_slept_too_and_that_number_is_printed() -> None:
    """They were 6.1 times a base that a polling server served, beside a headline of 4.9."""
    lines: list[AnyRecord] = []
    for line in of_sizes(blocks=5, base="callbacks"):
        if isinstance(line, TrialRecord) and line.cpu:
            asleep = line.extra | {"server_polls": False}
            polls = {"server_polls": line.backend != "threads"}
            lines.append(line.model_copy(update={"extra": line.extra | polls}))
            if line.label == "callbacks":
                slow = line.cpu.model_copy(update={"client_user_s": 2 * line.cpu.client_user_s})
                changes = {"kind": "companion", "cpu": slow, "extra": asleep}
                changes |= {"params": line.params | {"server": "asleep"}}
                lines.append(line.model_copy(update=changes))
        else:
            lines.append(line)
    analysis = analysed(lines)
    found, answer = bodies.measured(analysis), sure(bodies.answer(analysis))
    assert found.median("threads", bodies.times("2 KB")) == pytest.approx(40 / 20, rel=0.01)
    assert found.median("async_await", bodies.times("2 KB")) == pytest.approx(1.6, rel=0.01)
    said = "2 KB: over `callbacks` 10.0 µs, and 20.0 µs for `threads`, whose server slept."
    assert said in answer.tables[0].notes
    assert said in answer.figures[0].notes
    head = sure(answer.headline)
    assert {"threads", "async_await"} != {side for c in head.pairs for side in (c.base, c.label)}
