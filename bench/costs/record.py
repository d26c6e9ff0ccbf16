"""Counted crawls: ``costs.jsonl``, and costs per page from it.

The first line says what was planned, each further one is a sample. While crawls are counted, the
lines are appended to ``costs.part.jsonl``; the record takes its place when all are there. So a
crash loses at most what was being counted, and no older record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from bench import filesystem
from bench.errors import BenchError
from bench.launch import shown
from bench.machine.instruments import SYSCALL, SYSCALLS
from bench.schema import Environment, Record
from bench.store import Log, load_lines
from bench.text import plural

FILE_NAME = "costs.jsonl"
PART_NAME = "costs.part.jsonl"
VERSION = 1

Key = tuple[str, str, str, int]
"""Of a sample: backend, workload, instrument, hash seed."""


class CostsError(BenchError):
    """Costs cannot be counted, read or compared; the message says why and what to do."""


class CrawlError(Exception):
    """A crawl or a load gave no counts; the message says why. ``void``: it did not fail, but it was
    wrong."""

    def __init__(self, reason: str, *, void: bool = False) -> None:
        super().__init__(reason)
        self.void = void


class Header(Record):
    kind: Literal["costs"] = "costs"
    version: int = VERSION
    created: str
    command: list[str]
    environment: Environment
    pages: int  # N; each sample is the difference between crawls of N and of 2 N pages
    slots: int
    seeds: list[int]  # of the hashes of strings
    tools: dict[str, str]  # instrument -> "valgrind 3.19.0"
    missing: dict[str, str] = Field(default_factory=dict)  # instrument -> reason
    absent: dict[str, str] = Field(default_factory=dict)  # backend that cannot run -> reason

    @property
    def stamp(self) -> str:
        """When and on which interpreter: every table, chart and block says it."""
        return f"Counted on {self.created[:10]} with {self.environment.python}"


class Sample(Record):
    """One backend on one workload with one hash seed under one instrument: two crawls.

    ``counts`` has the two totals of each cost; it is empty unless ``status`` is ok. ``pages``
    lie between them: None for as many as the header says.
    """

    kind: Literal["sample"] = "sample"
    backend: str
    workload: str
    instrument: str
    seed: int
    status: Literal["ok", "void", "failed"]
    reason: str | None = None
    pages: int | None = None
    counts: dict[str, tuple[int, int]] = Field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What makes it what it is: no other sample of a record has the same."""
        return self.backend, self.workload, self.instrument, self.seed


@dataclass(frozen=True, slots=True)
class Costs:
    header: Header
    samples: tuple[Sample, ...]


# --- the file --------------------------------------------------------------------------------

LINES: TypeAdapter[Header | Sample] = TypeAdapter(
    Annotated[Header | Sample, Field(discriminator="kind")]
)


def load(path: Path) -> Costs:
    """The record in a file or folder. Raises :class:`bench.errors.BenchError`."""
    file = path / FILE_NAME if path.is_dir() else path
    lines, _ = load_lines(file, LINES)
    if not lines or not isinstance(lines[0], Header):
        raise CostsError(f"{file}: not a record of costs")
    return Costs(lines[0], tuple(line for line in lines if isinstance(line, Sample)))


def save(costs: Costs, folder: Path) -> None:
    lines = [costs.header.model_dump_json(), *(s.model_dump_json() for s in costs.samples)]
    filesystem.write_text(folder / FILE_NAME, "\n".join(lines) + "\n")


def begin(folder: Path, header: Header, *, resume: bool) -> tuple[Log, Costs]:
    """The log of a record that is being made, and what it has.

    Raises :class:`CostsError` where an unfinished one would be lost, where there is none to
    resume, and where it was counted differently.
    """
    path = folder / PART_NAME
    if path.exists() is not resume:
        raise CostsError(
            f"{shown(path)}: nothing to resume; start without --resume"
            if resume
            else f"{shown(path)} is unfinished: continue with --resume, or delete it"
        )
    filesystem.make_folder(folder)
    if not resume:
        log = Log(path, create=True)
        log.append(header)
        return log, Costs(header, ())
    found = load(path)
    if what := differences(found.header, header):
        raise CostsError(
            f"{shown(path)} was counted differently ({', '.join(what)}); delete it to start "
            "from the beginning"
        )
    return Log(path, create=False), found


