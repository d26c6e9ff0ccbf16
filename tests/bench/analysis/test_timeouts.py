"""What a timeout costs, recounted from made-up ladders with a known difference."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from bench.analysis import timeouts_words
from bench.analysis.analysis import Analysis
from bench.analysis.timeouts import SUFFIX, SWEEP, WAYS, priced
from bench.plan.cast import MAIN_VARIANTS
from bench.report import findings
from bench.schema import TrialRecord
from crawlers import registry
from crawlers.registry import MODELS
from tests.bench.synthetic import analysed, campaign, rungs

MORE = {"async_await": 1.2, "threads": 1.1}


def ladder(more: Mapping[str, float] = MORE) -> Analysis:
    """A ladder on which each of these has a rung with timeouts that takes so much more."""
    against = {name + SUFFIX: name for name in more}
    backends = [*MODELS, *against]
    steps = [
        rung.model_copy(update={"against": against.get(rung.name)}) for rung in rungs(backends)
    ]
    records = campaign(
        backends=backends, blocks=6, workloads=("ladder",), ladder=steps, noise=0.002, twin=None
    )
    trials = [one for one in records if isinstance(one, TrialRecord)]
    plain = {(one.point, one.block, one.label): one for one in trials}
    return analysed(
        [
            timed(one, plain[one.point, one.block, against[one.label]], more[against[one.label]])
            if isinstance(one, TrialRecord) and one.label in against
            else one
            for one in records
        ]
    )


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
    rows = {row.backend: row for row in ladder().timeouts}
    for name, factor in MORE.items():
        row = rows[name]
        assert row.rung == name + SUFFIX
        assert row.way == WAYS[name]
        assert row.ratio is not None
        assert row.ratio.value is not None
        assert row.ratio.value == pytest.approx(factor, rel=0.01)
        assert row.plain_us is not None
        assert row.added_us == pytest.approx(row.plain_us * (row.ratio.value - 1))
        assert row.added_us is not None
        assert row.interval_us is not None
        assert row.interval_us[0] <= row.added_us <= row.interval_us[1]
    assert rows["callbacks"].way == SWEEP
    assert (rows["callbacks"].added_us, rows["callbacks"].interval_us) == (None, None)


def test_the_most_expensive_comes_first() -> None:
    prices = [row.added_us or 0.0 for row in priced(ladder().timeouts)]
    assert prices == sorted(prices, reverse=True)
    assert len(prices) == len(MORE)


def test_the_finding_has_price_cause_and_command() -> None:
    analysis = ladder()
    text = timeouts_words.finding(analysis)
    assert text is not None
    assert text.startswith("**A timeout for each exchange costs ")
    assert re.search(r"time, [\d.]+ to 20 % of a page\.\*\* It replaces what hardly any", text)
    assert "`asyncio.timeout`" in text
    assert ", 20 %" in text
    assert "calls `poll` before each send" in text
    assert "`callbacks` and `generators`" in text
    assert "python -m bench run --profile full --only ladder-100" in text
    assert text in findings.findings(analysis)


def test_no_difference_is_no_price() -> None:
    text = timeouts_words.finding(ladder({"threads": 1.0}))
    assert text is not None
    assert text.startswith("**No price of a timeout for each exchange is shown.**")
    assert "calls `poll`" not in text


def test_a_ladder_without_such_rungs_says_nothing() -> None:
    analysis = ladder({})
    assert analysis.timeouts == []
    assert timeouts_words.finding(analysis) is None
    assert analysed(campaign(blocks=2)).timeouts == []


def test_every_model_and_main_variant_has_a_named_way_and_every_rung_a_backend() -> None:
    assert set(WAYS) == {*MODELS, *MAIN_VARIANTS}
    timed = {name for name in registry.names() if name.endswith(SUFFIX)}
    assert timed == {name + SUFFIX for name in (*MAIN_VARIANTS, "threads", "async_await")}
    assert all(registry.about(name).against == name.removesuffix(SUFFIX) for name in timed)
