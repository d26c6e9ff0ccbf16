"""Slopes and medians, recounted from made-up records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.micro.waiting.kinds import KINDS
from bench.micro.waiting.lines import fit, lines
from bench.micro.waiting.record import Held
from tests.bench.micro.waiting import made


def test_the_slope_leaves_out_what_a_process_takes_once() -> None:
    found = {line.kind.name: line for line in lines(made.record())}
    assert list(found) == list(made.BYTES)
    for name, bytes_each in made.BYTES.items():
        assert found[name].user == pytest.approx(bytes_each)
    assert found["coroutine"].total == pytest.approx(400)
    whole = 18_000 + made.STACK + made.TABLES + made.OTHER
    assert found["thread"].total == pytest.approx(whole)
    assert found["thread"].interval == pytest.approx((whole, whole))
    assert found["thread"].highest == 10_000
    assert "other kernel" not in found["asyncio"].parts


def test_times_are_those_of_one_number_of_tasks() -> None:
    line = next(line for line in lines(made.record()) if line.kind.name == "asyncio")
    assert line.spawn is not None
    assert line.spawn.median == pytest.approx(2.0)
    assert line.spawn.count == 2
    assert line.switch is not None
    assert line.switch.median == pytest.approx(1.5)


@given(st.integers(1, 100_000), st.integers(0, 10**9))
def test_any_line_is_found(each: int, fixed: int) -> None:
    held = [
        made.held("asyncio", count).model_copy(update={"user_bytes": fixed + each * count})
        for count in KINDS["asyncio"].counts
    ]
    found = fit(held, ["user_bytes"])
    assert found is not None
    assert found[0] == pytest.approx(each)


def test_what_was_not_read_has_no_slope() -> None:
    held = [
        Held(**{**made.held("asyncio", count).model_dump(), "user_bytes": None})
        for count in KINDS["asyncio"].counts
    ]
    assert fit(held, ["user_bytes"]) is None
    assert fit(held[:1], ["page_table_bytes"]) is None, "one number of tasks is no line"
