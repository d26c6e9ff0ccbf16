"""Two campaigns on two machines, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import changed, changed_words, machine_words, release_words, stats
from bench.analysis.changed import Changes
from bench.analysis.stats import Ratio
from bench.schema.past import PastCampaign, PastRatio
from tests.bench.analysis.test_changed import compared, made
from tests.bench.synthetic import analysed

HERE, THERE = "2 × AMD EPYC", "2 × Intel(R) Xeon(R) Processor @ 2.60GHz"
PYTHON = "CPython 3.14.10"


def on(found: Changes, here: str = HERE, there: str = THERE, turns: bool = True) -> Changes:
    """The same changes, as if the campaigns had run there."""
    past = found.past.model_copy(update={"machine": there, "python": PYTHON, "turns": turns})
    now = found.now.model_copy(update={"machine": here, "python": PYTHON, "turns": turns})
    return changed.Changes(past, now, found.every)


@pytest.fixture(scope="module")
def two() -> Changes:
    """Generators turn over, async_await is half as dear there, and threads are the same."""
    there = analysed(made({"threads": 0.5, "generators": 1.2, "async_await": 0.8}))
    here = analysed(made({"threads": 0.5, "generators": 0.8, "async_await": 0.4}))
    return on(compared(there, here))


@pytest.mark.parametrize(
    ("here", "there", "turns", "fits"),
    [
        (HERE, THERE, True, True),
        (HERE, HERE, True, False),
        (HERE, "", True, False),  # a campaign that was kept before machines were
        (HERE, THERE, False, False),
    ],
)
def test_the_words_are_for_two_machines(
    two: Changes, here: str, there: str, turns: bool, fits: bool
) -> None:
    found = on(two, here, there, turns)
    assert machine_words.differ(found.past, found.now) is fits


def test_another_release_is_not_another_machine(two: Changes) -> None:
    past = two.past.model_copy(update={"python": "CPython 3.11.7"})
    assert not machine_words.differ(past, two.now)
    assert release_words.differ(past, two.now)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (THERE, "Intel Xeon"),
        (HERE, "AMD EPYC"),
        ("8 × Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "Intel Core i7-8700K"),
        ("4 × aarch64", "aarch64"),
        ("1 × CPU", "CPU"),
    ],
)
def test_a_processor_has_the_name_that_people_use(two: Changes, model: str, name: str) -> None:
    assert machine_words.machine(two.past.model_copy(update={"machine": model})) == name


def test_what_turns_over_and_what_has_another_size_is_listed(two: Changes) -> None:
    words = machine_words.markdown(two)
    opposite, size = words.split("**In opposite directions**")[1].split("**Of another size")
    start = "- `generators` against `callbacks` at throughput-100, "
    mine = [line for line in opposite.splitlines() if line.startswith(start)]
    assert len(mine) == 2
    for line, (here, there) in zip(
        mine, (("25 % more", "17 % less"), ("20 % fewer", "20 % more")), strict=True
    ):
        assert f": {here} (" in line
        assert "on the AMD EPYC, " in line
        assert f"{there} (" in line
        assert line.endswith("on the Intel Xeon.")
    assert "`async_await` against `callbacks`" in size
    assert "`threads` against `callbacks`" not in opposite + size


def test_every_pair_is_counted_once(two: Changes) -> None:
    words = machine_words.verdicts(two)
    both = [c for c in two.every if machine_words.shown_then(c) and c.now.shown]
    turned = [c for c in both if c.kind == "reversed"]
    single = [c for c in two.every if machine_words.shown_then(c) != c.now.shown]
    assert turned
    assert f"Both compared {len(two.every)} pairs. {len(both) - len(turned)} differ on" in words
    assert f"{len(turned)} in opposite directions. {len(single)} are shown" in words
    assert f"{len(two.every) - len(both) - len(single)} are shown to differ on neither" in words


def test_a_denial_needs_intervals_that_exclude_each_other() -> None:
    """4 % less here and 3 % less there was called a denial: one of them was equivalent."""
    there, here = moved(0.97, 0.96), moved(0.97, 0.75)
    quiet = [replace(one, then=one.then.model_copy(update={"verdict": "equivalent"}))
             for one in (there, here)]  # fmt: skip
    wide = [
        replace(one, then=one.then.model_copy(update={"low": 0.95, "high": 0.99})) for one in quiet
    ]
    assert [machine_words.denied(one) for one in wide] == [False, True]
    assert not machine_words.denied(here)  # both show a difference


def test_the_table_has_a_column_for_each_machine(two: Changes) -> None:
    assert "| crawled, Intel Xeon | crawled, AMD EPYC |" in machine_words.markdown(two)


def test_a_campaign_against_itself_confirms_all() -> None:
    one = analysed(made({"threads": 0.6, "generators": 0.8}))
    words = machine_words.markdown(on(compared(one, one)))
    assert "0 in opposite directions. 0 are shown to differ on one machine only" in words
    assert words.count(", by 0.0 %.") == 2
    assert "which is about the same" in words
    assert "**" not in words


def test_memory_is_held_against_memory(two: Changes) -> None:
    def with_memory(one: PastCampaign, **each: float) -> PastCampaign:
        return one.model_copy(update={"memory": each})

    found = changed.Changes(
        with_memory(two.past, threads=50_000.0, callbacks=4000.0, curio=1.0),
        with_memory(two.now, threads=55_000.0, callbacks=4000.0),
        two.every,
    )
    assert "differs by 5 % in the median of 2 backends, and by at most 10 %" in " ".join(
        machine_words.absolute(found)
    )


def test_a_machine_is_held_against_itself(two: Changes) -> None:
    again = two.past.model_copy(
        update={
            "campaign": "again",
            "ratios": [
                one.model_copy(update={"value": one.value * 1.02}) for one in two.past.ratios
            ],
        }
    )
    words = machine_words.repeated(two.past, again)
    shown = [c for c in two.every if machine_words.shown_then(c)]
    assert f"Of {len(shown)} ratios that differ from 1 in both, 0 changed direction" in words
    assert "differ by 2 % in the median and nine in ten by at most 2 %" in words
    assert words in machine_words.markdown(two, again)
    none = again.model_copy(update={"ratios": []})
    assert "No pair differs in both." in machine_words.repeated(two.past, none)


def test_the_cause_is_what_user_and_kernel_time_explain(two: Changes) -> None:
    """Here user time takes twice as long on one machine, and kernel time as long on both."""
    names = ("callbacks", *"abcdef")
    here = {name: (float(place + 1), 10.0) for place, name in enumerate(names)}
    there = {name: (2 * user, kernel) for name, (user, kernel) in here.items()}
    found = changed.Changes(
        two.past.model_copy(update={"split": {"ladder-100": there}}),
        two.now.model_copy(update={"split": {"ladder-100": here}}),
        two.every,
    )
    words = machine_words.cause(found)
    assert words is not None
    assert words.splitlines()[-1] == "| ladder-100 | 6 | 2.00 | 1.00 | 20 % | 0.0 % |"
    few = changed.Changes(
        two.past.model_copy(update={"split": {"ladder-100": {"callbacks": (1.0, 1.0)}}}),
        found.now,
        two.every,
    )
    assert machine_words.cause(few) is None


def test_lines_fit_a_document(two: Changes) -> None:
    lines = changed_words.wrapped(machine_words.markdown(two)).splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith("|"))


@given(st.floats(0.01, 100), st.floats(0.01, 100))
def test_a_distance_is_the_same_from_both_sides(first: float, second: float) -> None:
    def far(there: float, here: float) -> float:
        return machine_words.far(moved(there, here))

    assert far(first, second) == pytest.approx(far(second, first))
    assert far(first, second) >= 1


def moved(there: float, here: float) -> changed.Change:
    """A ratio that is shown to be this on one machine, and that on the other."""
    metric = stats.CPU_PER_1000
    then = PastRatio(
        metric=metric.name, point="throughput-100", base="callbacks", label="threads",
        value=there, low=there, high=there, verdict=metric.more,
    )  # fmt: skip
    now = Ratio(here, here, here, 6, 0.001, (), metric.more, "shown")
    return changed.Change(metric, then, now, "confirmed", None)
