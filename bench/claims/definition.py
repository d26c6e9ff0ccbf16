"""The contents of a claim's file: the claim, its source, and how it is measured here."""

from __future__ import annotations

import tomllib
from math import inf
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bench.errors import BenchError

SENTENCES: Final = Path(__file__).parent / "sentences"

Range = tuple[float, float]
Topic = Literal["memory", "threads", "waiting", "speed", "language", "safety", "today"]
TOPICS: Final[dict[Topic, str]] = {
    "memory": "What a connection costs",
    "threads": "How far threads go",
    "waiting": "How to wait for many sockets",
    "speed": "Which is faster",
    "language": "What await does",
    "safety": "What goes wrong",
    "today": "Claims of today",
}
"""The topics, in the order of the page."""


class ClaimError(BenchError):
    """A claim's file is not valid; the message names the file and the field."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Reading(_Strict):
    """One way to measure the claim.

    ``meant`` completes the verdict "reproduced here if …": it says how to understand
    the claim. ``then`` is the number that its author gave, or both ends of a range.
    The claim counts as true if the number lies within ``holds``.
    """

    meant: str
    whose: Literal["author", "suite"] = "suite"  # whose experiment it is, or comes closest to
    unit: str
    then: float | Range | None = None
    holds: Range

    @model_validator(mode="after")
    def _in_order(self) -> _Reading:
        if not self.holds[0] <= self.holds[1]:
            raise ValueError("holds: the lower end comes first")
        return self

    @property
    def then_range(self) -> Range | None:
        """Both ends of the number that was given; None without one."""
        if isinstance(self.then, tuple):
            return self.then
        return None if self.then is None else (self.then, self.then)


class RatioReading(_Reading):
    """A backend divided by a base at one point of a campaign, paired within blocks."""

    kind: Literal["ratio"]
    metric: str
    point: str
    backend: str
    base: str


class MemoryReading(_Reading):
    """KiB per connection: the slope over the connections held at the barrier."""

    kind: Literal["memory"]
    backend: str
    part: Literal["user", "total"]


class MemoryRatioReading(_Reading):
    """Memory per connection of a backend as a multiple of another's, by the slopes of both."""

    kind: Literal["memory-ratio"]
    backend: str
    base: str
    part: Literal["user", "total"]
    over_tls: bool = False


class BarrierReading(_Reading):
    """The share of a point's trials that held all their connections and were valid."""

    kind: Literal["barrier"]
    point: str
    backend: str


class ExperimentReading(_Reading):
    """A value of an experiment, over its repeats."""

    kind: Literal["experiment"]
    experiment: str
    value: str


class UntriedReading(_Reading):
    """What this machine cannot measure, and why; the claim is still told."""

    kind: Literal["untried"]
    reason: str


Reading = Annotated[
    RatioReading
    | MemoryReading
    | MemoryRatioReading
    | BarrierReading
    | ExperimentReading
    | UntriedReading,
    Field(discriminator="kind"),
]


class Claim(_Strict):
    """A claim, its source, and one or more readings."""

    name: str  # the file's, without its ending
    title: str  # a few words, for headings and charts
    topic: Topic
    sentence: str
    quote: bool = False  # the exact words of the source; otherwise a paraphrase
    conditions: str = ""  # under which its author made the claim
    source: str
    url: str
    place: str = ""  # where in the source: a section, a message
    date: str  # when it was made: "2016", "2016-01-11"
    measured: str  # how, in words for the page
    reading: tuple[Reading, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _author_first(self) -> Claim:
        whose = [reading.whose for reading in self.reading]
        if whose != sorted(whose):
            raise ValueError("the author's experiment comes before the suite's readings")
        return self


def load(file: Path) -> Claim:
    """Read one claim.

    Raises :class:`ClaimError`.
    """
    try:
        return Claim.model_validate(
            {**tomllib.loads(file.read_text(encoding="utf-8")), "name": file.stem}
        )
    except tomllib.TOMLDecodeError as error:
        raise ClaimError(f"{file.name}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "file"
        raise ClaimError(f"{file.name}: {place}: {first['msg']}") from None


def load_all(folder: Path = SENTENCES) -> list[Claim]:
    """Every claim, by topic and then by name."""
    order = list(TOPICS)
    claims = [load(file) for file in folder.glob("*.toml")]
    return sorted(claims, key=lambda claim: (order.index(claim.topic), claim.name))


def bounds_words(holds: Range, unit: str) -> str:
    """The bounds within which the claim counts as true: ``25 to 100 KiB``, ``2 times or more``."""
    low, high = holds
    if low == high:
        return f"{low:g} {unit}"
    if high == inf:
        return f"{low:g} {unit} or more"
    if low in (0.0, -inf):
        return f"{high:g} {unit} or less"
    return f"{low:g} to {high:g} {unit}"
