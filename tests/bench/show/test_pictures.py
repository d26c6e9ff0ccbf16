"""A figure in words; and its title, which follows from it: what is refused, and what is not."""

from __future__ import annotations

import pytest

from bench.analysis.stats import Spread
from bench.show.figures import Axis, Bars, LinePoint, Lines, Panel, Plot, Stack, calculated
from bench.show.measured import US
from bench.show.pictures import MOST, alone, alt, contradiction, says_something


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


def test_what_has_no_value_has_no_words_and_a_panel_of_it_neither() -> None:
    """A screen reader said "gevent, uvloop" without a number."""
    rows: dict[str, list[Spread | None]] = {"threads": [one(30.0)], "trio": [None]}
    bars = Bars([Panel("time", rows, US), Panel("memory", {"trio": [None]}, US)])
    assert alt("A page", bars) == "Bar chart: A page. time: threads 30.0 µs."


def test_a_stack_has_its_parts_but_the_smallest() -> None:
    stack = Stack({"sockets": 20.0, "model": 10.0, "dust": 0.1}, hatched=("model",))
    panel = Panel("time", {"threads": [stack]}, US)
    said = alt("A page", Bars([panel], parts={"sockets": "grey", "model": "own", "dust": "red"}))
    assert said.endswith("time: threads 30.1 µs (sockets 20.0 µs, model 10.0 µs calculated).")
    assert alt("A", Bars([Panel("", {"trio": [Stack({"a": 0.0})]}, US)])).endswith("trio 0 µs.")


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


def bars(**values: float) -> Bars:
    rows = {label: [Spread(v, 0.9 * v, 1.1 * v, 5)] for label, v in values.items()}
    return Bars([Panel("time per page", rows, US)])


DRAWN = bars(threads=99.5, callbacks=30.8)


@pytest.mark.parametrize(
    "title",
    [
        "Threads need 3.2 times as much processor time per page as callbacks",
        "A page costs 99.5 µs with threads and 30.8 µs with callbacks",
        "A page costs 0.0995 ms with threads",
        "Callbacks need 69 % less processor time than threads",
        "With a delay of 50 ms threads cost 99.5 µs",
    ],
)
def test_what_is_drawn_may_be_said(title: str) -> None:
    assert contradiction(title, DRAWN) is None


@pytest.mark.parametrize(
    ("title", "why"),
    [
        # What the published chart said over these two bars.
        ("Threads need 2.1 times as much processor time per page as callbacks", "ratio of 2.10"),
        ("A page costs 99.5 µs with threads and 43.6 µs with callbacks", "no value of 43.6 µs"),
        ("Threads need 3.2 times as much as async/await", "not drawn: async/await"),
        ("Callbacks need 51 % less processor time than threads", "ratio of 0.49"),
    ],
)
def test_what_is_not_drawn_may_not(title: str, why: str) -> None:
    assert why in (contradiction(title, DRAWN) or "")


def test_a_base_may_be_named_by_an_axis() -> None:
    points = [calculated(x, 0.5) for x in (1.0, 2.0)]
    axes = Axis("slots", "counts"), Axis("pages/s ÷ async_await", "ratios")
    title = "Threads fetch 50 % fewer pages/s than async/await"
    assert contradiction(title, Lines([Plot({"threads": points}, *axes)])) is None
    assert contradiction(title, bars(threads=0.5)) == "not drawn: async/await"


def test_one_value_says_nothing_and_one_trial_looks_like_one() -> None:
    assert not says_something(bars(threads=1.0))
    assert says_something(DRAWN)
    assert not alone(DRAWN)
    once = Bars([Panel("time", {"threads": [Spread(1.0, 1.0, 1.0, 1), Stack({"a": 1.0})]}, US)])
    assert alone(once)
