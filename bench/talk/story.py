"""The order of the talk, and what is left of it where records are missing."""

from __future__ import annotations

from typing import Final

from bench.talk import ending, middle, opening
from bench.talk.material import Material
from bench.talk.slides import Gap, Maker, Talk, TalkSlide

STORY: Final[tuple[Maker, ...]] = (
    opening.claim,
    opening.code,
    opening.connection,
    opening.tested,
    middle.page,
    middle.counted,
    middle.wait,
    middle.overload,
    ending.https,
    ending.million,
    ending.traceback,
    ending.choice,
)
"""No slide speaks of the one before or after it, so any of them may be missing."""


def tell(material: Material) -> Talk:
    """The slides that the records fill, in order, and the reasons for the others."""
    made = [make(material) for make in STORY]
    return Talk(
        material.analysis.campaign.campaign,
        [slide for slide in made if isinstance(slide, TalkSlide)],
        [gap for gap in made if isinstance(gap, Gap)],
    )
