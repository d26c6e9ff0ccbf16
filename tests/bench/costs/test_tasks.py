"""Tasks: hash seed by hash seed, and what is done is not done again."""

from __future__ import annotations

from bench.controls import REPEATS
from bench.costs import tasks
from bench.costs.tasks import Task
from bench.machine.instruments import Instrument
from crawlers.backend import Backend

KNOWN = [Backend("callbacks", "callbacks", 20, "", ""), Backend("httpx", "stack", 90, "", "")]
NAMES = ["bare", "callbacks", "httpx"]
BOTH = ("fetch", "crawl")
KERNEL = Instrument("kernel", "getrusage", alone=True)
FEW = Instrument("allocations", "valgrind", sparing=True)
CALLS = Instrument("system calls", "strace")


def planned(*instruments: Instrument, seeds: tuple[int, ...] = (1, 2)) -> list[Task]:
    return tasks.plan(KNOWN, NAMES, instruments, seeds, BOTH, 500)


def test_each_seed_has_all_backends_before_the_next_and_what_is_alone_comes_last() -> None:
    found = planned(KERNEL, CALLS)
    assert [task.seed for task in found] == [1] * 6 + [2] * 6
    assert [task.instrument.alone for task in found[:6]] == [False] * 3 + [True] * 3
    assert [task.backend for task in found[:3]] == NAMES


def test_the_floor_has_no_links_and_goes_through_its_list_several_times() -> None:
    floor, callbacks, _ = planned(CALLS, seeds=(1,))
    assert (floor.workloads, callbacks.workloads) == (("fetch",), BOTH)
    assert (floor.repeats, callbacks.repeats) == (REPEATS, 1)
    assert tasks.plan(KNOWN, ["bare"], [CALLS], [1], ("crawl",), 500) == []


def test_a_connection_for_each_page_is_counted_where_readers_look_first() -> None:
    found = tasks.plan(KNOWN, NAMES, [CALLS], [1], ("fetch", "churn"), 500)
    assert [(task.backend, task.workloads) for task in found] == [
        ("bare", ("fetch",)),
        ("callbacks", ("fetch", "churn")),
        ("httpx", ("fetch",)),
    ]


def test_a_sparing_instrument_has_one_seed_and_fewer_pages_of_a_stack() -> None:
    found = planned(FEW)
    assert [(task.backend, task.seed, task.pages) for task in found] == [
        ("bare", 1, 500),
        ("callbacks", 1, 500),
        ("httpx", 1, 200),
    ]


def test_what_is_done_is_left_out() -> None:
    found = planned(CALLS, seeds=(1,))
    done = {("bare", "fetch", "system calls", 1), ("httpx", "crawl", "system calls", 1)}
    left = tasks.without(found, done)
    assert [(task.backend, task.workloads) for task in left] == [
        ("callbacks", BOTH),
        ("httpx", ("fetch",)),
    ]


def test_a_record_is_sorted_by_workload_and_backend() -> None:
    keys = tasks.in_order(planned(CALLS), BOTH, NAMES)
    assert [key[:2] for key in keys[::2]] == [
        *((name, "fetch") for name in NAMES),
        *((name, "crawl") for name in NAMES[1:]),
    ]


def test_a_stack_is_expected_to_take_longer() -> None:
    _, callbacks, httpx = planned(CALLS, seeds=(1,))
    assert httpx.weight_s > callbacks.weight_s > 0
