"""Scales, limits and ticks."""

from __future__ import annotations

from matplotlib.figure import Figure

from bench.report.charts.axes import memory_axis


def test_memory_that_hardly_differs_stands_on_an_axis_from_zero() -> None:
    axes = Figure().subplots()
    memory_axis(axes, [21.5 * 2**20, 24.0 * 2**20])
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[0] == 0
    memory_axis(axes, [21.5 * 2**20, 240.0 * 2**20])
    assert axes.get_yscale() == "log"


def test_a_thousand_is_written_out() -> None:
    """It was labelled 1e+03."""
    axes = Figure().subplots()
    memory_axis(axes, [0.4 * 2**20, 900.0 * 2**20])
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels[0] == "0.5 MiB"
    assert labels[-1] == "1,000 MiB"
