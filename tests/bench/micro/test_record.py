"""The record of micro-benchmarks: prices, written and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.micro import record
from bench.micro.prices import SWITCH_OF_THREADS, price, read
from bench.micro.record import MicroError, MicroRecord
from bench.micro.report import markdown
from tests.bench.synthetic import environment


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


def made() -> MicroRecord:
    return MicroRecord(
        created="2026-01-01T00:00:00+00:00",
        command=["bench", "micro"],
        environment=environment(),
        prices={
            "sockets.send": price("send", [4e-6, 5e-6, 6e-6]),
            "asyncio.resume_at_depth[10]": price("resume at depth", [1e-6, 1e-6]),
        },
    )


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    record.save(made(), tmp_path)
    assert record.load(tmp_path) == made()
    assert [file.name for file in tmp_path.iterdir()] == [record.FILE_NAME]


def test_the_table_names_operation_and_place() -> None:
    text = markdown(made())
    assert "| resume at depth[10] | asyncio | 1.00 | 1.00 to 1.00 | 1.00 |" in text
    assert "| send | sockets | 5.00 | 4.50 to 5.50 | 4.00 |" in text


def test_no_record_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MicroError, match="measure with python -m bench micro"):
        record.load(tmp_path)
    (tmp_path / record.FILE_NAME).write_text("{}")
    with pytest.raises(MicroError, match="not a record of bench micro"):
        record.load(tmp_path)
