"""``turns.jsonl.gz``: every turn of a campaign, beside its trials.

One JSON object for each block of each point, each a gzip member of its own, so that
appending never rewrites what is there, and everything up to a torn last member can be
read. The trials hold the sums, and all ratios come from those. This file says what explains
their scatter, and lets you pair and weigh turns in other ways.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from pydantic import TypeAdapter

from bench.schema import TurnsRecord
from bench.store import Log, StoreError, members, parse

FILE_NAME = "turns.jsonl.gz"
RECORD = TypeAdapter(TurnsRecord)
FEWEST_ROUNDS = 5
"""A block with fewer counted rounds than this says little; the A/A pairs say how little."""


def packed(lines: bytes) -> bytes:
    """A gzip member, the same to the byte whenever it is made."""
    return gzip.compress(lines, mtime=0)


def append(folder: Path, record: TurnsRecord) -> None:
    """Add one block's turns and sync them. Raises :class:`bench.store.StoreError`."""
    file = folder / FILE_NAME
    with Log(file, create=not file.exists(), pack=packed) as log:
        log.append(record)


def load(folder: Path) -> list[TurnsRecord]:
    """All turns of a campaign; none when it has no such file. A torn end is left out.

    Of a block that was struck between its turns and its trials, and so was run again,
    the later turns count.

    Raises :class:`bench.store.StoreError` for a file that holds anything else.
    """
    file = folder / FILE_NAME
    try:
        data = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from None
    lines, _ = members(data, file)
    records = [parse(line, f"{file}:{number}", RECORD) for number, line in enumerate(lines, 1)]
    return list({(record.block, record.point): record for record in records}.values())
