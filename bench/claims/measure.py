"""The experiments as a study: ``experiments.jsonl`` beside the trials of a campaign.

For each experiment, the last run that includes it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from bench.claims.experiments import EXPERIMENTS, ExperimentResult, main, running
from bench.machine import cpu
from bench.study.record import Run, Study, StudyError
from bench.study.runner import Process, Program

STUDY: Final[Study[ExperimentResult]] = Study(
    "experiments", "experiments", ExperimentResult, command="claims --measure"
)
REPEATS: Final = 10

ExperimentRuns = Sequence[Run[ExperimentResult]]
"""All runs beside a campaign."""


def latest(runs: ExperimentRuns, experiment: str) -> Run[ExperimentResult] | None:
    """The last run with this experiment."""
    of_it = (run for run in reversed(runs) if any(s.program == experiment for s in run.samples))
    return next(of_it, None)


def programs(names: Sequence[str] | None) -> list[Program[ExperimentResult]]:
    """The experiments with these names; all of them by default.

    Raises :class:`bench.study.record.StudyError` for one that does not exist.
    """
    for name in names or ():
        if name not in EXPERIMENTS:
            raise StudyError(f"no experiment {name!r}: choose from {', '.join(EXPERIMENTS)}")
    return [
        Program(name, partial(measure, name), rounds=rounds)
        for name, (_, rounds) in EXPERIMENTS.items()
        if not names or name in names
    ]


def measure(name: str, _: int) -> ExperimentResult:
    """One run of an experiment in a fresh process. Raises :class:`bench.study.runner.Lost`."""
    with Process(f"the experiment {name}", [*running(main), name], cpu.split_cores().client) as it:
        return ExperimentResult(**it.answer())
