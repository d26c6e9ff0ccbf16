"""What a response header costs, recounted from made-up records with known costs."""

from __future__ import annotations

from bench.plan import plan
from bench.plan.participants import Participants
from bench.plan.sizes import sized
from bench.plan.workloads import headers as point_of


def test_the_server_is_told_how_many_lines() -> None:
    point = point_of(100, 16000, Participants(1))
    sites = [sized(point, label).site for label in plan.labels_of(point, ["callbacks"])]
    assert [site.rpartition(":")[2] for site in sites] == ["5", "20", "80"]
