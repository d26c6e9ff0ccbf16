"""The few lines of the model, and what it is made from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.analysis import Analysis
from bench.capacity import model
from bench.capacity.model import Costs, Extra, Need
from bench.questions import churn, tls_pages, variants
from tests.bench import committed, synthetic
from tests.bench.capacity import samples


@given(st.floats(0.5, 20_000))
def test_a_factor_lies_between_its_neighbours(in_flight: float) -> None:
    factors = [(10, 0.9), (100, 1.0), (1000, 1.5)]
    found = model.factor_at(factors, in_flight)
    assert 0.9 <= found <= 1.5
    assert model.factor_at(factors, in_flight * 1.1) >= found


def test_a_factor_is_the_measured_one_where_it_was_measured() -> None:
    factors = [(10, 0.9), (100, 1.0), (1000, 1.5)]
    assert [model.factor_at(factors, slots) for slots in (1, 10, 100, 1000, 9999)] == [
        *(0.9, 0.9, 1.0, 1.5, 1.5)
    ]
    assert model.factor_at(factors, 10**2.5) == pytest.approx(1.25)


def test_what_is_added_to_a_page() -> None:
    one = samples.backend("one")
    assert model.added_us(one, Need()) == 0
    assert model.added_us(one, Need(tls=True)) == 10
    assert model.added_us(one, Need(work_s=0.002, share=0.1)) == pytest.approx(200)
    assert model.added_us(one, Need(pages_per_connection=4)) == 10
    assert model.added_us(one, Need(tls=True, pages_per_connection=4)) == 10 + 640 / 4
    unknown = samples.backend("one", extra=Extra())
    assert model.added_us(unknown, Need(work_s=0.001)) == 1000
    assert model.added_us(unknown, Need(tls=True)) is None
    assert model.added_us(unknown, Need(pages_per_connection=4)) is None


# --- the costs of the reference ----------------------------------------------------------


@pytest.fixture(scope="module")
def reference() -> Analysis:
    return committed.analysis()


@pytest.fixture(scope="module")
def costs(reference: Analysis) -> Costs:
    found = model.costs(reference)
    assert found is not None
    return found


def test_what_the_report_says_too_is_the_same_number(reference: Analysis, costs: Costs) -> None:
    """Opening a connection with threads cost 52.5 µs in the report and 33.4 in the advice."""
    opened = churn.measured(reference)
    assert opened.values
    for label in opened.values:
        assert costs.of(label).extra.opening == opened.median(label, churn.OPENING)
        assert costs.of(label).extra.opening_of == label
    encrypted = tls_pages.measured(reference)
    for label in encrypted.with_(tls_pages.HANDSHAKE, encrypted.values):
        extra = costs.of(label).extra
        assert (extra.handshake, extra.tls_of) == (
            encrypted.median(label, tls_pages.HANDSHAKE),
            label,
        )
        added = encrypted.spread(label, tls_pages.ENCRYPTION)
        assert extra.tls == (max(added.median, 0.0) if added else None)
    found = variants.variants(reference)
    assert found is not None
    for label in found.ratios[variants.PAGE]:
        assert costs.of(label).page == pytest.approx(found.measured.median(label, variants.PAGE))
    for label, fit in reference.memory.items():
        held = costs.of(label).plain
        assert held is None or held.each == (fit.total if held.in_all else fit.user)


def test_no_http_stack_stands_for_a_model_nor_a_model_for_a_stack(
    reference: Analysis, costs: Costs
) -> None:
    stacks = reference.stacks
    assert stacks
    for each in costs.backends:
        for source in {each.extra.tls_of, each.extra.opening_of} - {None}:
            assert (source in stacks) == (each.name in stacks)


def test_a_page_alone_is_that_of_whole_trials_of_the_backend_or_the_base(
    reference: Analysis, costs: Costs
) -> None:
    trials = reference.at_point(reference.reference_point("whole") or "")
    assert {reference.base, "threads"} <= trials.keys()
    for label in trials:
        backend, fastest = costs.of(label), max(t.pages_per_s or 0.0 for t in trials[label])
        assert 0.9e6 / fastest < model.page_us(backend, 100) < 2e6 / fastest
    others = {each.alone for each in costs.backends if each.name not in trials}
    assert others == {costs.of(reference.base).alone}


def test_no_costs_of_a_campaign_across_interpreters() -> None:
    assert model.costs(synthetic.analysed(synthetic.across(samples=200))) is None
