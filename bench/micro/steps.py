"""The progress of ``python -m bench micro``."""

from __future__ import annotations

from rich.console import Console

from bench.terminal import bar


class Steps:
    """Progress, redrawn between steps only; plain lines without a terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self.console = console
        self._bar = bar(console)
        self._task = self._bar.add_task("starting", total=total)
        self._phase = ""

    def __enter__(self) -> Steps:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def expect(self, more: int) -> None:
        """Add steps to the total."""
        self._bar.update(self._task, total=(self.progress[1] or 0) + more)

    def now(self, phase: str, what: str = "") -> None:
        """Show what is measured from here on."""
        if self.console.is_terminal:
            self._bar.update(self._task, description=f"{phase} {what}".rstrip())
            self._bar.refresh()
        elif phase != self._phase:
            self._phase = phase
            self.console.print(phase)

    @property
    def progress(self) -> tuple[float, float | None]:
        """The steps done, and the total."""
        task = self._bar.tasks[self._task]
        return task.completed, task.total

    def done(self) -> None:
        """One step is done."""
        self._bar.advance(self._task)
