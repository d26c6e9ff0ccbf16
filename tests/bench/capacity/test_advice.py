"""What is advised for a load, the few lines of the model, and what that is made from."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.capacity import costs as measured
from bench.capacity.advice import AdviceRow, Need, added_us, advise
from bench.capacity.costs import Added, Backend, Bound, Costs, MemoryHeld
from bench.cli.commands import advise as command
from bench.questions import churn, tls_pages, variants
from crawlers.registry import PEOPLE
from tests.bench import committed, synthetic

MIB = 1 << 20
HELD = MemoryHeld(5000, 11 * MIB, 10_000)


def added(of: str) -> dict[str, Added]:
    """What everything adds, as measured with a backend."""
    costs_us = {"TLS": 10.0, "opening a connection": 40.0, "a handshake": 600.0}
    return {what: Added(us, of) for what, us in costs_us.items()}


def backend(name: str, page: float = 50.0, **changes: Any) -> Backend:
    """A backend whose page took so many microseconds in each of five blocks, give or take 1 %."""
    blocks = {block: page * (1 + 0.005 * (block - 2)) for block in range(5)}
    made = Backend(
        name=name,
        bounds=[],
        no_tls=None,
        page=page,
        blocks=blocks,
        factors=[(10, 0.9), (100, 1.0), (1000, 1.5)],
        added=added(name),
        plain=HELD,
        encrypted=replace(HELD, each=34_000),
    )
    return replace(made, **changes)


def costs(*backends: Backend, **changes: Any) -> Costs:
    """A campaign of these backends, measured on two processors."""
    made = Costs(
        campaign="made-up",
        machine="a machine",
        point="ladder-100",
        slots=100,
        floor=0.02,
        longest_delay_ms=50.0,
        processors=2,
        backends=backends,
    )
    return replace(made, **changes)


ONE = backend("one")
ALL = Bound(960, "960 threads.", in_all=True)


def row(need: Need, one: Backend = ONE, **changes: object) -> AdviceRow:
    """The advice for one backend alone."""
    return advise(costs(one, **changes), need).rows[0]


# --- monotonic ---------------------------------------------------------------------------


@given(st.floats(1, 100_000), st.floats(1, 3), st.booleans(), st.floats(0, 0.01))
def test_a_higher_rate_never_needs_less(rate: float, more: float, tls: bool, work_s: float) -> None:
    low, high = (row(Need(1_000_000, each, 0.01, tls, work_s)) for each in (rate, rate * more))
    for what in ("processes", "in_use", "memory_bytes"):
        assert getattr(low, what) <= getattr(high, what)
    held = 1_000_000 * (34_000 if tls else 5000)
    assert low.memory_bytes == (low.processes or 0) * HELD.fixed + held


@given(st.floats(1, 50_000), st.floats(0, 2))
def test_processes_carry_the_rate_at_the_planned_load(rate: float, delay_s: float) -> None:
    need = Need(10_000_000, rate, delay_s, load=0.6)
    found = row(need)
    assert found.processes is not None
    assert found.total_us is not None
    assert found.processes * need.load * 1e6 / found.total_us >= rate * 0.999
    assert found.in_use == pytest.approx(rate * (delay_s + found.total_us / 1e6))


# --- whether it can ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "need", "can", "word"),
    [
        ({"no_tls": "its library cannot"}, Need(tls=True), "no", "its library cannot"),
        ({"bounds": [Bound(960, "At most 960.")]}, Need(1000), "no", "At most 960."),
        ({"bounds": [ALL]}, Need(1000, 5000), "no", "960 threads."),
        ({}, Need(100, 2000, 0.2), "no", "--connections 401, or at most --rate 500."),
        ({"page": None, "blocks": {}}, Need(), "left out", "not measured"),
        ({"added": {}}, Need(tls=True), "left out", "What TLS adds"),
        ({"added": {}}, Need(pages_per_connection=1), "left out", "opening a connection"),
    ],
)
def test_who_cannot_is_told_why(changes: dict[str, Any], need: Need, can: str, word: str) -> None:
    found = row(need, replace(ONE, **changes))
    assert found.can == can
    assert word in found.reason
    assert found.processors is None
    assert found.group is None


# --- beyond what was measured ------------------------------------------------------------


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (Need(5000, 2000, 1.0), "2,000 exchanges in flight in a process, measured with"),
        (Need(100, 10, 0.1), "1 exchange in flight in a process, measured with 10 to 1,000"),
        (Need(20_000, 1000, 0.1), "measured up to 10,000: 2.0 times as many"),
    ],
)
def test_what_is_beyond_is_said_with_by_how_much(need: Need, words: str) -> None:
    notes = row(need).notes
    assert any(words in note for note in notes), notes


def test_what_holds_for_all_is_said_once() -> None:
    made = costs(ONE, backend("two"))
    said = " ".join(command.remarks(made, advise(made, Need(50_000, 90_000, 0.2))))
    assert said.count("measured up to 50 ms") == 1
    assert said.count("More than 2 processors were not measured") == 1


def test_a_delay_where_none_was_measured_is_said_so() -> None:
    """It said "measured up to 0 µs"."""
    made = replace(costs(ONE), longest_delay_ms=0.0)
    said = command.remarks(made, advise(made, Need(100, 10, 0.1)))
    assert "The delay is 100 ms, measured without one." in said


@pytest.mark.parametrize(("rate", "processes"), [(100, 2), (13_000, 2), (40_000, 5)])
def test_more_connections_than_a_process_may_hold_take_more_processes(
    rate: float, processes: int
) -> None:
    """None was advised for 200,000, of which a fleet holds five times as many."""
    bounds = [Bound(50_000, "Measured."), Bound(20_000, "Descriptors."), Bound(90_000, "", True)]
    found = row(Need(30_000, rate, 0.1), backend("one", bounds=bounds))
    assert found.processes == processes
    said = "It takes 2 processes to hold the connections. Descriptors." in found.notes
    assert said == (processes == 2)


def test_tls_of_another_backend_is_said() -> None:
    other = backend("one", added=added("two"))
    assert any("that of two" in note for note in row(Need(tls=True), other).notes)
    assert not any("that of two" in note for note in row(Need(), other).notes)


# --- without a rate ----------------------------------------------------------------------


def test_without_a_rate_the_delay_sets_it_or_the_processor_is_full() -> None:
    slow, fast = row(Need(100, None, 1.0)), row(Need(1000, None, 0.001, load=0.5))
    assert (slow.limit, slow.processes, fast.limit, fast.processes) == (
        "connections",
        1,
        "processor",
        1,
    )
    assert slow.rate == pytest.approx(100, rel=0.001)
    assert fast.rate is not None
    assert fast.total_us is not None
    assert fast.rate * fast.total_us == pytest.approx(0.5e6, rel=0.01)


@pytest.mark.parametrize(("connections", "rate"), [(100, 1000.0), (1, 10.0), (250, 2500.0)])
def test_connections_that_the_delay_alone_fills_are_enough(connections: int, rate: float) -> None:
    """100 slow sites were refused: "101 connections in use, more than 100"."""
    assert row(Need(connections, rate, 0.1)).can == "yes"
    assert row(Need(connections, 1.2 * rate, 0.1)).can == "no"


# --- the order ---------------------------------------------------------------------------


def test_what_nothing_tells_apart_is_a_group_and_memory_decides_in_it() -> None:
    heavy = replace(HELD, each=13_000)
    found = advise(
        costs(
            backend("dear", 100),
            backend("cheap", 50, plain=heavy),
            backend("alike", 51),
            backend("never", bounds=[Bound(1, "One.")]),
        ),
        Need(),
    )
    assert [(each.name, each.group) for each in found.rows] == [
        ("alike", 1),
        ("cheap", 1),
        ("dear", 2),
        ("never", None),
    ]


def test_work_that_all_do_alike_hides_differences() -> None:
    pair = costs(backend("one", 50), backend("two", 60))
    groups = [
        {each.group for each in advise(pair, Need(work_s=work_s)).rows} for work_s in (0.0, 0.01)
    ]
    assert groups == [{1, 2}, {1}]


def test_what_was_measured_less_does_not_seem_cheaper() -> None:
    """At a thousand in flight a page takes half as much again, of those measured there."""
    need = Need(5000, 10_000, 0.09)
    found = advise(costs(backend("one", 50), backend("less", 51, factors=[(100, 1.0)])), need)
    totals = {each.name: each.total_us or 0.0 for each in found.rows}
    assert totals["one"] > 1.2 * totals["less"]
    assert {each.group for each in found.rows} == {1}


def test_noise_and_single_blocks_tell_nothing_apart() -> None:
    noisy = costs(backend("one", 50), backend("two", 60), floor=math.log(1.3))
    assert {each.group for each in advise(noisy, Need()).rows} == {1}
    single = [
        replace(b, blocks={0: b.page or 0.0}) for b in (backend("one", 50), backend("two", 90))
    ]
    found = advise(costs(*single), Need()).rows
    assert {each.group for each in found} == {1}
    scattered = replace(backend("two", 60), blocks={0: 30.0, 1: 120.0, 2: 60.0})
    found = advise(costs(backend("one", 50), scattered), Need()).rows
    assert {each.group for each in found} == {1}


# --- the answer --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pages", "need", "said"),
    [
        ((50, 51), Need(work_s=0.01, rate=1000.0), "Any of these will do: your own work is 99 %"),
        ((50, 51), Need(rate=10_000.0), "Any of these will do: nothing tells"),
        ((50, 70), Need(rate=100.0), "Any of these will do: none uses more than 1 %"),
        ((50, 51, 500), Need(rate=100.0, work_s=0.002), "Any of these but b2 will do: your own"),
        ((50, 500), Need(rate=10_000.0), "The least processor time is that of b0."),
        ((50, 70), Need(100, None, 1.0), "fetches about 100 pages/s: the delay sets the rate"),
        ((50, 5000), Need(100, None, 0.1), "fetches about 150 to 1,000 pages/s: the processor, or"),
        ((50,), Need(100, 2000, 0.2), "None of these is known to carry it."),
    ],
)
def test_the_answer_is_a_plain_sentence(pages: tuple[float, ...], need: Need, said: str) -> None:
    made = costs(*(backend(f"b{number}", page) for number, page in enumerate(pages)))
    assert said in command.answer(advise(made, need))


def test_at_most_ten_backends_are_shown_unless_asked() -> None:
    made = costs(*(backend(name) for name in (*PEOPLE, "callbacks_poll")))

    def names(
        measured: Costs, named: list[str] | None = None, everything: bool = False
    ) -> list[str]:
        return [b.name for b in command.weighed(measured, named, everything=everything).backends]

    assert names(made) == list(PEOPLE)
    assert len(names(made, everything=True)) == 11
    assert names(made, ["callbacks_poll"]) == ["callbacks_poll"]
    assert names(costs(ONE)) == ["one"]


@given(st.floats(0.5, 20_000))
def test_a_factor_lies_between_its_neighbours(in_flight: float) -> None:
    factor = ONE.factor(in_flight)
    assert 0.9 <= factor <= 1.5
    assert ONE.factor(in_flight * 1.1) >= factor


def test_a_factor_is_the_measured_one_where_it_was_measured() -> None:
    assert [ONE.factor(n) for n in (1, 10, 100, 1000, 9999)] == [0.9, 0.9, 1.0, 1.5, 1.5]
    assert ONE.factor(10**2.5) == pytest.approx(1.25)


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
    assert added_us(ONE, need) == pytest.approx(us)
    unknown = replace(ONE, added={})
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
def found(reference: Analysis) -> Costs:
    costs = measured.costs(reference)
    assert costs is not None
    return costs


def test_what_the_report_says_too_is_the_same_number(reference: Analysis, found: Costs) -> None:
    """Opening a connection with threads cost 52.5 µs in the report and 33.4 in the advice."""
    opened = churn.measured(reference)
    assert opened.values
    for label in opened.values:
        added = found.of(label).added["opening a connection"]
        assert (added.us, added.of) == (opened.value(label, churn.OPENING), label)
    encrypted = tls_pages.measured(reference)
    for what, key in (("TLS", tls_pages.ENCRYPTION), ("a handshake", tls_pages.HANDSHAKE)):
        for label in encrypted.with_(key, encrypted.values):
            added = found.of(label).added[what]
            assert (added.us, added.of) == (max(encrypted.value(label, key), 0.0), label)
    compared = variants.variants(reference)
    assert compared is not None
    for label in compared.ratios[variants.PAGE]:
        page = compared.measured.value(label, variants.PAGE)
        assert found.of(label).page == pytest.approx(page)
    crawls = stats.trials_of(reference.records, "throughput", twins=False)
    pages = stats.block_values(crawls, stats.CPU_PER_1000)
    for label in {trial.label for trial in crawls}:
        for slots, factor in found.of(label).factors:
            many, usual = (pages[f"throughput-{n}", label].values() for n in (slots, 100))
            assert factor == stats.average([*many]) / stats.average([*usual])
    assert {slots for slots, _ in found.of("callbacks").factors} >= {10, 100, 1000}
    known = {one.name: {bound.most for bound in one.bounds} for one in found.backends}
    assert all(r.most in known.get(r.name, {r.most}) for r in reference.campaign.rungs if r.most)
    for label, fit in reference.memory.items():
        held = found.of(label).plain
        assert held is None or held.each == (fit.total if held.in_all else fit.user)


def test_no_http_stack_stands_for_a_model_nor_a_model_for_a_stack(
    reference: Analysis, found: Costs
) -> None:
    stacks = reference.stacks
    assert stacks
    for each in found.backends:
        for added in each.added.values():
            assert (added.of in stacks) == (each.name in stacks)


def test_a_page_alone_is_that_of_whole_trials_of_the_backend_or_the_base(
    reference: Analysis, found: Costs
) -> None:
    trials = reference.at_point(reference.reference_point("whole") or "")
    assert {reference.base, "threads"} <= trials.keys()
    for label in trials:
        backend, fastest = found.of(label), max(t.pages_per_s or 0.0 for t in trials[label])
        assert 0.9e6 / fastest < backend.page_us(100) < 2e6 / fastest
    others = {each.alone for each in found.backends if each.name not in trials}
    assert others == {found.of(reference.base).alone}


def test_no_costs_of_a_campaign_across_interpreters() -> None:
    assert measured.costs(synthetic.analysed(synthetic.across(samples=200))) is None
