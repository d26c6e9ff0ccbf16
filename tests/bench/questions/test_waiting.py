"""Pages per second by slots, with and without a delay, recounted from made-up records."""

from __future__ import annotations

from bench.questions import waiting
from bench.questions.question import Headline
from bench.schema import AnyRecord
from bench.show.figures import Lines
from tests.bench.altered import where
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, campaign


def slow_threads(*, slow: float = 0.4, blocks: int = 6) -> list[AnyRecord]:
    """A campaign in which only threads at 1,000 slots fetch fewer pages from a slow server."""
    options = {"workloads": ("waiting",), "base": "callbacks", "effects": False, "noise": 0.01}
    lines = campaign(blocks=blocks, samples=20, **options)  # type: ignore[arg-type]
    here = ("waiting-1000", "threads")
    slowed = {"pages_per_s": lambda t: t.pages_per_s * slow}
    return where(lines, lambda t: (t.point, t.label) == here, **slowed)


def headline(lines: list[AnyRecord]) -> Headline:
    answer = sure(waiting.answer(analysed(lines)))
    return sure(answer.headline)


def test_the_headline_is_about_the_slots_that_show_a_difference() -> None:
    """At 100 slots alone "no model differs" hid what 1,000 slots show."""
    found = headline(slow_threads())
    assert found.text.startswith("With a delay of 50 ms, threads fetch 6")
    assert found.text.endswith("% fewer pages per second than callbacks at 1,000 slots")
    assert found.behind.endswith("95 % interval of 6 blocks; 6,007 and 15,022 pages/s")


def test_where_nothing_is_shown_the_headline_says_so() -> None:
    found = headline(slow_threads(slow=1.0))
    assert found.text == ("With a delay of 50 ms, no difference between models is shown")
    few = headline(slow_threads(blocks=2))
    assert few.text == "With a delay of 50 ms, no difference between models is shown"
    assert few.behind.startswith("2 blocks")


def test_the_delay_is_told_with_its_median_and_mean() -> None:
    answer = sure(waiting.answer(analysed(slow_threads())))
    assert "random, with a median of 50 ms and a mean of 57 ms" in answer.prose


def test_throughput_alone_has_its_chart_and_no_headline() -> None:
    answer = sure(
        waiting.answer(analysed(campaign(blocks=2, samples=20, workloads=("throughput",))))
    )
    assert answer.headline is None
    (figure,) = answer.figures
    assert figure.name == "throughput"
    assert isinstance(figure.data, Lines)
    assert {point.x for point in figure.data.points} == {1, 10, 100, 1000}
