"""What is being measured now, and how long it will take.

The display is redrawn between trials only: a redraw during one would run on
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

from bench.order import Turn
from bench.schema import TrialRecord
from bench.workloads import Point

PLAIN_EVERY_S = 15.0


class Estimate:
    """How long the trials to come will take, learned from those that were.

    A trial is expected to last as long as its like did: the same label on the
    same point, else any label on that point, else the point's first guess.
    """

    def __init__(self, points: Mapping[str, Point]) -> None:
        self._points = points
        self._alike: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._point: dict[str, list[float]] = defaultdict(list)
        self._wall_per_trial_s = 1.0

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that was run."""
        if record.status in ("ok", "void"):
            self._alike[record.point, record.label].append(record.trial_s)
            self._point[record.point].append(record.trial_s)

    def learn_overhead(self, wall_s: float, trials_s: float) -> None:
        """Take in how much longer than its trials the campaign took so far."""
        if trials_s > 0:
            self._wall_per_trial_s = max(1.0, wall_s / trials_s)

    def trial_s(self, turn: Turn) -> float:
        """Seconds that this trial should take."""
        known = self._alike.get((turn.point, turn.label)) or self._point.get(turn.point)
        return fmean(known) if known else self._points[turn.point].expected_s

    def left_s(self, turns: Iterable[Turn]) -> float:
        """Seconds until these trials are done, the time between trials included."""
        return sum(map(self.trial_s, turns)) * self._wall_per_trial_s


def minutes(seconds: float) -> str:
    """``3:07``."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


class Display:
    """Progress on a terminal, or in plain lines where there is none."""

    def __init__(self, console: Console, total: int, done: int = 0) -> None:
        self.console = console
        self._live = console.is_terminal
        self._began = self._said = time.monotonic()
        self._total, self._done = total, done
        self._bar = Progress(
            TextColumn("{task.description}", table_column=Column(ratio=2, no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            MofNCompleteColumn(),
            TextColumn("{task.fields[eta]}"),
            console=console,
            auto_refresh=False,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task("starting", total=total, completed=done, eta="")

    def now(self, what: str, left_s: float) -> None:
        """Say what is measured from here on, and how long everything will still take."""
        elapsed = minutes(time.monotonic() - self._began)
        if self._live:
            self._bar.start()  # does nothing from the second time on
            self._bar.update(self._task, description=what, eta=f"{elapsed} < {minutes(left_s)}")
            self._bar.refresh()
        elif time.monotonic() - self._said >= PLAIN_EVERY_S:
            self._said = time.monotonic()
            self.console.print(
                f"{elapsed}  {self._done}/{self._total} trials, about {minutes(left_s)} left; "
                f"now {what}",
                highlight=False,
            )

    def advance(self, record: TrialRecord) -> None:
        """Count a trial that is done; say so in a line if it went wrong."""
        self._done += 1
        self._bar.update(self._task, advance=1)
        if record.status != "ok":
            self.note(f"{record.status}: {record.label} on {record.point}: {record.reason}")

    def note(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        """Take the bar away."""
        if self._live:
            self._bar.stop()
