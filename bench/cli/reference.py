"""The answers of the reference campaign, which a wheel carries in place of its records.

They are for a folder without campaigns. ``python -m tools.rebuild carried`` writes them.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from pydantic import ConfigDict

from bench import filesystem
from bench.capacity.model import Costs
from bench.launch import ROOT
from bench.schema import CampaignRecord, Record

FOLDER: Final = ROOT / "bench" / "reference"
ANSWERS: Final = "answers.json"
TALK: Final = "talk.html"


class Answers(Record):
    """What ``advise`` and ``cite`` read; the slides of ``talk`` are beside it."""

    model_config = ConfigDict(ser_json_inf_nan="strings", allow_inf_nan=True)

    campaign: CampaignRecord  # without its plan
    sha256: str  # of the records
    findings: dict[str, str]
    source: str
    costs: Costs


@cache
def carried() -> Answers:
    """The answers that this installation has."""
    return filesystem.packaged(FOLDER / ANSWERS, Answers.model_validate_json)


def talk() -> str:
    """The slides that it has, whole."""

    def whole(text: str) -> str:
        if not text.rstrip().endswith("</html>"):
            raise ValueError("its end is missing")
        return text

    return filesystem.packaged(FOLDER / TALK, whole)
