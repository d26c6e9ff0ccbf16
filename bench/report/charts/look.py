"""How charts look: a shape, and the colours and marker of each backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib

from bench.palette import PALETTES, mix, readable
from bench.plan.participants import MAIN_VARIANTS, Label
from bench.show.words import is_stack

Shape = Literal["wide", "stage", "narrow"]
"""The stage is the free part of a slide that has a title of its own; narrow is for a phone."""
Format = Literal["svg", "png"]

SIZES: Final[Mapping[Shape, tuple[float, float]]] = {
    "wide": (12.8, 7.2),
    "stage": (12.0, 4.9),
    "narrow": (7.0, 6.4),
}

#: Dots per inch of the layout; PNG files are written at twice this.
DPI: Final = 100

STYLE: Final = Path(__file__).with_name("charts.mplstyle")
COLOURED: Final = {
    "background": ("axes.facecolor", "figure.facecolor", "savefig.facecolor"),
    "ink": ("axes.titlecolor", "legend.labelcolor", "text.color"),
    "muted": ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"),
    "grid": ("grid.color",),
}
"""Colour of a palette -> settings of matplotlib that have it."""

MODEL_MARKERS: Final[Mapping[str, str]] = {
    "threads": "s",
    "callbacks": "o",
    "generators": "^",
    "async_await": "D",
}
VARIANT_MARKERS: Final = ("v", "P", "X", "<", ">", "p", "h", "*", "d")


@dataclass(frozen=True, slots=True)
class Identity:
    """How one backend looks, in every chart of a campaign."""

    label: str
    colour: str
    marker: str
    width: float
    order: float  # drawing order; models lie on top
    stack: bool = False  # a whole HTTP stack, which does more than a model

    @property
    def line(self) -> Literal["-", "--"]:
        """The style of its lines: dashed for a stack, and beside plain HTTP for TLS."""
        return "--" if self.stack or Label.parse(self.label).condition == "tls" else "-"


class Look:
    """A shape, and who has which colour: a light one, and the one in its place in the dark."""

    def __init__(self, shape: Shape, backends: Sequence[str]) -> None:
        """``backends`` in the campaign's order: variants take colours in that order.

        The main variants have the first ones in every chart, also where many others stand.
        """
        self.narrow = shape == "narrow"
        self.shape: Shape = shape
        self.palette = PALETTES["light"]
        self.dark: dict[str, str] = {}
        for pair in zip(self.palette.colours, PALETTES["dark"].colours, strict=True):
            self.pair(*pair)
        # Without their interpreters: a backend has one colour on all of them.
        names = dict.fromkeys(Label.parse(backend).name for backend in backends)
        others = [name for name in names if name not in (*MODEL_MARKERS, *MAIN_VARIANTS)]
        self._variants = [*MAIN_VARIANTS, *others]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return SIZES[self.shape]

    def pair(self, light: str, dark: str) -> str:
        """The light colour, whose dark one is known from here on.

        Raises ValueError where it has another already: a drawing is in light colours alone.
        """
        if self.dark.setdefault(light, dark) != dark:
            raise ValueError(f"{light} is {self.dark[light]} in the dark, and {dark}")
        return light

    def mix(self, colour: str, other: str, share: float) -> str:
        """``colour`` with ``share`` of ``other`` in it."""
        return self.pair(mix(colour, other, share), mix(self.dark[colour], self.dark[other], share))

    def readable(self, colour: str) -> str:
        """The colour as it can be read on the ground of either theme."""
        ground = self.palette.background
        if (light := readable(colour, ground)) == colour:
            return colour
        return self.pair(light, readable(self.dark[colour], self.dark[ground]))

    def of(self, label: str) -> Identity:
        """The identity of a label: that of its backend, for an A/A twin and on any interpreter."""
        name = Label.parse(label).name.partition(",")[0]  # "threads, one processor"
        if name in MODEL_MARKERS:
            return Identity(label, self.palette.models[name], MODEL_MARKERS[name], 3.0, 4)
        place = self._variants.index(name) if name in self._variants else len(self._variants)
        colours = self.palette.variants
        return Identity(
            label,
            # A colour belongs to one backend. Whoever comes after the last one is grey.
            colours[place] if place < len(colours) else self.palette.muted,
            VARIANT_MARKERS[place % len(VARIANT_MARKERS)],
            1.8,
            3,
            is_stack(label),
        )


@cache
def _common() -> matplotlib.RcParams:
    return matplotlib.rc_params_from_file(STYLE, use_default_template=False)


@contextmanager
def style(look: Look) -> Iterator[None]:
    """matplotlib's own defaults plus this look, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams  # its keys are literals to the type checker
        settings.update(_common())
        for colour, names in COLOURED.items():
            settings.update(dict.fromkeys(names, getattr(look.palette, colour)))
        yield
