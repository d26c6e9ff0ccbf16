"""Files of JSON lines, appended and synced record by record; ``trials.jsonl`` above all.

Every record is on the disk before the next trial starts, so a crash loses nothing that was
measured. It may leave an incomplete last line, which is cut off when more is appended.
"""

from __future__ import annotations

import codecs
import fcntl
import gzip
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from bench import BenchError
from bench.filesystem import is_full
from bench.launch import RESULTS, shown
from bench.schema import (
    RECORD,
    AnyRecord,
    CampaignRecord,
    CeilingRecord,
    EndRecord,
    Kind,
    Record,
    ResumeRecord,
    TrialRecord,
    TurnsRecord,
)

FILE_NAME = "trials.jsonl"
APART = ("recorder", "server", "processors", "flipped", "mode")
"""Parameters that set trials of one label at one point apart."""

CALIBRATED = ("site", "urls")
"""Parameters that a block sets for its trials: they take about as long on any machine."""
PACKED = f"{FILE_NAME}.gz"
"""The same, compressed, for campaigns that are kept in a repository."""
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MOST_DIGITS = 20
"""Of a whole number in a record: room for 64 bits, and far from what a float cannot hold."""
REFERENCE = RESULTS / "reference"
FIRST = "run one with: python -m bench run"
AnyLine = TypeVar("AnyLine")


class StoreError(BenchError):
    """Records cannot be read or written; the message is one line and says what to do."""


# --- any file of records -----------------------------------------------------------------


