"""Studies: programs that are measured beside the campaigns, each in fresh processes.

A study is a name, the type of what one of its processes saw, and programs. The programs run in
rounds, each round in a random order (:mod:`~bench.study.runner`). What is left to a study itself is
what it starts, what it reads, and what it says: see :mod:`bench.tasks`, :mod:`bench.costs`,
:mod:`bench.claims`, :mod:`bench.fleet`. Here are its record, and what it shows of that.

``NAME.jsonl`` is append-only. A :class:`RunRecord` begins each run, and each process that was
measured adds a :class:`SampleRecord`, which is on the disk before the next one starts. So a crash
loses one sample at most, and a new run never loses an old one: readers take the last. Tables and
charts are made from that file alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import Field, TypeAdapter, model_validator
from rich.console import Console

from bench import BenchError, filesystem, store
from bench.launch import shown
from bench.report.charts import Sheet, designed
from bench.report.files import CHARTS, SUMMARY
from bench.report.tables import section, show
from bench.schema import (
    Amount,
    Change,
    Count,
    Environment,
    Instant,
    Record,
    Status,
    Whole,
    reasoned,
)
from bench.show.figures import Figure
from bench.show.table import Table
from bench.show.words import commit_words, machine_words
from bench.store import StoreError

Part = TypeVar("Part")


class StudyError(BenchError):
    """Nothing can be measured, or a record cannot be read; the message says what to do."""


class RunRecord(Record):
    """One run of a study: when, where, and what it was told."""

    kind: Literal["run"] = "run"
    study: str
    run: str  # "20261121-051200-1a2b3c"
    created: Instant  # ISO 8601, UTC
    command: list[str]
    repeats: Count  # of each program, at most
    settings: dict[str, Whole | Change | str] = Field(default_factory=dict)  # of all its programs
    pinning: dict[str, list[Count] | str | None] = Field(default_factory=dict)
    environment: Environment

    @property
    def stamp(self) -> str:
        """When it was measured, and on what."""
        machine = self.environment
        return f"{self.created[:10]}, {machine.cpu_model or machine.machine}, {machine.python}"

    def differs(self, other: RunRecord) -> list[str]:
        """What makes the samples of two runs differ; empty if one can go on with the other."""
        first, second = self.environment, other.environment
        pairs = {
            "settings": (self.settings, other.settings),
            "interpreter": (first.python, second.python),
            "build of the interpreter": (first.python_build, second.python_build),
            "machine": (first.machine, second.machine),
            "commit": (first.commit, second.commit),
            "packages": (first.packages, second.packages),
        }
        return [what for what, (one, another) in pairs.items() if one != another]


class SampleRecord(Record, Generic[Part]):
    """One program in one round: what its processes saw, or why there is nothing that counts."""

    kind: Literal["sample"] = "sample"
    run: str
    program: str
    repeat: Count  # the round, from 0
    started: str | None = None
    wall_s: Amount | None = None
    status: Status = "ok"
    reason: str | None = None
    part: Part | None = None  # as the study declares it

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        reasoned(self.status, self.reason)
        if self.status == "ok" and self.part is None:
            raise ValueError("ok, but without a part")
        return self


@dataclass(slots=True)
class Run(Generic[Part]):
    """A run with its samples, in the order in which they were taken."""

    head: RunRecord
    samples: list[SampleRecord[Part]] = field(default_factory=list)

    def add(self, sample: SampleRecord[Part]) -> None:
        """One more; it takes the place of one that was taken in vain."""
        again = (sample.program, sample.repeat)
        self.samples = [s for s in self.samples if (s.program, s.repeat) != again]
        self.samples.append(sample)

    def by_program(self) -> dict[str, dict[int, Part]]:
        """Program -> round -> its part, if that counts."""
        parts: dict[str, dict[int, Part]] = {}
        for sample in self.samples:
            if sample.status == "ok" and sample.part is not None:
                parts.setdefault(sample.program, {})[sample.repeat] = sample.part
        return parts

    def reasons(self) -> dict[str, str]:
        """Program -> why it was refused, failed or is void; each reason of it once."""
        reasons_of: dict[str, dict[str, None]] = {}
        for sample in self.samples:
            if sample.status != "ok":
                mark = "" if sample.status == "refused" else f"{sample.status}: "
                reasons_of.setdefault(sample.program, {})[f"{mark}{sample.reason}"] = None
        return {program: "; ".join(reasons) for program, reasons in reasons_of.items()}

    def faults(self) -> list[str]:
        """The same in words: ``trio: trio is not installed``."""
        return [f"{program}: {reason}" for program, reason in self.reasons().items()]

    @property
    def taken(self) -> bool:
        """Whether any program ran, whatever came of it."""
        return any(sample.status != "refused" for sample in self.samples)

    @property
    def bad(self) -> bool:
        """Whether a sample failed or is void. What was refused is no fault."""
        return any(sample.status in ("failed", "void") for sample in self.samples)


def adapter(part: Any) -> TypeAdapter[Any]:  # noqa: ANN401
    """Reads a line of a study whose samples saw this."""
    return TypeAdapter(Annotated[RunRecord | SampleRecord[part], Field(discriminator="kind")])


@dataclass(frozen=True, slots=True)
class Study(Generic[Part]):
    """A study as its readers need it: without anything that measures."""

    name: str  # of the file, too
    what: str  # in sentences
    part: Any  # the type of what one sample saw
    command: str = ""  # that measures it, after ``python -m bench study``; or its name

    def file(self, folder: Path) -> Path:
        return folder / f"{self.name}.jsonl"

    def runs(self, folder: Path) -> list[Run[Part]]:
        """All runs in a folder, or in a file; empty without any.

        Ignores an incomplete last line. Raises :class:`bench.store.StoreError` for a line that is
        no record of this study.
        """
        file = folder if folder.suffix == ".jsonl" else self.file(folder)
        if not file.exists():
            return []
        lines: list[RunRecord | SampleRecord[Part]] = store.load_lines(file, adapter(self.part))[0]
        runs: dict[str, Run[Part]] = {}
        for record in lines:
            if isinstance(record, RunRecord):
                if record.study != self.name:
                    raise StoreError(f"{file}: a record of {record.study}, not of {self.name}")
                runs[record.run] = Run(record)
            elif record.run not in runs:
                raise StoreError(f"{file}: a sample of no run in this file")
            else:
                runs[record.run].add(record)
        return list(runs.values())

    def last(self, folder: Path) -> Run[Part]:
        """The last run. Raises :class:`StudyError` without one."""
        runs = self.runs(folder)
        if not runs:
            raise StudyError(
                f"{shown(self.file(folder))}: no record; measure one with "
                f"python -m bench study {self.command or self.name}"
            )
        return runs[-1]


# --- what is shown ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a study shows of its records."""

    title: str
    about: str  # how it was measured, where and when; Markdown
    tables: Sequence[Table]
    designs: Sequence[Figure | str] = ()  # or why there is none
    backends: Sequence[str] = ()  # in the order that decides on the colours of the charts
    notes: Sequence[str] = ()  # what was not measured, and why

    def excerpt(self, level: int = 3) -> str:
        """The tables, as a document has them."""
        lines = [line for table in self.tables for line in section(table, level)]
        return "\n".join(lines).rstrip()

    def summary(self) -> str:
        parts = [f"# {self.title}", self.about, self.excerpt(2)]
        if self.notes:
            parts += ["## Not measured", "\n".join(f"- {note}" for note in self.notes)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def write(self, folder: Path, console: Console) -> None:
        """Write the summary, draw the charts, and show the tables.

        Raises :class:`bench.BenchError`.
        """
        filesystem.make_folder(folder / CHARTS)
        sheet = Sheet(folder / CHARTS, self.backends, ())
        for design in self.designs:
            if isinstance(design, Figure):
                sheet.draw(design)
        filesystem.write_text(folder / SUMMARY, self.summary())
        for table in self.tables:
            show(table, console)
        for note in self.notes:
            console.print(f"not measured: {note}")
        console.print(f"summary and charts: {folder}")


def drawn(figure: Figure, source: str, head: RunRecord) -> Figure:
    """A figure with its origin below it: when its numbers were taken, where, and by what."""
    below = (
        machine_words(head.environment, head.created),
        f"{source} · commit {commit_words(head.environment)}",
    )
    return replace(designed(figure), footer=below)
