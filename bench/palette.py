"""The colours of charts and slides in both themes, and the arithmetic of contrast."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter

Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Palette:
    background: str
    ink: str
    muted: str
    grid: str
    band: str
    alarm: str
    models: Mapping[str, str]
    variants: tuple[str, ...]

    @property
    def colours(self) -> list[str]:
        """All of them, in one order in every theme."""
        ground = self.background, self.ink, self.muted, self.grid, self.band, self.alarm
        return [*ground, *(self.models[name] for name in sorted(self.models)), *self.variants]


PALETTES: Final = TypeAdapter(dict[Theme, Palette]).validate_python(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
)


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


COLOUR: Final = re.compile(r"#[0-9a-f]{6}\b")
_DARK: Final = re.compile(r'\[style\*="fill: (#\w{6})"\][^{]*{ fill: (#\w{6})')


def adapting(svg: str, dark: Mapping[str, str]) -> str:
    """A drawing that has its ``dark`` colours where the reader prefers these.

    Its own colours stay literal, because Inkscape and office programs know no variables. A rule
    of its style sheet exchanges each; a program that ignores those shows the light picture.
    """
    rules = [
        f'[style*="{what}: {light}"], [{what}="{light}"] {{ {what}: {dark[light]} !important }}'
        for light in sorted({*COLOUR.findall(svg)} & dark.keys())
        for what in ("fill", "stroke")
    ]
    sheet = "\n".join(["@media screen and (prefers-color-scheme: dark) {", *rules, "}"])
    return svg.replace("</style>", f"\n{sheet}\n</style>", 1)


def dark_of(svg: str) -> dict[str, str]:
    """Light colour -> dark one, as :func:`adapting` wrote them."""
    return dict(_DARK.findall(svg))
