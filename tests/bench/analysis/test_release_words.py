"""Two campaigns on two Python releases, in words."""

from __future__ import annotations

import pytest

from bench.analysis import changed, release_words
from bench.analysis.changed import Changes
from tests.bench.analysis.test_changed import compared, made
from tests.bench.synthetic import analysed

OLD, NEW = "CPython 3.11.7", "CPython 3.14.10"


def on(found: Changes, old: str = OLD, new: str = NEW, turns: bool = True) -> Changes:
    """The same changes, as if the campaigns had run there."""
    past = found.past.model_copy(update={"python": old, "turns": turns})
    now = found.now.model_copy(update={"python": new, "turns": turns})
    return changed.Changes(past, now, found.every)


@pytest.fixture(scope="module")
def moved() -> Changes:
    """Threads have become dearer and async_await cheaper; generators stayed as they were."""
    then = analysed(made({"threads": 0.8, "generators": 0.9, "async_await": 0.4}))
    now = analysed(made({"threads": 0.5, "generators": 0.9, "async_await": 0.7}))
    return on(compared(then, now))


@pytest.mark.parametrize(
    ("old", "new", "turns", "fits"),
    [
        (OLD, NEW, True, True),
        (OLD, "CPython 3.11.9", True, False),
        ("CPython 3.11.7", "PyPy 3.11.7", True, True),
        ("CPython 3.1.4", "CPython 3.11.4", True, True),
        (OLD, NEW, False, False),  # an older instrument: that is another story
    ],
)
def test_the_words_are_for_two_releases(
    moved: Changes, old: str, new: str, turns: bool, fits: bool
) -> None:
    found = on(moved, old, new, turns)
    assert release_words.differ(found.past, found.now) is fits


def test_what_has_moved_is_listed_and_nothing_else(moved: Changes) -> None:
    words = release_words.markdown(moved)
    dearer, cheaper = words.split("**Dearer on CPython 3.14.10**")[1].split("**Cheaper on")
    assert "`threads` against `callbacks`" in dearer
    assert "`async_await` against `callbacks`" in cheaper
    assert "`generators` against `callbacks`" not in dearer + cheaper


def test_the_table_has_both_ratios(moved: Changes) -> None:
    rows = release_words.table(moved)
    assert "crawled, 3.11.7 | crawled, 3.14.10" in rows[2]
    mine = next(row for row in rows if row.startswith("| `threads`"))
    assert "| 1.25 [" in mine
    assert "| 2.00 [" in mine


def test_a_campaign_against_itself_has_moved_nothing() -> None:
    one = analysed(made({"threads": 0.6}))
    words = release_words.markdown(on(compared(one, one)))
    assert "Dearer" not in words
    assert "Cheaper" not in words
    assert "and 0 of the others show a difference in the opposite direction" in words


def test_backends_of_one_release_are_named(moved: Changes) -> None:
    past = moved.past.model_copy(update={"described": {**moved.past.described, "curio": "curio"}})
    words = release_words.paragraph(changed.Changes(past, moved.now, moved.every))
    assert "Only CPython 3.11.7 has `curio`." in words