class Log:
    """An open file of records, with one writer at a time: trials, turns, and those of studies.

    In a file whose name ends with ``.gz``, what one call of :meth:`append` writes is a gzip member
    of its own. So appending never rewrites what is there.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self._created = self._whole = create
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT | os.O_EXCL if create else 0)
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, flags, 0o644)
        except OSError as error:
            then = "; choose another folder" * create
            raise StoreError(f"{path}: {error.strerror}{then}", full=is_full(error)) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise StoreError(
                f"{path}: another run is writing to this campaign; wait for it or stop it"
            ) from None
        except OSError:
            pass  # not on every file system

    def append(self, *records: Record) -> None:
        """Write records in one go and sync them.

        After a kill the last line may be torn: it is cut off first. When they cannot be written,
        the file is as before; one that would stay empty is removed, with an empty folder.
        """
        lines = b"".join(record.model_dump_json().encode() + b"\n" for record in records)
        if self.path.suffix == ".gz":
            lines = gzip.compress(lines, mtime=0)  # the same to the byte whenever it is made
        try:
            self._cut()
            self._write(lines)
        except OSError as error:
            said, then = "the records before this one are safe", "continue with --resume"
            if self._created and not os.fstat(self._file).st_size:
                with suppress(OSError):
                    self.path.unlink()
                    self.path.parent.rmdir()  # unless something else is there
                if not self.path.with_name(FILE_NAME).exists():  # this may be the log of turns
                    said, then = "nothing ran", "run it again"
            full = is_full(error)
            hint = f"; free some space and {then}" if full else ""
            raise StoreError(f"{self.path}: {error.strerror}; {said}{hint}", full=full) from None

    def _write(self, data: bytes) -> None:
        size = os.fstat(self._file).st_size
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except BaseException:
            with suppress(OSError):  # a device has no length
                os.ftruncate(self._file, size)
            raise

    def _cut(self) -> None:
        # At the first record, not before: by then the caller has read what is there.
        size = os.fstat(self._file).st_size  # a device has none
        if not self._whole and size and (torn := read_lines(self.path)[1]):
            os.ftruncate(self._file, size - torn)
        self._whole = True

    def close(self) -> None:
        with suppress(OSError):  # append has reported it
            os.close(self._file)

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_lines(file: Path) -> tuple[bytes, int]:
    """The complete lines of a file of records, and the bytes of a torn end, which is left out.

    Unpacks the whole gzip members of a file whose name ends with ``.gz``. Raises
    :class:`StoreError`.
    """
    try:
        if not file.is_file() and file.exists():  # a pipe would never end
            raise StoreError(f"{file}: not a file; move it away")
        rest = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from None
    if file.suffix != ".gz":
        end = rest.rfind(b"\n") + 1
        return rest[:end], len(rest) - end
    contents = []
    while rest:
        unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            lines = unpacker.decompress(rest)
        except zlib.error:
            raise StoreError(f"{file}: not a gzip file, or damaged; restore it") from None
        if not unpacker.eof:
            break
        contents.append(lines)
        rest = unpacker.unused_data
    return b"".join(contents), len(rest)


def load_lines(file: Path, adapter: TypeAdapter[AnyLine]) -> tuple[list[AnyLine], int]:
    """Every complete record of a file, and the length of an incomplete last line in bytes.

    Raises :class:`StoreError` with the line number for anything that is not a record.
    """
    lines, torn_bytes = read_lines(file)
    records = [
        parse(line, f"{file}:{number}", adapter)
        for number, line in enumerate(lines.split(b"\n"), 1)
        if line.strip()
    ]
    return records, torn_bytes


def parse(line: bytes, where: str, adapter: TypeAdapter[AnyLine]) -> AnyLine:
    """One line as a record. Raises :class:`StoreError` naming ``where``."""
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        first, *others = error.errors()
        place = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        said = ": ".join(filter(None, ("not a valid record", place, what)))
        if first["type"] == "json_invalid":
            said = "not JSON, so the file is damaged; restore it"
            if not where.endswith(":1"):  # without the head all others are lost
                said += ", or delete a single such line"
            elif line.startswith(MARKS):
                said = "begins with a byte-order mark; save the file as UTF-8 without one"
        more = f" (and {len(others)} more)" if others else ""
        raise StoreError(f"{where}: {said}{more}") from None


# --- trials.jsonl ------------------------------------------------------------------------


@dataclass(slots=True)
class Records:
    """All records of one campaign, sorted by kind."""

    campaign: CampaignRecord
    trials: list[TrialRecord] = field(default_factory=list)
    controls: list[TrialRecord] = field(default_factory=list)
    companions: list[TrialRecord] = field(default_factory=list)
    ceilings: list[CeilingRecord] = field(default_factory=list)
    resumes: list[ResumeRecord] = field(default_factory=list)
    end: EndRecord | None = None
    torn_bytes: int = 0

    def of(self, kind: Kind) -> list[TrialRecord]:
        """The trials of one kind, in the order of the file."""
        return {"trial": self.trials, "control": self.controls, "companion": self.companions}[kind]

    @property
    def unfinished(self) -> str | None:
        """Why the campaign did not come to its end; None if it did."""
        if self.end is None:
            return "it has no end record"
        return None if self.end.complete else self.end.reason or "incomplete"

    @property
    def refusals(self) -> list[str]:
        """Each reason once, where this machine could run none of the trials; else empty."""
        if any(trial.status != "refused" for trial in self.trials):
            return []
        return list(dict.fromkeys(trial.reason or "" for trial in self.trials))

    @property
    def planned(self) -> int:
        """How many trials it was to have."""
        return sum(entry.trials for entry in self.campaign.plan)

    @property
    def every_trial(self) -> list[TrialRecord]:
        return [*self.trials, *self.controls, *self.companions]

    @property
    def all(self) -> list[AnyRecord]:
        """Every record: the campaign's first, then kind by kind in the order of the file."""
        end = [] if self.end is None else [self.end]
        return [self.campaign, *self.every_trial, *self.ceilings, *self.resumes, *end]


def trials_file(campaign: Path) -> Path:
    """The records' file of a campaign given by its folder, its file or its name.

    Raises :class:`StoreError` when there is none.
    """
    for path in (campaign, RESULTS / campaign):
        try:
            files = [path / FILE_NAME, path / PACKED] if path.is_dir() else [path]
            for file in files:
                if file.is_file():
                    return file
        except OSError as error:  # a name that is too long, a folder that is not ours
            raise StoreError(f"{campaign}: {error.strerror}") from None
    below = sorted(campaign.glob(f"*/{FILE_NAME}*")) if campaign.is_dir() else []
    then = f"list them with: ls {shown(RESULTS)}" if RESULTS.is_dir() else FIRST
    then = f"it holds campaigns, so name one, such as {below[-1].parent}" if below else then
    raise StoreError(f"{campaign}: no campaign here (no {FILE_NAME}); {then}")


def usual(named: Path | None) -> Path:
    """The records' file of the campaign that is named, or else the newest, or the reference's.

    Raises :class:`StoreError` when there is none.
    """
    if named is not None:
        return trials_file(named)
    # The name of a campaign begins with the time. A published one has a word for a name.
    newest = sorted(RESULTS.glob("[0-9]*"), reverse=True)
    files = (folder / name for folder in newest for name in (FILE_NAME, PACKED))
    return next(filter(Path.is_file, files), None) or trials_file(REFERENCE)


