"""Progress: what is being measured, and how long the rest will take.

The display is redrawn between trials only. A redraw during a trial would use
the processors that are being measured.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from bench.plan.budget import trial_s
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.plan.workloads import Point
from bench.schema import TrialRecord
from bench.text import minutes

PLAIN_EVERY_S = 15.0


class Estimate:
    """How long the remaining trials will take, learned from those that have run.

    A trial is expected to take as long as earlier ones of the same label at the
    same point, else of any label at that point, else as the plan assumes.
    """

    def __init__(self, points: Mapping[str, Point], slowness: float = 1.0) -> None:
        self._points = points
        self._slowness = slowness
        self._alike: dict[tuple[str, Label], list[float]] = defaultdict(list)
        self._point: dict[str, list[float]] = defaultdict(list)
        self._wall_per_trial_s = 1.0

    def learn(self, record: TrialRecord) -> None:
        """Learn from a trial that has run."""
        if record.status in ("ok", "void"):
            self._alike[record.point, Label.of(record)].append(record.trial_s)
            self._point[record.point].append(record.trial_s)

    def learn_overhead(self, wall_s: float, trials_s: float) -> None:
        """Learn how much longer the campaign has taken than its trials."""
        if trials_s > 0:
            self._wall_per_trial_s = max(1.0, wall_s / trials_s)

    def trial_s(self, turn: Turn) -> float:
        """Seconds that this trial should take."""
        known = self._alike.get((turn.point, turn.label)) or self._point.get(turn.point)
        if known:
            return fmean(known)
        return trial_s(self._points[turn.point], turn.label, self._slowness)

    def left_s(self, turns: Iterable[Turn]) -> float:
        """Seconds that these trials should take, including the time between them."""
        return sum(map(self.trial_s, turns)) * self._wall_per_trial_s


class Display:
    """Progress as a bar on a terminal, or in plain lines elsewhere."""

    def __init__(self, console: Console, total: int, done: int = 0) -> None:
        self.console = console
        self._live = console.is_terminal
        self._began = self._printed = time.monotonic()
        self._total, self._done = total, done
        self._bar = Progress(
            TextColumn(
                "{task.description}", markup=False, table_column=Column(ratio=2, no_wrap=True)
            ),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            MofNCompleteColumn(),
            TextColumn("{task.fields[eta]}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task("starting", total=total, completed=done, eta="")

    def now(self, what: str, left_s: float) -> None:
        """Show what is measured next, and how long everything will still take."""
        elapsed = minutes(time.monotonic() - self._began)
        if self._live:
            self._bar.start()  # only the first call has an effect
            self._bar.update(self._task, description=what, eta=f"{elapsed} < {minutes(left_s)}")
            self._bar.refresh()
        elif time.monotonic() - self._printed >= PLAIN_EVERY_S:
            self._printed = time.monotonic()
            self.console.print(
                f"{elapsed}  {self._done}/{self._total} trials, about {minutes(left_s)} left; "
                f"now {what}",
            )

    def advance(self, record: TrialRecord) -> None:
        """Count a finished trial; report it in a line if it went wrong."""
        self._done += 1
        self._bar.update(self._task, advance=1)
        if record.status != "ok":
            self.note(f"{record.status}: {record.label} on {record.point}: {record.reason}")

    def note(self, text: str) -> None:
        """Print a line that stays on the terminal."""
        self.console.print(text)

    def close(self) -> None:
        """Remove the bar."""
        if self._live:
            self._bar.stop()
