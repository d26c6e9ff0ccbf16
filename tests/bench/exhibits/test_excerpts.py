"""What is shown of each model is in its file, and shows it waiting."""

from __future__ import annotations

import pytest

from bench.exhibits import excerpts, models
from crawlers.registry import MODELS


@pytest.mark.parametrize("model", MODELS)
def test_the_lines_that_receive_are_those_of_the_file_and_one_of_them_waits(model: str) -> None:
    lines = models.source_of(model).splitlines()
    shown = {n: text for part in excerpts.receiving(model) for n, text in part.lines.items()}
    assert 3 <= len(shown) <= 20
    assert all(lines[n - 1].endswith(text) for n, text in shown.items())
    assert sum(n in models.waiting_lines(model) for n in shown) == 1
    assert any("feed(data)" in text for text in shown.values())
