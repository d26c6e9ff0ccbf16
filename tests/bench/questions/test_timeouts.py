"""What a timeout costs, recounted from made-up variants with a known difference."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from bench.plan.participants import MAIN_VARIANTS
from bench.questions import timeouts
from bench.questions.timeouts import SUFFIX, WAYS, WITH, WITHOUT
from bench.schema import AnyRecord, TrialRecord
from crawlers import registry
from crawlers.registry import MODELS
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, campaign, rungs

MORE = {"async_await": 1.2, "threads": 1.1}


def limited(
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 6,
    more: Mapping[str, float] = MORE,
    **options: object,
) -> list[AnyRecord]:
    """A campaign in which each of these has a variant with timeouts that takes so much more."""
    against = {name + SUFFIX: name for name in more}
    names = [*backends, *against]
    steps = [rung.model_copy(update={"against": against.get(rung.name)}) for rung in rungs(names)]
    records = campaign(
        backends=names,
        blocks=blocks,
        workloads=("ladder",),
        ladder=steps,
        noise=0.002,
        twin=None,
        **options,  # type: ignore[arg-type]
    )
    trials = [one for one in records if isinstance(one, TrialRecord)]
    plain = {(one.point, one.block, one.label): one for one in trials}
    return [
        timed(one, plain[one.point, one.block, against[one.label]], more[against[one.label]])
        if isinstance(one, TrialRecord) and one.label in against
        else one
        for one in records
    ]


def timed(trial: TrialRecord, plain: TrialRecord, more: float) -> TrialRecord:
    """The trial with the processor time of the plain one, and so much more."""
    assert plain.cpu is not None
    factor = more * (1 + 0.001 * (-1) ** trial.block)
    cpu = plain.cpu.model_copy(
        update={
            "client_user_s": factor * plain.cpu.client_user_s,
            "client_system_s": factor * plain.cpu.client_system_s,
        }
    )
    return trial.model_copy(
        update={"cpu": cpu, "pages": plain.pages, "statuses": plain.statuses, "turns": None}
    )


def test_the_price_is_the_paired_difference_in_microseconds() -> None:
    analysis = analysed(limited())
    priced = timeouts.prices(analysis)
    assert list(priced) == ["threads", "async_await"] or list(priced) == ["async_await", "threads"]
    found = timeouts.measured(analysis, priced)
    costs = [timeouts.added(found, backend, one) for backend, one in priced.items()]
    assert [cost.median for cost in costs] == sorted((c.median for c in costs), reverse=True)
    for (backend, one), cost in zip(priced.items(), costs, strict=True):
        ratio = one.ratio
        assert ratio.value == pytest.approx(MORE[backend], rel=0.01)
        plain = found.median(backend, WITHOUT)
        assert found.median(backend, WITH) == pytest.approx(plain * MORE[backend], rel=0.01)
        assert cost.median == pytest.approx(plain * ((ratio.value or 0.0) - 1))
        assert cost.low <= cost.median <= cost.high


def test_the_finding_has_price_cause_and_command() -> None:
    answer = sure(timeouts.answer(analysed(limited())))
    assert answer.finding is not None
    assert re.match(
        r"\*\*A timeout for each exchange costs [\d.]+ to [\d.]+ µs of processor time\*\* "
        r"\([\d.]+ to 20 % of a page; 6 blocks; shown for 2 of 2\)\. ",
        answer.finding,
    )
    assert "calls `poll` before each send" in answer.finding
    assert "python -m bench run --profile full --only ladder-100" in answer.finding


def test_the_table_names_every_way() -> None:
    answer = sure(timeouts.answer(analysed(limited())))
    rows = {row[0]: row for row in answer.tables[0].texts}
    assert rows["async_await"][1] == "asyncio.timeout"
    assert rows["async_await"][4] == "more CPU"
    assert rows["callbacks"][1:3] == [timeouts.SWEEP, "–"]


def test_no_difference_is_no_price() -> None:
    answer = sure(timeouts.answer(analysed(limited(more={"threads": 1.0}))))
    assert sure(answer.headline).text == "A timeout for each exchange costs too little to see"


def test_a_campaign_without_such_variants_says_nothing() -> None:
    assert timeouts.answer(analysed(limited(more={}))) is None


def test_every_model_and_main_variant_has_a_way_and_every_such_variant_a_backend() -> None:
    assert set(WAYS) == {*MODELS, *MAIN_VARIANTS}
    timed = {name for name in registry.names() if name.endswith(SUFFIX)}
    assert timed == {name + SUFFIX for name in (*MAIN_VARIANTS, "threads", "async_await")}
    assert all(registry.about(name).against == name.removesuffix(SUFFIX) for name in timed)
