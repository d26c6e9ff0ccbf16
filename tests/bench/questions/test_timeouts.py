"""What a timeout costs, recounted from made-up variants with a known difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from bench.plan.participants import MAIN_VARIANTS
from bench.questions import timeouts
from bench.questions.timeouts import ADDED, SUFFIX, WAYS, WITHOUT
from bench.schema import AnyRecord, TrialRecord
from crawlers import registry
from crawlers.registry import MODELS
from tests.bench.altered import altered, replaced
from tests.bench.mapped import slower
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

    def timed(trial: TrialRecord) -> TrialRecord:
        """With the processor time of the plain one, and so much more."""
        if (name := against.get(trial.label)) is None:
            return trial
        same = plain[trial.point, trial.block, name]
        like = altered(trial, pages=same.pages, statuses=same.statuses, turns=None)
        return slower(like, same, more[name] * (1 + 0.001 * (-1) ** trial.block))

    return replaced(records, timed)


def test_the_price_is_the_paired_difference_in_microseconds() -> None:
    analysis = analysed(limited())
    priced = timeouts.prices(analysis)
    found = timeouts.measured(analysis)
    costs = [found.median(backend, ADDED) for backend in found.values]
    assert costs == sorted(costs, reverse=True)
    for backend, more in MORE.items():
        assert priced[backend].ratio.value == pytest.approx(more, rel=0.01)
        plain = found.median(backend, WITHOUT)
        assert found.median(backend, ADDED) == pytest.approx(plain * (more - 1), rel=0.02)


def test_no_difference_is_no_price() -> None:
    answer = sure(timeouts.answer(analysed(limited(more={"threads": 1.0}))))
    assert sure(answer.headline).text == "A timeout for each exchange costs too little to see"


def test_every_main_variant_has_a_way_and_every_way_a_backend() -> None:
    assert set(WAYS) == {*MAIN_VARIANTS, "threads", "async_await"}
    timed = {name for name in registry.names() if name.endswith(SUFFIX)}
    assert timed == {name + SUFFIX for name in WAYS}
    assert all(registry.about(name).against == name.removesuffix(SUFFIX) for name in timed)
