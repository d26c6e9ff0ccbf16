"""The fleet's progress: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console

from bench.run.progress import PLAIN_EVERY_S
from bench.terminal import bar
from bench.text import minutes


class Progress:
    """Phases, and how far each has come."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live = console.is_terminal
        self._bar = bar(console)
        self._task = self._bar.add_task("", total=None)
        self._what, self._total = "", 0
        self._began = self._printed = time.monotonic()

    def phase(self, what: str, total: int | None = None) -> None:
        """Start a phase."""
        self._what, self._total = what, total or 0
        if self._live:
            self._bar.start()
            self._bar.reset(self._task, description=what, total=total)
            self._bar.refresh()

    def to(self, done: int) -> None:
        """Update the phase."""
        if self._live:
            self._bar.update(self._task, completed=done)
            self._bar.refresh()
        elif time.monotonic() - self._printed >= PLAIN_EVERY_S:
            self._printed = time.monotonic()
            elapsed = minutes(self._printed - self._began)
            self.console.print(f"{elapsed}  {self._what}: {done:,} of {self._total:,}")

    def close(self) -> None:
        """Remove the bar."""
        if self._live:
            self._bar.stop()
