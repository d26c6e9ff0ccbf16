"""Colours and markers of the backends, and matplotlib's settings."""

from __future__ import annotations

from bench.report.charts.look import Look, style
from tests.bench import synthetic


def test_nothing_is_left_behind_in_matplotlib() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with style(Look("dark", "wide", [])):
        assert matplotlib.rcParams["svg.fonttype"] == "none"
    assert dict(matplotlib.rcParams) == before


def test_identities_are_stable_and_distinct() -> None:
    backends = [*synthetic.MODELS, *(f"v{i}" for i in range(36))]
    look = Look("light", "wide", backends)
    seen = {(look.of(b).colour, look.of(b).marker) for b in backends}
    assert len(seen) == len(backends)
    assert look.of("callbacks#2").colour == look.of("callbacks").colour
