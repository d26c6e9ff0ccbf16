"""``trials.jsonl``: append, sync, load.

Every record is on the disk before the next trial starts, so nothing that was
measured is lost to a crash. A line torn by one is cut when the campaign is
resumed, and said.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from bench.errors import BenchError
from bench.process import RESULTS
from bench.schema import (
    RECORD,
    SCHEMA_VERSION,
    AnyRecord,
    CampaignRecord,
    CeilingRecord,
    EndRecord,
    Record,
    ResumeRecord,
    TrialRecord,
)

FILE_NAME = "trials.jsonl"


class StoreError(BenchError):
    """Records cannot be read or written; the message is one line and says what to do."""


@dataclass(slots=True)
class Records:
    """All records of one campaign, sorted by kind."""

    campaign: CampaignRecord
    trials: list[TrialRecord] = field(default_factory=list)
    ceilings: list[CeilingRecord] = field(default_factory=list)
    resumes: list[ResumeRecord] = field(default_factory=list)
    end: EndRecord | None = None
    torn_bytes: int = 0

    @property
    def all(self) -> list[AnyRecord]:
        """Every record, the campaign's first; the order of a file is theirs by kind."""
        end = [] if self.end is None else [self.end]
        return [self.campaign, *self.trials, *self.ceilings, *self.resumes, *end]


class Store:
    """An open ``trials.jsonl``: one writer at a time."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT | os.O_EXCL if create else 0)
        try:
            self._file = os.fdopen(os.open(path, flags, 0o644), "a+b")
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise StoreError(
                f"{path}: another run is writing to this campaign; wait for it or stop it"
            ) from None

    def append(self, record: Record) -> None:
        """Write one record and see it to the disk."""
        line = record.model_dump_json().encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            hint = (
                "; free some space and go on with --resume"
                if error.errno in (errno.ENOSPC, errno.EDQUOT)
                else ""
            )
            raise StoreError(
                f"{self.path}: {error.strerror}; the records before this one are safe{hint}"
            ) from None

    def cut(self, torn_bytes: int) -> None:
        """Cut a torn last line off the file."""
        if torn_bytes:
            size = os.fstat(self._file.fileno()).st_size
            os.ftruncate(self._file.fileno(), size - torn_bytes)
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; what a failed write left in the buffer is dropped."""
        with suppress(OSError):  # a write that failed was reported by append
            self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def trials_file(campaign: Path) -> Path:
    """The records' file of a campaign given by its folder, its file or its name.

    Raises :class:`StoreError` when there is none.
    """
    for path in (campaign, RESULTS / campaign):
        file = path / FILE_NAME if path.is_dir() else path
        if file.is_file():
            return file
    raise StoreError(f"{campaign}: no campaign here (no {FILE_NAME}); list them with: ls results")


def load(path: Path) -> Records:
    """Read and validate all records of a campaign.

    A last line without its end, as a crash leaves it, is left out and counted
    in ``torn_bytes``. Anything else that is not a record of this schema raises
    :class:`StoreError` with the line number.
    """
    file = trials_file(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from None
    whole = data.rfind(b"\n") + 1
    records = [
        parse(line, f"{file}:{number}")
        for number, line in enumerate(data[:whole].splitlines(), 1)
        if line.strip()
    ]
    if not records:
        raise StoreError(f"{file}: empty; this campaign never started, run it anew")
    return sort_out(records, file, torn_bytes=len(data) - whole)


def parse(line: bytes, where: str) -> AnyRecord:
    """One line as a record.

    Raises :class:`StoreError` naming ``where``.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise StoreError(
            f"{where}: not JSON, the file is damaged; restore it, or delete this line "
            "if it is the only one"
        ) from None
    if not isinstance(value, dict) or "kind" not in value:
        raise StoreError(f"{where}: not a record of this suite")
    version = value.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{where}: schema version {version}, this program reads {SCHEMA_VERSION}; "
            "use the commit that the campaign was made with"
        )
    try:
        return RECORD.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "kind"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise StoreError(f"{where}: not a valid record: {place}: {first['msg']}{more}") from None


def sort_out(records: Iterable[AnyRecord], file: Path, torn_bytes: int = 0) -> Records:
    """Records by kind, the campaign's first.

    Raises :class:`StoreError` when the first is not the campaign's, or when
    two campaigns are mixed.
    """
    first, *rest = records
    if not isinstance(first, CampaignRecord):
        raise StoreError(f"{file}: the first line is no campaign record; the file is damaged")
    result = Records(first, torn_bytes=torn_bytes)
    for record in rest:
        match record:
            case TrialRecord():
                result.trials.append(record)
            case CeilingRecord():
                result.ceilings.append(record)
            case ResumeRecord():
                result.resumes.append(record)
                result.end = None
            case EndRecord():
                result.end = record
            case CampaignRecord():
                raise StoreError(
                    f"{file}: two campaigns in one file; keep each in a folder of its own"
                )
    return result
