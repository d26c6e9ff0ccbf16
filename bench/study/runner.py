"""Runs the programs of a study in rounds, and keeps a sample of each on the disk.

A round has every program once, in a random order, which spreads a slow minute of the machine over
all of them. A program that fails is a sample that says so, and the others go on.
"""

from __future__ import annotations

import json
import random
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Generic

from rich.console import Console

from bench.launch import ROOT
from bench.machine import cpu, environment
from bench.run.runner import own_command
from bench.schema import Status
from bench.sides.process import Child, ProcessError, deferred, without_huge_pages
from bench.sides.servers import ServerError
from bench.store import Log
from bench.study import Part, RunRecord, SampleRecord, Study, StudyError
from bench.terminal import Phases
from bench.text import now

SEED: Final = 1
"""Of the order in each round."""


class Lost(Exception):
    """A program gave nothing that counts; the message says why.

    ``void``: it did not fail, but what it did was wrong. It may leave a part to look at.
    """

    def __init__(self, reason: str, *, void: bool = False, part: object = None) -> None:
        super().__init__(reason)
        self.status: Status = "void" if void else "failed"
        self.part = part


@dataclass(frozen=True, slots=True)
class Program(Generic[Part]):
    """What runs once in each round."""

    name: str
    measure: Callable[[int], Part]  # of a round; raises Lost
    refused: str | None = None  # why it cannot run here
    rounds: int | None = None  # at most; None: as many as asked for


def run(
    study: Study[Part],
    folder: Path,
    programs: Sequence[Program[Part]],
    repeats: int,
    console: Console,
    *,
    settings: Mapping[str, int | float | str] | None = None,
    resume: bool = False,
) -> bool:
    """Measure every program in each round; returns whether Ctrl-C left all of them run.

    Ctrl-C before there is a sample is passed on.

    ``resume`` goes on with the last run in the folder, where no sample was taken or it does not
    count. Raises :class:`StudyError` when nothing can run, or the last run was measured
    differently.
    """
    usable = [program for program in programs if program.refused is None]
    if not usable:
        raise StudyError("; ".join(dict.fromkeys(program.refused or "" for program in programs)))
    file, pinning = study.file(folder), cpu.split_cores()
    created = datetime.now(UTC)
    head = RunRecord(
        study=study.name,
        run=f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created=created.isoformat(timespec="milliseconds"),
        command=own_command(sys.argv),
        repeats=repeats,
        settings=dict(settings or {}),
        pinning={"client": pinning.client, "reason": pinning.reason},
        environment=environment.collect(ROOT),
    )
    done: set[tuple[str, int]] = set()
    if resume:
        before = study.last(folder)
        if what := before.head.differs(head):
            raise StudyError(
                f"{file}: the last run was measured differently ({', '.join(what)}); "
                "start another, without --resume"
            )
        head = before.head
        done = {(program, n) for program, parts in before.by_program().items() for n in parts}
    shuffled = random.Random(SEED)
    turns = [
        (repeat, program)
        for repeat in range(repeats)
        for program in shuffled.sample(usable, len(usable))
        if (program.rounds is None or repeat < program.rounds)
        and (program.name, repeat) not in done
    ]
    with Log(file, create=not file.exists()) as log:
        if not resume:
            refused = [
                SampleRecord[Part](
                    run=head.run, program=each.name, repeat=0, status="refused", reason=each.refused
                )
                for each in programs
                if each.refused
            ]
            log.append(head, *refused)
        try:
            with deferred():
                take_all(study, log, head.run, turns, console)
        except KeyboardInterrupt:
            if not study.last(folder).taken:
                raise
            console.print("interrupted: what was measured is kept; continue with --resume")
            return False
    return True


def take_all(
    study: Study[Part],
    log: Log,
    run_id: str,
    turns: Sequence[tuple[int, Program[Part]]],  # each in its round
    console: Console,
) -> None:
    """Take and append the sample of each turn, and show how far that is."""
    progress, began = Phases(console), time.monotonic()
    shown: set[tuple[str, str | None]] = set()
    progress.phase(study.what, len(turns))
    with closing(progress):
        for done, (repeat, program) in enumerate(turns):
            left_s = (time.monotonic() - began) / done * (len(turns) - done) if done else None
            progress.to(done, program.name, left_s)
            sample = take(run_id, repeat, program)
            log.append(sample)
            if sample.status != "ok" and (sample.program, sample.reason) not in shown:
                shown.add((sample.program, sample.reason))
                console.print(f"{sample.program}: {sample.status}: {sample.reason}")


def take(run_id: str, repeat: int, program: Program[Part]) -> SampleRecord[Part]:
    """One program in one round."""
    started, began = now(), time.monotonic()
    status: Status = "ok"
    part: Any = None
    reason = None
    try:
        part = program.measure(repeat)
    except Lost as lost:
        status, reason, part = lost.status, str(lost), lost.part
    return SampleRecord(
        run=run_id,
        program=program.name,
        repeat=repeat,
        started=started,
        wall_s=time.monotonic() - began,
        status=status,
        reason=reason,
        part=part,
    )


# --- the processes ---------------------------------------------------------------------------

PATIENCE_S: Final = 600.0
"""The longest that a process may take for one step; ten thousand threads take their time."""

LAST_WORDS_S: Final = 0.5
"""How long a child that has failed may take to end."""


@contextmanager
def losing(child: Child) -> Iterator[None]:
    """What goes wrong with a child in here loses the sample; its last words are in the reason."""
    try:
        yield
    except (TimeoutError, ProcessError, ServerError, ValueError) as error:
        if isinstance(error, TimeoutError):
            child.abort()
        child.end(LAST_WORDS_S)
        last = (child.stderr_tail() or "").splitlines()[-1:]
        raise Lost(": ".join([str(error), *last])) from None


class Process(Child):
    """A fresh process on these processors, or on all; its memory may be read.

    It answers in lines of JSON.
    """

    def __init__(self, what: str, arguments: Sequence[str], cores: Sequence[int]) -> None:
        try:
            with without_huge_pages():
                super().__init__(f"the process of {what}", arguments)
        except ProcessError as error:
            raise Lost(str(error)) from None
        cpu.pin(self.pid, list(cores))

    def answer(self) -> Any:  # noqa: ANN401
        """Its next line. Raises :class:`Lost`."""
        with losing(self):
            return json.loads(self.receive(time.monotonic() + PATIENCE_S))

    def ask(self) -> Any:  # noqa: ANN401
        """Let it take its next step."""
        self.send("")
        return self.answer()
