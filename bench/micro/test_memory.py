"""The kernel's cost for memory that a process touches for the first time."""

from __future__ import annotations

import mmap

from bench.micro.conftest import Measure

PAGES = 512


def test_page_fault(measure: Measure) -> None:
    """Touch a page of new memory, and return it.

    An allocator that returns memory and requests it again pays this each time.
    """
    size = PAGES * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

    def new() -> mmap.mmap:
        memory = mmap.mmap(-1, size, flags=flags)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        return memory

    def batch(memory: mmap.mmap) -> None:
        for offset in range(0, size, mmap.PAGESIZE):
            memory[offset] = 1
        memory.close()

    measure(batch, PAGES, setup=new)
