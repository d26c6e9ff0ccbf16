"""From designs to files: the same bytes, from however many processes."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from bench.filesystem import FileError
from bench.launch import ROOT
from bench.palette import Theme
from bench.report.charts import Chart, Design, Sheet, Skip, render_all
from bench.report.charts.drawing import draw_all, processes_for
from bench.report.charts.look import Format, Look, style
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import designs, made, standard, unequal, whole
from tests.bench.small import all_gone


def test_themes_shapes_and_formats(tmp_path: Path) -> None:
    found = render_all(
        synthetic.analysed(made()),
        tmp_path,
        formats=("svg", "png", "pdf"),
        themes=("light", "dark"),
        shapes=("wide", "square"),
        only=("throughput",),
    )
    assert len(found) == 1
    names = {p.name for p in found[0].files.values()}
    assert names == {
        f"throughput{shape}{theme}.{kind}"
        for shape, theme, kind in itertools.product(
            ("", "-square"), ("", "-dark"), ("svg", "png", "pdf")
        )
    }
    head = (tmp_path / "throughput.png").read_bytes()[16:24]
    assert (int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")) == (2560, 1440)
    head = (tmp_path / "throughput-square.png").read_bytes()[16:24]
    assert head[:4] == head[4:]


@pytest.mark.slow
def test_same_records_same_bytes(tmp_path: Path) -> None:
    names = ("memory", "noise")
    for run in ("a", "b"):
        render_all(
            synthetic.analysed(made()), tmp_path / run, formats=("svg", "png", "pdf"), only=names
        )
    first = sorted((tmp_path / "a").iterdir())
    assert len(first) == 4 * len(names), "three pictures and their words"
    for path in first:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_a_chart_from_elsewhere_is_drawn_like_all_others(tmp_path: Path) -> None:
    design = designs(made())["throughput"]
    further = [dataclasses.replace(design, name="elsewhere"), Skip("none", "Nothing", "no data")]
    found = render_all(
        synthetic.analysed(made()), tmp_path, ("svg",), only=("cpu",), further=further
    )
    assert [chart.name for chart in found] == ["cpu", "elsewhere", "none"]
    assert list(found[1].files.values()) == [tmp_path / "elsewhere.svg"]
    assert (tmp_path / "elsewhere.txt").read_text() == f"{design.alt}\n"
    assert found[2].skipped == "no data"


def test_every_design_can_be_sent_to_another_process() -> None:
    for name, design in standard().items():
        again = pickle.loads(pickle.dumps(design))
        assert again.alt == design.alt, name


def test_another_process_draws_the_same_bytes(drawn: Mapping[str, Chart], tmp_path: Path) -> None:
    names = ("throughput", "cpu", "noise")
    analysis = synthetic.analysed(unequal(whole()))
    found = render_all(analysis, tmp_path, formats=("svg",), only=names, processes=2)
    assert [chart.name for chart in found] == list(names)
    for chart in found:
        for what, path in chart.files.items():
            assert path.read_bytes() == drawn[chart.name].files[what].read_bytes(), what
    assert [child for child in psutil.Process().children() if _draws(child)] == []


def _draws(process: psutil.Process) -> bool:
    return any("spawn_main" in word for word in process.cmdline())


def test_a_layout_holds_in_the_other_theme() -> None:
    """Themes differ in colours alone, so the dark slide takes the light one's positions."""
    design = designs(made())["memory"]
    found = []
    themes: tuple[Theme, ...] = ("light", "dark")
    for theme in themes:
        look = Look(theme, "wide", synthetic.MODELS)
        with style(look):
            found.append(design.slide(look).positions)
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_failure_in_another_process_is_raised_here(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sheet = Sheet(tmp_path / "file", synthetic.MODELS, ())
    with pytest.raises(FileError, match="file: File exists"):
        draw_all(sheet, [designs(made())["cpu"]], processes=2)


@pytest.mark.slow
def test_what_a_broken_pool_left_is_drawn_here(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path, synthetic.MODELS, (), formats=("svg",), themes=("light",))
    cpu = designs(made())["cpu"]
    end = dataclasses.replace(cpu, name="end", draw=_EndOnce(os.getpid(), cpu))
    found = draw_all(sheet, iter([cpu, end, Skip("none", "None", "no data")]), processes=2)
    assert [chart.name for chart in found] == ["cpu", "end", "none"]
    assert (tmp_path / "end.svg").stat().st_size > 5000


@dataclasses.dataclass(frozen=True)
class _EndOnce:
    """Draws in one process, and ends any other, as the kernel does when memory is short."""

    here: int
    design: Design

    def __call__(self, slide: object) -> None:
        if os.getpid() != self.here:
            os._exit(9)
        self.design.draw(slide)  # type: ignore[arg-type]


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
        *(("svg", 1, "cpu.txt"), ("svg", 1000, "cpu.svg"), ("svg", 5000, "cpu.svg")),
        *(("png", 5000, "cpu.png"), ("pdf", 5000, "cpu.pdf")),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_a_full_disk_leaves_whole_charts(
    kind: Format, room: int, fails: str, before: bool, tmp_path: Path
) -> None:
    """An empty or torn drawing was left, over one that was whole."""
    if before:
        (tmp_path / fails).write_text("whole")
    sheet = Sheet(tmp_path, synthetic.MODELS, (), formats=(kind,), themes=("light",))
    design = designs(made())["cpu"]
    with full_disk(room), pytest.raises(FileError, match=f"{fails}: File too large"):
        sheet.draw(design)
    found = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert found.pop(fails, "nothing") == ("whole" if before else "nothing")
    assert set(found) <= {"cpu.txt"}
    assert all(text.endswith("\n") for text in found.values())


def test_few_charts_are_not_worth_a_process() -> None:
    assert processes_for(1) == processes_for(7) == 1
    assert processes_for(18) >= 1


SCRIPT = """
import time
from pathlib import Path
from bench.report.charts.drawing import Sheet, draw_all
from bench.report.charts.design import Skip

def endless():
    while True:
        print("made", flush=True)
        time.sleep(0.2)
        yield Skip("none", "None", "no data")

if __name__ == "__main__":
    draw_all(Sheet(Path("."), (), ()), endless(), 2)
"""


@pytest.fixture
def drawing(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A program that draws in two processes without end, and these processes."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True
    )
    with started:
        assert started.stdout
        children: list[psutil.Process] = []
        for _ in started.stdout:
            children = [c for c in psutil.Process(started.pid).children() if _draws(c)]
            if len(children) == 2:
                break
        yield started, children
        started.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.slow
def test_no_process_outlives_its_parent(
    drawing: tuple[subprocess.Popen[str], list[psutil.Process]], number: signal.Signals
) -> None:
    started, children = drawing
    started.send_signal(number)
    started.wait(300)
    assert all_gone(children)
