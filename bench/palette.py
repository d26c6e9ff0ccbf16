"""The colours of charts and slides in both themes, and the arithmetic of contrast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme."""

    background: str
    ink: str
    muted: str
    grid: str
    band: str  # noise floor
    alarm: str
    models: Mapping[str, str]
    variants: tuple[str, ...]


# Okabe and Ito's palette (Color Universal Design, 2008), with the four hues that
# stay furthest apart for every kind of colour vision given to the four models;
# on dark ground each is lightened until it has 3:1 contrast or more.
PALETTES: Final[dict[Theme, Palette]] = {
    "light": Palette(
        background="#ffffff",
        ink="#1b1f24",
        muted="#5b636e",
        grid="#e3e6ea",
        band="#e9ebee",
        alarm="#b3261e",
        models={
            "threads": "#d55e00",
            "callbacks": "#0072b2",
            "generators": "#009e73",
            "async_await": "#c4569a",
        },
        variants=("#7a6a00", "#4b4f9c", "#7f3b08", "#1f7a8c", "#6b7280", "#8c2d5a", "#4d7c0f"),
    ),
    "dark": Palette(
        background="#14171c",
        ink="#f1f3f5",
        muted="#a3abb5",
        grid="#2a3038",
        band="#262c34",
        alarm="#ff8a80",
        models={
            "threads": "#ff8a3d",
            "callbacks": "#56b4e9",
            "generators": "#2ed3a0",
            "async_await": "#f09acb",
        },
        variants=("#e6d34a", "#9aa0ff", "#d99a6c", "#7fd6e6", "#b4bcc6", "#e58ab0", "#a7d65c"),
    ),
}


def _rgb(colour: str) -> tuple[float, float, float]:
    return (int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` (WCAG 2)."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2), 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mix(one: str, other: str, share: float) -> str:
    """``one`` with ``share`` of ``other`` in it."""
    parts = zip(_rgb(one), _rgb(other), strict=True)
    return "#" + "".join(f"{round(255 * (a + (b - a) * share)):02x}" for a, b in parts)


def readable(colour: str, background: str) -> str:
    """The colour, darkened or lightened until text in it has 4.5:1 contrast."""
    towards = "#000000" if luminance(background) > 0.5 else "#ffffff"
    for step in range(21):
        mixed = mix(colour, towards, step / 20)
        if contrast(mixed, background) >= 4.5:
            return mixed
    return towards
