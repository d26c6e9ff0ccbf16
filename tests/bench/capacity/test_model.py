"""The few lines of the model, and what it is made from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.analysis import Analysis
from bench.capacity import costs as measured
from bench.capacity.advice import Need, added_us
from bench.capacity.costs import Costs
from bench.questions import churn, tls_pages, variants
from tests.bench import committed, synthetic
from tests.bench.capacity import samples


@given(st.floats(0.5, 20_000))
def test_a_factor_lies_between_its_neighbours(in_flight: float) -> None:
    backend = samples.backend("one")
    factor = backend.factor(in_flight)
    assert 0.9 <= factor <= 1.5
    assert backend.factor(in_flight * 1.1) >= factor


def test_a_factor_is_the_measured_one_where_it_was_measured() -> None:
    backend = samples.backend("one")
    assert [backend.factor(n) for n in (1, 10, 100, 1000, 9999)] == [0.9, 0.9, 1.0, 1.5, 1.5]
    assert backend.factor(10**2.5) == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("need", "us", "measured"),
    [
        (Need(), 0, True),
        (Need(tls=True), 10, False),
        (Need(work_s=0.0002), 200, True),
        (Need(pages_per_connection=4), 10, False),
        (Need(tls=True, pages_per_connection=4), 10 + 640 / 4, False),
    ],
)
def test_what_is_added_to_a_page(need: Need, us: float, measured: bool) -> None:
    """``measured``: also of a backend of which nothing else is known."""
    assert added_us(samples.backend("one"), need) == pytest.approx(us)
    unknown = samples.backend("one", added={})
    if measured:
        assert added_us(unknown, need) == pytest.approx(us)
    else:
        with pytest.raises(KeyError):
            added_us(unknown, need)


# --- the costs of the reference ----------------------------------------------------------


@pytest.fixture(scope="module")
def reference() -> Analysis:
    return committed.analysis()


@pytest.fixture(scope="module")
def costs(reference: Analysis) -> Costs:
    found = measured.costs(reference)
    assert found is not None
    return found


def test_what_the_report_says_too_is_the_same_number(reference: Analysis, costs: Costs) -> None:
    """Opening a connection with threads cost 52.5 µs in the report and 33.4 in the advice."""
    opened = churn.measured(reference)
    assert opened.values
    for label in opened.values:
        added = costs.of(label).added["opening a connection"]
        assert (added.us, added.of) == (opened.median(label, churn.OPENING), label)
    encrypted = tls_pages.measured(reference)
    for what, key in (("TLS", tls_pages.ENCRYPTION), ("a handshake", tls_pages.HANDSHAKE)):
        for label in encrypted.with_(key, encrypted.values):
            added = costs.of(label).added[what]
            assert (added.us, added.of) == (max(encrypted.median(label, key), 0.0), label)
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
        for added in each.added.values():
            assert (added.of in stacks) == (each.name in stacks)


def test_a_page_alone_is_that_of_whole_trials_of_the_backend_or_the_base(
    reference: Analysis, costs: Costs
) -> None:
    trials = reference.at_point(reference.reference_point("whole") or "")
    assert {reference.base, "threads"} <= trials.keys()
    for label in trials:
        backend, fastest = costs.of(label), max(t.pages_per_s or 0.0 for t in trials[label])
        assert 0.9e6 / fastest < backend.page_us(100) < 2e6 / fastest
    others = {each.alone for each in costs.backends if each.name not in trials}
    assert others == {costs.of(reference.base).alone}


def test_no_costs_of_a_campaign_across_interpreters() -> None:
    assert measured.costs(synthetic.analysed(synthetic.across(samples=200))) is None
