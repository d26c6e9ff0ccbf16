"""A malloc that maps every large block, as that of a small program does.

asyncio asks for 256 KiB with each receive; glibc's malloc maps that much memory, moves it when the
receive has shrunk it, and unmaps it, each time, until the program frees a block as large. A small
program may never do that, and then pays three system calls and two page faults for each receive.
Here malloc is made to stay so. ``b = bytes(4 << 20); del b`` would cure it, and a crawl of any
other backend starts with that (:mod:`crawlers.heap`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crawlers import heap
from crawlers.backend import BackendError

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
AT_START = 128 * 1024
"""Both thresholds of a process that has freed nothing yet."""
MOST_PLACES = 1024
"""Free places of a receive's size that are filled before the variant gives up."""


def fix(threshold: int, trim: int) -> None:
    """Set both for good; nothing happens where malloc is not glibc's."""
    try:
        from ctypes import CDLL

        libc = CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, threshold)
        libc.mallopt(M_TRIM_THRESHOLD, trim)
        libc.malloc_trim(0)  # a large block would fit into what is free at the heap's end
    except (ImportError, OSError, AttributeError, TypeError):
        pass


def keep() -> None:
    """Leave malloc in the state that :func:`crawlers.heap.settle` makes."""
    fix(heap.FREED, 2 * heap.FREED)


def begin(name: str) -> list[bytes]:
    """Let malloc map every large block, while what this returns is kept.

    Raises :class:`BackendError` where it does not.
    """
    fix(AT_START, AT_START)
    # malloc looks for a free place first, and imports may have left some that are large enough.
    taken: list[bytes] = []
    while heap.state() != heap.MAPS:
        if len(taken) == MOST_PLACES:
            raise BackendError(
                f"backend {name} needs glibc's malloc for Python's objects, "
                "and this interpreter uses another"
            )
        taken.append(bytes(heap.RECEIVE))
    return taken


@contextmanager
def mapped(name: str) -> Iterator[dict[str, str | int]]:
    """While this lasts, malloc maps every large block; raises :class:`BackendError`."""
    try:
        taken = begin(name)
        yield {"malloc": heap.ON_PURPOSE}
        del taken
    finally:
        keep()
