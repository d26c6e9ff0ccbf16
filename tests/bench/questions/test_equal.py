"""What is held equal, flipped in made-up records."""

from __future__ import annotations

import pytest

from bench.conditions.flips import FLIPS, SHORT_SWITCH_S
from bench.machine.cpu import Pinning
from bench.plan.participants import Label
from bench.plan.plan import labels_of
from bench.plan.profiles import STARRING, equal
from bench.plan.workloads import Point
from bench.sides.sides import Sides
from tests.bench.sides.test_worker import COMMAND


@pytest.mark.parametrize("point", equal().points, ids=lambda point: point.id)
def test_every_backend_takes_part_as_always_and_flipped(point: Point) -> None:
    labels = labels_of(point, STARRING)
    assert {label.name for label in labels if label.condition} == set(STARRING)
    assert {label.name for label in labels if not label.condition} == set(STARRING)
    assert all(Label.parse(str(label)) == label for label in labels)
    assert point.params["flip"] in FLIPS


def test_only_the_flipped_crawl_has_large_pages() -> None:
    assert FLIPS["page"].site("tree:14000:10:2048") == "tree:3500:10:65536"
    assert FLIPS["heap"].site("tree:14000:10:2048") == "tree:14000:10:2048"


def test_a_flip_changes_what_it_says() -> None:
    told = FLIPS["switch"].command(COMMAND, Sides())
    assert (told.flip, told.switch_interval_s) == ("switch", SHORT_SWITCH_S)
    narrow = Pinning([1], [0], None, usable=[0, 1])
    assert FLIPS["processors"].place(narrow, narrow, "callbacks").client == [0, 1]
    assert FLIPS["processors"].place(narrow.unpinned(), narrow, "threads") == narrow
