"""One state of malloc for every crawl.

glibc's malloc maps a block of 128 KiB or more anew, and unmaps it when it is freed, until a
program frees a mapped one. Then it keeps blocks up to that size, and trims its heap at twice
that (M_MMAP_THRESHOLD in mallopt(3) documents it). asyncio asks for 256 KiB with each receive
and gives most of it back at once, so the same receive costs two page faults and three system
calls, or nothing, by what the process has freed before (docs/upstream/asyncio-receive.md).
Cached bytecode alone can decide that. So every crawl starts where any larger program is.
"""

from __future__ import annotations

import os
import resource
from typing import Final

FREED: Final = 4 * 1024 * 1024
"""Bytes of the block that is freed: far above what a receive asks for, so trimming is too."""
RECEIVE: Final = 256 * 1024
"""What asyncio asks for with each receive."""
READS: Final = 64
"""So many that the first faults of a program that has just started do not decide."""

KEEPS: Final = "keeps freed blocks"
MAPS: Final = "maps large blocks anew"
ON_PURPOSE: Final = "maps large blocks anew, on purpose"
"""What a backend says that changes the state itself."""


def settle() -> None:
    """Free one large block; where malloc does not adapt, that changes nothing."""
    bytes(FREED)


def state() -> str:
    """What malloc does with what asyncio asks for, by the page faults of a few receives."""
    # Of one byte: a receive of nothing would free the block as it is, and malloc would adapt.
    readable, writable = os.pipe()
    try:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(READS):
            os.write(writable, b"x")
            os.read(readable, RECEIVE)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    finally:
        os.close(readable)
        os.close(writable)
    return MAPS if faults > READS else KEEPS
