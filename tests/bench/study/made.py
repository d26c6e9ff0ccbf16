"""Made-up runs: what the programs of a study saw, or why nothing counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bench.claims.experiments import ExperimentResult
from bench.claims.verdict import STUDY
from bench.study import Run, RunRecord, SampleRecord, Study
from tests.bench.synthetic import environment

Part = TypeVar("Part")


def run(study: Study[Part], samples: Iterable[SampleRecord[Part]], **changes: Any) -> Run[Part]:
    """A run with these samples; ``changes`` are fields of its head."""
    usual = {
        "study": study.name,
        "run": "one",
        "created": "2026-11-25T02:00:00.000+00:00",
        "command": ["bench", "study"],
        "repeats": 6,
        "environment": environment(),
    }
    return Run(RunRecord.model_validate(usual | changes), list(samples))


def samples(
    parts: Mapping[str, Sequence[Part]], lost: Mapping[str, tuple[str, str]] | None = None
) -> list[SampleRecord[Part]]:
    """Program -> its part in each round; those that are lost have status and reason.

    These come in the round after those that count: one round has one sample.
    """
    every: list[tuple[str, int, dict[str, Any]]] = [
        (program, repeat, {"part": part})
        for program, found in parts.items()
        for repeat, part in enumerate(found)
    ]
    every += [
        (program, len(parts.get(program, ())), {"status": status, "reason": reason})
        for program, (status, reason) in (lost or {}).items()
    ]
    return [
        SampleRecord(run="one", program=program, repeat=repeat, **more)
        for program, repeat, more in every
    ]


def experiments(values: dict[str, list[float]], **changes: Any) -> list[Run[ExperimentResult]]:
    """A run whose experiments found these values, one per repeat. Names are EXPERIMENT.VALUE."""
    found = [
        sample.model_copy(update={"program": name.partition(".")[0]})
        for name, numbers in values.items()
        for sample in samples(
            {name: [ExperimentResult({name.partition(".")[2]: number}) for number in numbers]}
        )
    ]
    return [run(STUDY, found, **changes)]


def kept(study: Study[Any], folder: Path, *runs: Run[Any]) -> Path:
    """The file of a study in a folder, with these runs."""
    records = (record for run in runs for record in (run.head, *run.samples))
    file = study.file(folder)
    file.write_text("".join(record.model_dump_json() + "\n" for record in records))
    return file
