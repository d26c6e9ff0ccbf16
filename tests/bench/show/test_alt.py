"""A figure in words."""

from __future__ import annotations

from bench.analysis.stats import Spread
from bench.show.alt import MOST, alt
from bench.show.figures import Axis, Bars, LinePoint, Lines, Panel, Plot, Stack
from bench.show.measured import US


def one(value: float) -> Spread:
    return Spread(value, value, value, 1)


def test_paired_bars_say_what_each_is_and_leave_out_what_is_missing() -> None:
    rows: dict[str, list[Spread | None]] = {
        "threads": [one(30.0), one(78.0)],
        "httpx": [None, one(500.0)],
    }
    bars = Bars([Panel("time per page", rows, US)], "kept", "new")
    assert alt("A page", bars) == (
        "Bar chart: A page. time per page (kept, then new): threads 30.0 µs, 78.0 µs. "
        "HTTP stacks: httpx 500 µs."
    )


def test_a_stack_has_its_parts_but_the_smallest() -> None:
    stack = Stack({"sockets": 20.0, "model": 10.0, "dust": 0.1}, hatched=("model",))
    panel = Panel("time", {"threads": [stack]}, US)
    said = alt("A page", Bars([panel], parts={"sockets": "grey", "model": "own", "dust": "red"}))
    assert said.endswith("time: threads 30.1 µs (sockets 20.0 µs, model 10.0 µs calculated).")


def test_a_long_line_is_told_by_its_mark_or_its_end() -> None:
    points = [LinePoint(float(x), one(2.0 * x)) for x in range(1, MOST + 2)]
    axes = Axis("slots", "counts"), Axis("", "values")
    marked = Plot({"threads": points}, *axes, "pages", marks={"threads": points[2]})
    assert alt("A", Lines([marked])) == "Line chart: A. pages: threads 6 at 3."
    assert alt("A", Lines([Plot({"trio": points}, *axes, "pages")])) == (
        f"Line chart: A. pages. Variants: trio {2 * MOST + 2} at {MOST + 1}."
    )


def test_a_long_list_ends() -> None:
    rows = {f"variant_{number}": [one(1.0)] for number in range(MOST + 3)}
    assert alt("A", Bars([Panel("time", rows, US)])).count("variant_") == MOST
