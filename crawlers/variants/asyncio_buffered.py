"""asyncio's BufferedProtocol: the transport receives into one buffer, made once.

What waits, what switches and what a connection costs is the same as in
``asyncio_protocol``. Changed against it: who provides the memory. A transport of asyncio
makes 256 KiB for every receive, and gives most of it back; in a small program glibc's
malloc maps and unmaps that much each time (``async_await_mapped``). A BufferedProtocol
hands out memory of its own instead. All connections share one buffer of 64 KiB, because
the loop receives for one of them at a time and the bytes are copied out before it goes
on. This is documented and public; the size that a transport asks for is not.
"""

from __future__ import annotations

import asyncio

from crawlers.http import RECV_SIZE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run
from crawlers.variants.asyncio_protocol import Connection, Shared, Slot, fetch


class BufferedConnection(Connection, asyncio.BufferedProtocol):
    """Feeds the exchange in flight from the buffer that all connections share."""

    buffer = memoryview(bytearray(RECV_SIZE))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport may receive to."""
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have arrived in the buffer."""
        self.data_received(bytes(self.buffer[:nbytes]))


class BufferedShared(Shared):
    """The state that the slots of one crawl share."""

    protocol = BufferedConnection


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over transports that receive into one buffer."""
    return run("asyncio_buffered", job, recorder, fetch, BufferedShared, Slot)
