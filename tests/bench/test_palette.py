"""The colours: readable, and apart for every kind of colour vision."""

from __future__ import annotations

import itertools

import pytest

from bench.palette import PALETTES, Theme, contrast, readable


def simulate(colour: str, kind: str) -> tuple[float, float, float]:
    """The colour as a dichromat sees it (Viénot, Brettel and Mollon 1999), linear RGB."""
    r, g, b = (
        (c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4)
        for c in (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    )
    if kind == "normal":
        return r, g, b
    if kind == "protan":
        return 0.11238 * r + 0.88762 * g, 0.11238 * r + 0.88762 * g, 0.00401 * (r - g) + b
    return 0.29275 * r + 0.70725 * g, 0.29275 * r + 0.70725 * g, -0.02234 * (r - g) + b


def lab(rgb: tuple[float, float, float]) -> tuple[float, float, float]:
    r, g, b = (max(0.0, c) for c in rgb)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["normal", "protan", "deutan"])
def test_models_are_told_apart_by_every_eye(theme: Theme, kind: str) -> None:
    colours = PALETTES[theme].models
    for a, b in itertools.combinations(colours, 2):
        one, two = (lab(simulate(colours[x], kind)) for x in (a, b))
        distance = sum((p - q) ** 2 for p, q in zip(one, two, strict=True)) ** 0.5
        assert distance > 12, f"{a} and {b} look alike ({distance:.0f})"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(theme: Theme) -> None:
    palette = PALETTES[theme]
    for colour in (*palette.models.values(), *palette.variants):
        assert contrast(colour, palette.background) >= 3
        assert contrast(readable(colour, palette.background), palette.background) >= 4.5
    assert contrast(palette.muted, palette.background) >= 4.5
