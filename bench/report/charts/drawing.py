"""From designs to files: every theme, shape and format, in several processes where that pays.

A process draws whole charts, so the files are the same to the byte however many share
the work. The processes are spawned rather than forked: forking is unsafe once a library
has started threads.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Final

from bench import filesystem
from bench.palette import Theme
from bench.report.charts.design import Chart, Design, Skip
from bench.report.charts.look import Format, Look, Shape, style
from bench.report.charts.slide import Position

FEWEST: Final = 4
"""Charts that make up for the two seconds a process takes to start and import matplotlib."""


@dataclass(frozen=True)
class Sheet:
    """Where charts go, and what they have in common."""

    folder: Path
    backends: Sequence[str]  # in the order that decides on their colours
    footer: Sequence[str]
    formats: Sequence[Format] = ("svg", "png")
    themes: Sequence[Theme] = ("light", "dark")
    shapes: Sequence[Shape] = ("wide",)

    def draw(self, design: Design | Skip) -> Chart:
        """Draw one chart and write its alt text beside it.

        Every file is complete or as it was. Raises :class:`bench.filesystem.FileError`.
        """
        if isinstance(design, Skip):
            return Chart(design.name, design.title, "", {}, design.reason)
        filesystem.write_text(self.folder / f"{design.name}.txt", f"{design.alt}\n")
        files: dict[str, Path] = {}
        for shape in self.shapes:
            positions: Sequence[Position] | None = None
            for theme in self.themes:
                look = Look(theme, shape, self.backends)
                with style(look):
                    slide = design.slide(look, self.footer, positions)
                    positions = slide.positions
                    for kind in self.formats:
                        path = self.folder / file_name(design.name, kind, theme, shape)
                        slide.save(path, kind)
                        files[f"{kind}/{theme}/{shape}"] = path
        return Chart(design.name, design.headline, design.alt, files)


def file_name(name: str, kind: str, theme: str, shape: str) -> str:
    """``throughput.svg``, ``throughput-dark.svg``, ``throughput-square-dark.png``."""
    parts = [name]
    if shape != "wide":
        parts.append(shape)
    if theme != "light":
        parts.append(theme)
    return f"{'-'.join(parts)}.{kind}"


def processes_for(charts: int) -> int:
    """How many processes draw so many charts soonest."""
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    return max(1, min(processors, charts // FEWEST))


def draw_all(sheet: Sheet, designs: Iterable[Design | Skip], processes: int = 1) -> list[Chart]:
    """Draw charts and return them in their order; with one process, in this one.

    Drawing starts while later designs are still being made. Ctrl-C waits for the charts
    in hand and draws no more.
    """
    if processes < 2:
        return [sheet.draw(design) for design in designs]
    designs = iter(designs)
    taken: list[Design | Skip] = []

    def take() -> Iterator[Design | Skip]:
        for design in designs:
            taken.append(design)
            yield design

    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_start)
    try:
        for _ in range(processes):
            pool.submit(_nothing)  # the processes start now, not with the first design
        return list(pool.map(sheet.draw, take()))
    except BrokenProcessPool:
        # The system may have killed a process to get its memory.
        return [sheet.draw(design) for design in (*taken, *designs)]
    finally:
        pool.shutdown(cancel_futures=True)


def _nothing() -> None:
    pass


def _start() -> None:
    """Leave Ctrl-C to the parent, and end when the parent is gone, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