def load(path: Path) -> Records:
    """Read and validate all records of a campaign.

    Ignores an incomplete last line, as a crash leaves it, and counts it in ``torn_bytes``. The log
    of turns beside it, if there is one, says how much of them the host took.
    Raises :class:`StoreError` for anything else that is not a record of this schema.
    """
    file = trials_file(path)
    records, torn_bytes = load_lines(file, RECORD)
    if not records:
        raise StoreError(f"{file}: no whole record: run the campaign again, or restore the file")
    result = sort_out(records, file, torn_bytes)
    turn_by_turn(result, load_turns(file.parent))
    return result


def sort_out(records: Iterable[AnyRecord], file: Path, torn_bytes: int = 0) -> Records:
    """Records by kind.

    Raises :class:`StoreError` when the first is not the campaign's, when two campaigns are
    mixed, and for a trial that is in the file twice, or is not what was planned at its point.
    """
    first, *rest = records
    if not isinstance(first, CampaignRecord):
        raise StoreError(f"{file}: the first line is not a campaign record; the file is damaged")
    result = Records(first, torn_bytes=torn_bytes)
    seen: set[object] = set()
    plan = {entry.point: {**entry.params, "workload": entry.workload} for entry in first.plan}
    for number, record in enumerate(rest, 2):
        match record:
            case TrialRecord():
                apart = [record.params.get(name) for name in APART]
                key = (record.block, record.point, record.label, *apart)
                where = f"{file}:{number}: {record.label} at {record.point}"
                if key in seen:
                    raise StoreError(
                        f"{where} is there twice for block {record.block}; a trial counts once, "
                        "so delete one of the lines"
                    )
                seen.add(key)
                own = {**record.params, "workload": record.workload}
                for name, value in plan.get(record.point, {}).items():
                    if name not in CALIBRATED and own.get(name) != value:
                        raise StoreError(
                            f"{where} has {name} {own.get(name)!r}, but {value!r} was planned; "
                            "restore the file"
                        )
                result.of(record.kind).append(record)
            case CeilingRecord():
                result.ceilings.append(record)
            case ResumeRecord():
                result.resumes.append(record)
                result.end = None
            case EndRecord():
                result.end = record
            case CampaignRecord():
                raise StoreError(
                    f"{file}:{number}: two campaigns in one file; keep each in its own folder"
                )
    return result


# --- turns.jsonl.gz ----------------------------------------------------------------------
#
# Every turn of a campaign, beside its trials: a record for each block of each point. The trials
# hold the sums, and all ratios come from those. This file says what explains their scatter, and
# lets you pair and weigh turns in other ways.

TURNS = "turns.jsonl.gz"


def append_turns(folder: Path, record: TurnsRecord) -> None:
    """Add one block's turns and sync them. Raises :class:`StoreError`."""
    file = folder / TURNS
    with Log(file, create=not file.exists()) as log:
        log.append(record)


def load_turns(folder: Path) -> list[TurnsRecord]:
    """All turns of a campaign; none when it has no such file. A torn end is left out.

    Of a block that was struck between its turns and its trials, and so was run again,
    the later turns count.

    Raises :class:`StoreError` for a file that holds anything else.
    """
    file = folder / TURNS
    records = load_lines(file, TypeAdapter(TurnsRecord))[0] if file.exists() else []
    return list({(record.block, record.point): record for record in records}.values())


def turn_by_turn(records: Records, log: Iterable[TurnsRecord]) -> None:
    """Have the stolen time of trials from the log of their turns, which knows each of them."""
    logged = {(record.block, record.point): record for record in log}
    for trials in (records.trials, records.controls, records.companions):
        for place, trial in enumerate(trials):
            turns, record = trial.turns, logged.get((trial.block, trial.point))
            if turns is None or not turns.steal_s or record is None:
                continue
            # The log has a condition behind the label, as bench.plan.participants.Label.
            condition = trial.params.get("condition")
            label = f"{trial.label}/{condition}" if condition else trial.label
            stolen_us = record.stolen_us(label) if label in record.labels else []
            known = [us for us in stolen_us if us is not None]
            if len(known) == turns.counted:  # else it is not the log of this trial
                turns = turns.model_copy(update={"steal_s": sum(known) / 1e6})
                trials[place] = trial.model_copy(update={"turns": turns})
