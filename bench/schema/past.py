"""What an earlier campaign said, kept small: its verdicts and published figures, not its trials."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bench.schema.base import Record

PAST_VERSION = 1


class PastRatio(Record):
    """One backend over another at one point, as that campaign decided it."""

    metric: str
    point: str
    base: str
    label: str
    value: float
    low: float
    high: float
    verdict: str
    faults: float | None = None  # page faults of the label per page
    published: list[str] = Field(default_factory=list)  # documents with this very figure


class PastClaim(Record):
    """A well-known claim, and the verdict that was published."""

    title: str
    verdict: str


class PastCampaign(Record):
    """A campaign whose trials are not in the repository any more."""

    kind: Literal["past"] = "past"
    schema_version: int = PAST_VERSION
    campaign: str
    created: str  # ISO 8601, UTC
    profile: str
    python: str
    build: dict[str, str]  # of the interpreter, what is known
    wall_s: float | None  # that the trials took
    turns: bool  # backends took interleaved turns where the processor counts
    polls: bool = False  # the server polled, so no page paid for waking it
    machine: str = ""  # processor model and count
    base: str = ""  # what most ratios are to
    base_ms: dict[str, float] = Field(default_factory=dict)  # point -> its CPU per 1000 pages
    memory: dict[str, float] = Field(default_factory=dict)  # backend -> bytes per connection
    #: Point -> backend -> user and kernel time in ms per 1000 pages.
    split: dict[str, dict[str, tuple[float, float]]] = Field(default_factory=dict)
    floors: dict[str, float | None]  # metric -> noise floor in percent
    described: dict[str, str]  # backend -> what it was, in the registry's words
    ratios: list[PastRatio]
    claims: list[PastClaim] = Field(default_factory=list)
