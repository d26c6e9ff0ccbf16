"""What people see: safe text on the terminal, and a standard output that may fail."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.segment import Segment
from rich.table import Column

from bench.text import minutes, printable
from crawlers.terminal import discard, forget_impossible_size, open_closed_streams


class Terminal(Console):
    """A console that shows text as it is: no markup, emoji, coloured numbers or control codes.

    Reasons, file names and messages of exceptions may hold square brackets or an escape sequence.
    Where you want a style, print a :class:`rich.text.Text`.
    """

    def __init__(self, file: TextIO | None = None, *, stderr: bool = False) -> None:
        forget_impossible_size()
        super().__init__(file=file, stderr=stderr, emoji=False, highlight=False, markup=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, with control characters made visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


PLAIN_EVERY_S = 15.0


class Phases:
    """Phases, and how far each has come: a bar on a terminal, or a line every 15 s elsewhere.

    It is drawn on calls only, never by a timer: that would use the processors that are measured.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar = Progress(
            TextColumn(
                "{task.description}", markup=False, table_column=Column(ratio=2, no_wrap=True)
            ),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            MofNCompleteColumn(),
            TextColumn("{task.fields[clock]}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task("", total=None, clock="")
        self._what, self._total = "", 0
        self._began = self._printed = time.monotonic()

    def phase(self, what: str, total: int | None = None) -> None:
        """Begin one; says how to stop it where Ctrl-C does nothing."""
        self._what, self._total = what, total or 0
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts a job with &
            self.console.print(
                f"Ctrl-C is ignored, as in the background; to stop: kill {os.getpid()}"
            )
        if self.console.is_terminal:
            self._bar.start()
            self._bar.reset(self._task, description=what, total=total)
            self._bar.refresh()

    def to(self, done: int, doing: str = "", left_s: float | None = None) -> None:
        """So much is done; ``doing`` names what comes next, ``left_s`` is the time for the rest."""
        what = f"{self._what} {doing}".strip()
        now = time.monotonic()
        clock = minutes(now - self._began)
        left = "" if left_s is None else minutes(left_s)
        if self.console.is_terminal:
            text = f"{clock} < {left}" if left else clock
            self._bar.update(self._task, completed=done, description=what, clock=text)
            self._bar.refresh()
        elif now - self._printed >= PLAIN_EVERY_S:
            self._printed = now
            self.console.print(
                f"{clock}  {what}: {done:,} of {self._total:,}" + (left and f", about {left} left")
            )

    def close(self) -> None:
        if self.console.is_terminal:
            self._bar.stop()


class Output:
    """A standard stream that reports an error once, at the end, and goes quiet until then.

    A full disk or a closed terminal must not end a campaign in a traceback, nor lose its last
    record. A reader that went away (``| head``) does end it: BrokenPipeError passes.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        with self._noting():
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._noting():
            self.stream.flush()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            self.error = error
            discard(self.stream)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.stream, name)


def prepare_streams() -> Output:
    """Make the standard streams safe to print to; returns the new ``sys.stdout``.

    A closed one becomes /dev/null: otherwise the next file opened, such as the records, would
    take its number and be printed into. Characters that the locale cannot show are escaped.
    """
    open_closed_streams()
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        cast("Any", stream).reconfigure(errors="backslashreplace")
    output = Output(sys.stdout)
    sys.stdout = cast("TextIO", output)
    sys.stderr = cast("TextIO", Output(sys.stderr))
    return output