def differences(a: Header, b: Header) -> list[str]:
    """What makes the counts of two records differ; empty if one can go on with the other."""
    first, second = a.environment, b.environment
    pairs = {
        "pages": (a.pages, b.pages),
        "slots": (a.slots, b.slots),
        "tools": (a.tools, b.tools),
        "interpreter": (first.python, second.python),
        "build of the interpreter": (first.python_build, second.python_build),
        "machine": (first.machine, second.machine),
        "commit": (first.commit, second.commit),
        "packages": (first.packages, second.packages),
    }
    return [what for what, (one, other) in pairs.items() if one != other]


# --- costs per page --------------------------------------------------------------------------

STOPS: Final = "strace"
"""The tool that stops a thread at each of its calls."""
LOCK: Final = f"{SYSCALL}futex"
MEETS: Final = 0.5
"""Backends whose threads wait for one another this often a page have several that work."""
SHADOW: Final = (
    "strace stops a thread at each of its calls, so several threads meet at the interpreter's lock "
    "far more often than at full speed"
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a page takes of one thing: the median over samples, and the range."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Account:
    """The costs of one backend on one workload, per page."""

    backend: str
    workload: str
    costs: Mapping[str, Cost]
    bad: tuple[str, ...]  # why samples do not count
    untold: str | None = None  # why system calls were counted and are not told
    python: str = ""  # the interpreter that was counted

    def calls(self) -> dict[str, Cost]:
        """The system calls by name, without those that pages do not make."""
        return {
            name.removeprefix(SYSCALL): cost
            for name, cost in self.costs.items()
            if name.startswith(SYSCALL) and abs(cost.middle) >= 0.0005
        }


def per_page(sample: Sample, pages: int) -> dict[str, float]:
    """What start, warm-up and end take is in both totals, so it cancels.

    ``pages`` is the record's number, for a sample that has none of its own.
    """
    pages = sample.pages or pages
    return {cost: (large - small) / pages for cost, (small, large) in sample.counts.items()}


def account(samples: Iterable[Sample], header: Header, workload: str, backend: str) -> Account:
    values: dict[str, list[float]] = {}
    taken: dict[str, int] = {}
    bad = []
    of_sample: dict[str, str] = {}
    for sample in samples:
        if sample.status != "ok":
            bad.append(f"{sample.instrument}, seed {sample.seed}: {sample.status}: {sample.reason}")
            continue
        taken[sample.instrument] = taken.get(sample.instrument, 0) + 1
        for name, value in per_page(sample, header.pages).items():
            values.setdefault(name, []).append(value)
            of_sample[name] = sample.instrument
    costs = {}
    for name, found in values.items():
        # A system call that some samples did not make at all.
        found += [0.0] * (taken[of_sample[name]] - len(found))
        costs[name] = Cost(median(found), min(found), max(found))
    middles = {name: cost.middle for name, cost in costs.items()}
    untold = shadow(middles, header.tools.get("system calls", ""))
    if untold:
        costs = {k: v for k, v in costs.items() if k != SYSCALLS and not k.startswith(SYSCALL)}
    python = header.environment.python
    return Account(backend, workload, costs, tuple(bad), untold, python)


def shadow(per_page: Mapping[str, float], tool: str = STOPS) -> str | None:
    """Why system calls are the tracer's more than the backend's; None where they are its own.

    This is the one rule: every table, card and slide shows what an :class:`Account` has.
    """
    return SHADOW if tool.startswith(STOPS) and per_page.get(LOCK, 0.0) >= MEETS else None


def accounts(costs: Costs) -> list[Account]:
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in costs.samples:
        found.setdefault((sample.workload, sample.backend), []).append(sample)
    return [account(samples, costs.header, *place) for place, samples in found.items()]


def seed_words(costs: Costs) -> str:
    """Over how many hash seeds the ranges are: "3 hash seeds", "1 to 3 hash seeds"."""
    seeds: dict[tuple[str, str, str], set[int]] = {}
    for sample in costs.samples:
        if sample.status == "ok":
            place = (sample.workload, sample.backend, sample.instrument)
            seeds.setdefault(place, set()).add(sample.seed)
    numbers = {len(found) for found in seeds.values()} or {0}
    least, most = min(numbers), max(numbers)
    return plural(most, "hash seed") if least == most else f"{least} to {most} hash seeds"
