"""A page's processor time splits into sockets, shared parts and the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from bench.analysis.analysis import Analysis
from bench.questions import page
from bench.questions.page import BARE, STRIPPED
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Bars, Stack
from bench.show.rules import contradiction
from tests.bench.altered import altered, replaced
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed, campaign, rungs
from tests.bench.turned import control, in_turns

COSTS = {"threads": 50.0, "callbacks": 20.0, "generators": 26.0, "async_await": 34.0}
SOCKETS, SHARED = 11.0, 7.0
US = {BARE: SOCKETS, STRIPPED: COSTS["callbacks"] - SHARED}


def split(
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 5,
    stack: str | None = None,
    **options: object,
) -> list[AnyRecord]:
    """A campaign whose machine is slower in each block: only what is paired stays equal."""
    ladder = [
        rung.model_copy(update={"family": "stack"}) if rung.name == stack else rung
        for rung in rungs(backends)
    ]
    lines = campaign(
        backends=backends,
        blocks=blocks,
        samples=20,
        workloads=("throughput",),
        ladder=ladder,
        **options,  # type: ignore[arg-type]
    )
    controls: set[int] = set()

    def taken(line: TrialRecord) -> Iterator[TrialRecord]:
        slow = 1 + line.block / 10
        here = line.point == "throughput-100"
        yield in_turns(line, COSTS.get(line.backend, 40.0) * slow) if here else line
        if here and line.block not in controls:
            controls.add(line.block)
            yield from (control(line, name, us * slow) for name, us in US.items())

    return replaced(lines, taken)


def without(analysis: Analysis, **update: object) -> Analysis:
    """The campaign with other controls, or none."""
    controls = analysis.records.controls
    controls[:] = [one.model_copy(update=update) for one in controls if update]
    return analysis


def test_the_parts_add_up_to_the_whole() -> None:
    found = page.measured(analysed(split()))
    assert list(found.values) == list(MODELS)
    for label in MODELS:
        total, *parts = (
            found.median(label, f"{part}-throughput-100")
            for part in (page.TOTAL, page.SOCKETS, page.SHARED, page.REST)
        )
        assert total == pytest.approx(COSTS[label] * 1.2)
        assert parts[:2] == pytest.approx([SOCKETS * 1.2, SHARED * 1.2])
        assert sum(parts) == pytest.approx(total)


def test_the_parts_are_those_of_the_same_block() -> None:
    """With the medians of all blocks instead, a drifting machine would blur the model."""
    found = page.measured(analysed(split()))
    rest = sure(found.spread("threads", f"{page.REST}-throughput-100"))
    model = COSTS["threads"] - SOCKETS - SHARED
    assert (rest.low, rest.high) == pytest.approx((model, model * 1.4))


def test_a_stack_has_no_shared_parts() -> None:
    row = page.measured(analysed(split(stack="threads"))).values["threads"]
    total, sockets, rest = (
        row[f"{part}-throughput-100"][0] for part in (page.TOTAL, page.SOCKETS, page.REST)
    )
    assert f"{page.SHARED}-throughput-100" not in row
    assert rest == pytest.approx(total - sockets)


def test_a_bar_ends_at_what_was_measured_and_says_what_cannot_be_separated() -> None:
    """A rest below 0 was drawn as 0, so a bar of 23.6 µs stood for 21.2 that were measured."""
    analysis = analysed(split(base="callbacks"))
    controls = analysis.records.controls
    (place,) = (n for n, one in enumerate(controls) if (one.label, one.block) == (BARE, 2))
    controls[place] = in_turns(controls[place], 1.5 * SOCKETS)
    parts = page.measured(analysis)
    figure = sure(page.answer(analysis)).figures[0]
    assert isinstance(figure.data, Bars)
    rows_drawn = figure.data.panels[0].rows.items()
    bars = {label: bar for label, (bar,) in rows_drawn if isinstance(bar, Stack)}
    for label, bar in bars.items():
        assert bar.total == pytest.approx(parts.median(label, f"{page.TOTAL}-throughput-100"))
    assert list(bars["callbacks"].parts) == [page.NOT_SEPARABLE]
    assert f"{page.REST}-throughput-100" not in parts.values["callbacks"]
    low, high = sure(bars["threads"].interval)
    assert low < bars["threads"].total < high


def test_the_headline_of_the_chart_names_only_what_it_draws() -> None:
    """Threads share the server's processor, so the server sleeps, and they have no bar."""

    def both(line: TrialRecord) -> Iterator[TrialRecord]:
        yield altered(line, server_polls=line.label != "threads")
        if line.label == "callbacks" and line.point == "throughput-100":
            yield altered(line, server_polls=False, kind="companion", params__server="asleep")

    answer = sure(page.answer(analysed(replaced(split(base="callbacks"), both))))
    assert sure(answer.headline).text.startswith("Threads")
    assert [figure.name for figure in answer.figures] == ["page", "cpu"]
    for figure in answer.figures:
        said = r"A \w+ page costs [\d.]+ µs of processor time with \S+ and [\d.]+ µs with call"
        assert re.match(said, sure(figure.headline))
        assert contradiction(sure(figure.headline), figure.data) is None
    # The base that threads are compared with is drawn.
    assert isinstance(answer.figures[1].data, Bars)
    assert list(answer.figures[1].data.panels[0].rows)[:2] == ["threads", "callbacks/asleep"]


def test_models_come_first_and_stacks_stand_apart() -> None:
    backends = (*MODELS, "uvloop", "aiohttp")
    analysis = analysed(split(backends=backends, base="callbacks", stack="aiohttp"))
    answer = sure(page.answer(analysis))
    rate = answer.findings(page.NAME)["rate"]
    headline, details = rate.split("**", 2)[1:]
    assert headline.startswith("Async/await crawls 4")
    assert headline.endswith("% fewer 2 KB pages per second than callbacks")
    _, models, variants, stacks = re.split(r"\. |\) \.", details, maxsplit=3)
    assert models.startswith("A crawl, at 100 slots: `async_await` 4")
    assert variants.startswith("Variants: `uvloop` 2")
    assert stacks.startswith("HTTP stacks: `aiohttp` 8")


def test_a_headline_needs_five_blocks() -> None:
    few, enough = (
        page.answer(analysed(split(base="callbacks", blocks=blocks))) for blocks in (3, 5)
    )
    assert few is not None
    assert few.findings(page.NAME) == {}
    assert enough is not None
    assert sure(enough.headline).text.startswith("Threads need 2.5")


@pytest.mark.parametrize("update", [{}, {"status": "void"}], ids=["none", "void"])
def test_without_controls_that_count_there_is_user_and_system_time_alone(
    update: dict[str, object],
) -> None:
    answer = sure(page.answer(without(analysed(split()), **update)))
    assert [figure.name for figure in answer.figures] == ["cpu"]
    assert not answer.tables


def test_no_table_of_backends_has_a_control() -> None:
    analysis = analysed(split())
    assert set(analysis.labels) == set(MODELS)
    assert all(row.label in MODELS for row in analysis.rows if not row.twin)
