"""From designs to files: the same bytes every time."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from bench.filesystem import FileError
from bench.report.charts import Sheet, render_all
from bench.report.charts.look import Format
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import designs, made


@pytest.mark.slow
def test_formats(tmp_path: Path) -> None:
    formats: list[Format] = ["svg", "png"]
    (found,) = render_all(synthetic.analysed(made()), tmp_path, formats, only=("throughput",))
    assert {p.name for p in found.files.values()} == {f"throughput.{kind}" for kind in formats}
    head = (tmp_path / "throughput.png").read_bytes()[16:24]
    assert (int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")) == (2560, 1440)


@pytest.mark.slow
def test_same_records_same_bytes(tmp_path: Path) -> None:
    names = ("memory", "throughput")
    for run in ("a", "b"):
        render_all(synthetic.analysed(made()), tmp_path / run, only=names)
    first = sorted((tmp_path / "a").iterdir())
    assert len(first) == 3 * len(names), "two pictures and their words"
    for path in first:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


slow = partial(pytest.param, marks=pytest.mark.slow)


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """No file may become longer than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("kind", "room", "fails"),
    [
        *(("svg", 1, "cpu.txt"), ("svg", 5000, "cpu.svg")),
        *(slow("svg", 1000, "cpu.svg"), slow("png", 5000, "cpu.png")),
    ],
)
@pytest.mark.parametrize("before", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_full_disk_leaves_whole_charts(
    kind: Format, room: int, fails: str, before: bool, tmp_path: Path
) -> None:
    """An empty or torn drawing was left, over one that was whole."""
    if before:
        (tmp_path / fails).write_text("whole")
    sheet = Sheet(tmp_path, synthetic.MODELS, (), formats=(kind,))
    design = designs(made())["cpu"]
    with full_disk(room), pytest.raises(FileError, match=f"{fails}: File too large"):
        sheet.draw(design)
    found = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert found.pop(fails, "nothing") == ("whole" if before else "nothing")
    assert set(found) <= {"cpu.txt"}
    assert all(text.endswith("\n") for text in found.values())
