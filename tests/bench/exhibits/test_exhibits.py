"""Metrics of the source, and the exhibit of ripped stacks from real runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.exhibits import exhibit, models, stack_ripping
from bench.exhibits.stack_ripping import Ripped
from crawlers.registry import MODELS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "stack-ripping.md"


@pytest.fixture(scope="module")
def ripped() -> list[Ripped]:
    return stack_ripping.rip_all()


def test_the_same_error_comes_out_of_every_model(ripped: list[Ripped]) -> None:
    assert [one.model for one in ripped] == list(MODELS)
    (error,) = {one.error for one in ripped}
    assert "Invalid status code" in error


def test_callbacks_lose_the_callers_and_the_others_keep_them(ripped: list[Ripped]) -> None:
    left = {one.model: [frame.function for frame in one.of("slot")] for one in ripped}
    assert left["callbacks"] == ["receive"]
    for model in ("threads", "generators", "async_await"):
        assert left[model] == ["work", "fetch"]
    assert {one.model: one.callers for one in ripped} == {
        "threads": 1,
        "callbacks": 0,
        "generators": 1,
        "async_await": 1,
    }


def test_the_breakpoint_is_the_line_that_feeds_the_parser(ripped: list[Ripped]) -> None:
    for one in ripped:
        stop = one.breakpoint
        line = models.source_of(one.model).splitlines()[stop.line - 1]
        assert line.strip() == stop.code
        assert "exchange.feed(data)" in line


def test_no_folder_of_this_machine_is_shown(ripped: list[Ripped]) -> None:
    page = exhibit.markdown(ripped)
    assert str(ROOT) not in page
    for one in ripped:
        assert not any(frame.file.startswith("/") for frame in one.frames)


def structure(page: str) -> list[str]:
    """The page without line numbers, counts and frames of other projects."""
    kept = [
        line
        for line in page.splitlines()
        if not line.startswith(("    ", "| lines", "| functions", "| the model's", "httptools"))
        and not (line.startswith('  File "') and "crawlers/" not in line)
    ]
    return [re.sub(r"\d+", "N", line) for line in kept]


def test_the_documented_exhibit_is_what_comes_out(ripped: list[Ripped]) -> None:
    """Rebuild with: python -m bench tracebacks --out docs/stack-ripping.md."""
    assert structure(PAGE.read_text()) == structure(exhibit.markdown(ripped))


def test_metrics_tell_the_models_apart() -> None:
    found = models.all_metrics()
    assert found["threads"].suspensions == found["callbacks"].suspensions == 0
    assert found["generators"].suspensions > 0
    assert found["async_await"].suspensions > 0
    assert found["threads"].locks > 0
    assert [m for m, one in found.items() if one.locked] == ["threads"]
    assert found["callbacks"].hand_overs > found["async_await"].hand_overs
    assert found["callbacks"].state > found["threads"].state


def test_only_code_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.py").write_text(
        '"""Docstring."""\n'
        "\n"
        "# A comment.\n"
        "class Slot:\n"
        '    """More."""\n'
        '    __slots__ = ("one", "two")\n'
        "\n"
        "\n"
        "async def wait(loop):\n"
        "    self.lock = Lock()\n"
        "    with self.lock:\n"
        "        loop.call_soon(\n"
        "            wait,\n"
        "        )\n"
        "    await loop\n"
    )
    monkeypatch.setattr(models, "CRAWLERS", tmp_path)
    assert models.metrics("small") == models.Metrics(
        code_lines=9,
        functions=1,
        longest=7,
        suspensions=1,
        hand_overs=1,
        state=2,
        locks=1,
        locked=1,
    )
