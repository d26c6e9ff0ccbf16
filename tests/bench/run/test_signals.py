"""Processes of a campaign struck by signals. The long form: python -m tests.torture.signals."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.torture.signals import Strike, strike


@pytest.mark.parametrize(
    ("victim", "number"),
    [("front end", signal.SIGTERM), ("server", signal.SIGTERM)],
)
@pytest.mark.slow
def test_nothing_recorded_is_lost(victim: str, number: signal.Signals, tmp_path: Path) -> None:
    strike(Strike(victim, number, random.Random(victim).uniform(1, 4)), tmp_path)
