"""Live progress of a crawl on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text


class LiveRecorder:
    """A recorder that counts, and shows the count four times a second while entered.

    It shows a rate but no ETA: the number of pages to come is unknown until the
    crawl is over.
    """

    def __init__(self, title: str, *, enabled: bool) -> None:
        self.answered = 0
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            _Count(self),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not enabled,
        )
        self._progress.add_task(title, total=None)

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Count one answered exchange."""
        self.answered += 1

    def __enter__(self) -> LiveRecorder:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


class _Count(ProgressColumn):
    """``1,234 answered, 567/s``."""

    def __init__(self, recorder: LiveRecorder) -> None:
        super().__init__()
        self._recorder = recorder

    def render(self, task: Task) -> Text:
        """Draw the count."""
        answered = self._recorder.answered
        rate = answered / task.elapsed if task.elapsed else 0.0
        return Text(f"{answered:,} answered, {rate:,.0f}/s")
