"""Material for talks: the committed campaign, made-up ones, and tracebacks that nobody raised."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from bench.exhibits import stack_ripping
from bench.exhibits.stack_ripping import Frame, Ripped
from bench.launch import RESULTS
from bench.talk.material import Inputs, Material
from bench.talk.slides import Talk
from bench.talk.story import tell
from crawlers.registry import MODELS
from tests.bench.encrypted import encrypted
from tests.bench.synthetic import analysed, campaign

REFERENCE, FLEET = RESULTS / "reference", RESULTS / "fleet"


def ripped(model: str) -> Ripped:
    """A traceback as short as possible: callbacks have lost the caller of the slot's function."""
    last = "receive" if model == "callbacks" else "fetch"
    functions = [last] if model == "callbacks" else ["work", last]
    frames = [
        Frame(file=f"crawlers/{model}.py", line=7, function=name, code="a < b & c", knows=True)
        for name in functions
    ]
    return Ripped(model=model, error="module.Error: <no page>", frames=frames)


@cache
def committed() -> Talk:
    """The talk of the reference campaign."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack_ripping, "rip_all", lambda: [ripped(model) for model in MODELS])
        return tell(Material.load(REFERENCE, FLEET))


def made(*, over_tls: bool = False, **changes: Any) -> Talk:
    """The talk of a made-up campaign, without counts, experiments and a fleet."""
    records = encrypted() if over_tls else campaign(**changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack_ripping, "rip_all", lambda: [ripped(model) for model in MODELS])
        return tell(Material(Inputs(analysed(records), [])))
