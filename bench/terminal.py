"""What people see: safe text on the terminal, and a standard output that may fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment

from bench.text import printable
from crawlers.terminal import forget_impossible_size


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


def bar(console: Console) -> Progress:
    """How far something is, and what is left; drawn on updates only, never by a timer."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=False,
        transient=True,
    )


class Output:
    """A standard output that reports an error once, at the end, and goes quiet until then.

    A full disk or a closed terminal must not end a campaign in a traceback, nor lose its last
    record. A reader that went away (``| head``) does end it: BrokenPipeError passes.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write, or remember why not."""
        try:
            return self.stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._silence(error)
            return len(text)

    def flush(self) -> None:
        """Flush, or remember why not."""
        try:
            self.stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._silence(error)

    def _silence(self, error: OSError) -> None:
        self.error = error
        discard(self.stream)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.stream, name)


def discard(stream: TextIO) -> None:
    """Send what is still buffered, and all that follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    with suppress(OSError):
        stream.flush()


def prepare_streams() -> Output:
    """Make the standard streams safe to print to; returns the new ``sys.stdout``.

    A closed one becomes /dev/null: otherwise the next file opened, such as the records, would
    take its number and be printed into. Characters that the locale cannot show are escaped.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        cast("Any", stream).reconfigure(errors="backslashreplace")
    output = Output(sys.stdout)
    sys.stdout = cast("TextIO", output)
    return output
