"""Scales, limits and ticks."""

from __future__ import annotations

from matplotlib.figure import Figure

from bench.report.charts.axes import value_axis


def test_values_that_hardly_differ_stand_on_an_axis_from_zero() -> None:
    axes = Figure().subplots()
    value_axis(axes, [21.5, 24.0])
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[0] == 0
    value_axis(axes, [21.5, 24000.0])
    assert axes.get_yscale() == "log"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["100", "1,000", "10k"]
