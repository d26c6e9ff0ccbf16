"""What threads pay for the lock, in made-up crawls whose windows lie on a line."""

from __future__ import annotations

import numpy as np
import pytest

from bench.plan.participants import PINNED
from bench.questions import handovers
from bench.questions.handovers import Window
from bench.schema import AnyRecord, Switches, TrialRecord, Windows
from tests.bench import synthetic
from tests.bench.sure import sure
from tests.bench.synthetic import analysed

FIXED_US, SWITCH_US = 20.0, 9.0
SWITCHES = {"threads": 6.0, PINNED: 1.5, "callbacks": 0.0}
"""Voluntary switches of a page, in the middle."""


def switching(*, blocks: int = 5, slope: float = SWITCH_US, **options: object) -> list[AnyRecord]:
    """The records of a campaign in which a page of threads costs ``slope`` for each switch."""
    lines = synthetic.campaign(blocks=blocks, workloads=["throughput"], **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(7)
    found: list[AnyRecord] = []
    number = 10_000
    for line in lines:
        if not isinstance(line, TrialRecord):
            found.append(line)
        elif line.point == "throughput-100" and line.label in ("threads", "callbacks"):
            for name in ("threads", PINNED) if line.label == "threads" else ("callbacks",):
                per_page = np.clip(SWITCHES[name] * rng.uniform(0.7, 1.3, 40), 0, None)
                us = FIXED_US + slope * per_page + rng.normal(0, 1.0, 40)
                windows = Windows(
                    exchanges=[500] * 40,
                    cpu_us=np.rint(500 * us).astype(int).tolist(),
                    voluntary=np.rint(500 * per_page).astype(int).tolist(),
                    involuntary=[5] * 40,
                )
                switches = Switches(
                    voluntary=round(SWITCHES[name] * (line.pages or 0)),
                    involuntary=9,
                    windows=windows,
                )
                place = {"workload": "handovers", "point": handovers.CRAWLED, "trial": number}
                processors = [0, 1] if name == "threads" else [0]
                pinned = {"client": processors, "server": [1], "reason": None}
                seen = {"backend": name, "label": name, "switches": switches, "pinning": pinned}
                found.append(line.model_copy(update=place | seen))
                number += 1
    return found


@pytest.mark.parametrize("slope", [3.0, 9.0, 14.0])
def test_the_law_is_found_again(slope: float) -> None:
    found = handovers.trials(analysed(switching(slope=slope)), handovers.CRAWLED)
    windows = [w for w in handovers.windows_of(found) if w.label.startswith("threads")]
    line = sure(handovers.law(windows))
    assert line.fixed_us == pytest.approx(FIXED_US, abs=1.0)
    assert line.switch_us == pytest.approx(slope, rel=0.05)
    assert line.explained > 0.9


def test_windows_that_others_disturbed_do_not_bend_the_line() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 7, 300)
    y = FIXED_US + SWITCH_US * x
    y[:45] += 200.0
    line = sure(handovers.law([Window("threads", a, b) for a, b in zip(x, y, strict=True)]))
    assert line.switch_us == pytest.approx(SWITCH_US, rel=0.05)
    assert line.explained < 0.5  # and says that it does not fit


def test_equal_switches_make_no_line() -> None:
    assert handovers.law([Window("threads", 1.0, 20.0 + n) for n in range(50)]) is None
    assert handovers.law([Window("threads", float(n), 20.0) for n in range(5)]) is None


def test_without_one_of_the_ends_there_is_no_headline() -> None:
    alone = [
        line for line in switching() if not isinstance(line, TrialRecord) or line.label != PINNED
    ]
    answer = sure(handovers.answer(analysed(alone)))
    assert answer.headline is None
    assert answer.tables
