"""Accounts: price times number, honest about what is missing and about too much."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.micro import account
from bench.micro.account import MicroError, MicroRecord, Model, PageTrial, Price
from bench.micro.measure import save
from bench.micro.operations import GROUPS, OPERATIONS, SLEEPS, SWITCH_OF_THREADS, WAKES
from bench.micro.prices import price, read
from bench.schema import CampaignRecord, Environment
from tests.bench.synthetic import campaign

FREE = Price(group="", median_us=0.0, q1_us=0.0, q3_us=0.0, min_us=0.0, batches=1)


def cost(median: float, spread: float = 0.0) -> Price:
    changes = {"median_us": median, "q1_us": median - spread, "q3_us": median + spread}
    return FREE.model_copy(update=changes)


def model(page_us: float, calls: dict[str, float] | None = None) -> Model:
    trial = PageTrial(
        block=0, user_us=page_us * 0.75, system_us=page_us * 0.25, sleeps=3, wakes=1, faults=0
    )
    return Model(calls=calls or {"socket.send": 2.0}, trials=[trial], void=[])


@cache
def environment() -> Environment:
    head = campaign(blocks=1)[0]
    assert isinstance(head, CampaignRecord)
    return head.environment


def record(prices: dict[str, Price], backend: str, found: Model) -> MicroRecord:
    return MicroRecord(
        created="2026-01-01T00:00:00+00:00", command=["bench", "micro"],
        environment=environment(), point="throughput-100", site="tree:9:3:99",
        slots=100, blocks=1, seed=1, prices=prices, models={backend: found},
    )  # fmt: skip


def names(backend: str) -> set[str]:
    return {name for operation in OPERATIONS[backend] for name in operation.price}


def rows(made: account.Account) -> dict[str, account.AccountRow]:
    return {row.title: row for row in made.rows}


def test_an_operation_costs_its_price_times_its_number() -> None:
    prices = dict.fromkeys(names("callbacks"), FREE) | {"sockets.send": cost(4.0, 1.0)}
    made = account.account(record(prices, "callbacks", model(16.0)), "callbacks")
    row = rows(made)["send"]
    assert (row.each_us, row.number, row.page_us) == (4.0, 2.0, 8.0)
    assert (row.low_us, row.high_us) == (6.0, 10.0)
    # The same price is subtracted where a send is in another one already.
    wake = rows(made)["wake the server with a send"]
    assert (wake.page_us, wake.low_us, wake.high_us) == (-4.0, -5.0, -3.0)
    assert made.explained_us == 4.0
    assert made.share == 0.25


def test_a_sum_beyond_the_measurement_stays_what_it_is() -> None:
    prices = dict.fromkeys(names("callbacks"), FREE) | {"shared.clock": cost(10.0)}
    found = model(5.0, {"monotonic": 1.0})
    assert account.account(record(prices, "callbacks", found), "callbacks").share == 2.0


def test_what_is_missing_is_not_zero() -> None:
    made = account.account(record({"sockets.send": cost(4.0)}, "threads", model(16.0)), "threads")
    row = rows(made)
    assert row["send"].page_us == 8.0
    assert row["exchange"].each_us is None  # no such micro-benchmark was run
    assert row["recv"].number is None  # no such call was seen
    assert row["wake the server with a send"].each_us is None  # half of its price is missing
    assert row["exchange"].page_us is row["recv"].page_us is None


def test_without_a_trial_nothing_is_said_to_be_explained() -> None:
    found = model(1.0).model_copy(update={"trials": [], "void": ["void: wrong digest"]})
    made = account.account(record({"sockets.send": cost(4.0)}, "threads", found), "threads")
    assert made.measured is None
    assert made.share is None
    assert rows(made)["switch to another thread"].number is None
    assert made.explained_us == 8.0


@given(st.lists(st.floats(0.001, 1e3), min_size=1, max_size=20))
def test_sleeps_and_wakes_are_those_of_the_middle_trial(values: list[float]) -> None:
    trials = [
        PageTrial(block=n, user_us=1, system_us=1, sleeps=value, wakes=value / 2, faults=0)
        for n, value in enumerate(values)
    ]
    found = account.counts(Model(calls={}, trials=trials, void=[]))
    assert min(values) <= found[SLEEPS] <= max(values)
    assert found[WAKES] == pytest.approx(found[SLEEPS] / 2)


@given(st.lists(st.floats(1e-9, 1e-2), min_size=2, max_size=50))
def test_a_price_has_its_quartiles_in_order(batches: list[float]) -> None:
    made = price("any", batches)
    slack = 1e-9
    assert made.min_us <= made.q1_us + slack
    assert made.q1_us <= made.median_us + slack
    assert made.median_us <= made.q3_us + slack
    assert made.batches == len(batches)


def test_a_hand_off_is_divided_by_its_switches() -> None:
    row = {
        "fullname": "test_threads.py::test_hand_off", "group": "hand off",
        "stats": {"data": [8e-6]}, "extra_info": {"switches_per_operation": 2.0},
    }  # fmt: skip
    assert read({"benchmarks": [row]}) == {
        "threads.hand_off": ("hand off", [8e-6]),
        SWITCH_OF_THREADS: ("thread switch", [4e-6]),
    }


def test_every_group_has_its_place_in_the_bar() -> None:
    used = {operation.group for each in OPERATIONS.values() for operation in each}
    assert used == set(GROUPS)


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    made = record({"sockets.send": cost(4.0)}, "threads", model(16.0))
    save(made, tmp_path)
    assert account.load(tmp_path) == made
    assert [file.name for file in tmp_path.iterdir()] == [account.FILE_NAME]


def test_no_record_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MicroError, match="measure with python -m bench micro"):
        account.load(tmp_path)
    (tmp_path / account.FILE_NAME).write_text("{}")
    with pytest.raises(MicroError, match="not a record of bench micro"):
        account.load(tmp_path)
