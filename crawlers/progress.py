"""Live progress of a crawl on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

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

from crawlers.frontier import Frontier
from crawlers.job import Fetch, PageResult


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


@contextmanager
def watched(show: Callable[[str, PageResult], None], *, enabled: bool) -> Iterator[None]:
    """Call ``show`` with each outcome as it comes, in crawls of this process.

    It wraps :meth:`Frontier.settle` meanwhile, so a crawl that nobody watches pays nothing. A
    reader who has gone is no reason to end a crawl.
    """
    usual = Frontier.settle

    def settle(frontier: Frontier, fetch: Fetch, page: PageResult, now: float) -> None:
        usual(frontier, fetch, page, now)
        if frontier.rows.get(fetch.url) is page:
            with suppress(OSError):
                show(fetch.url, page)

    if enabled:
        Frontier.settle = settle  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Frontier.settle = usual  # type: ignore[method-assign]


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
