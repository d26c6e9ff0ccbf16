"""How the harness counts the exchanges of a crawl that takes turns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.run import protocol
from bench.run.group import GroupEndedError
from bench.run.servers import Server, ServerError

AT_ONCE: Final = 4096
"""How many doubles the harness looks at in one step."""


class Progress:
    """Exchanges counted in memory that the worker's recorder fills: one double for each.

    ``most`` is how many it has room for; the worker opens ``file``, until :meth:`close`. It is
    memory and no file on a disk (memfd_create(2)): a store there would now and then wait for the
    file system. Raises :class:`OSError` where there is no such room.
    """

    def __init__(self, most: int) -> None:
        self.descriptor = os.memfd_create("progress")
        os.truncate(self.descriptor, most * 8)  # zeros
        self.file = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        self.times = np.asarray(protocol.shared_times(self.file))
        self.seen = 0

    def close(self) -> None:
        """Let nobody else open it; what is mapped stays until its process ends."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def count(self) -> int:
        """As many as are filled, one after the other."""
        while self.seen < len(self.times):
            ahead = self.times[self.seen : self.seen + AT_ONCE] == 0.0
            if ahead.any():
                self.seen += int(ahead.argmax())
                break
            self.seen += len(ahead)
        return self.seen


@dataclass(slots=True)
class LedgerCount:
    """Exchanges counted at the server, where the cost of counting in the worker is measured.

    After a turn the server has answered what was still asked, so the number is ahead of the
    worker's by the requests in flight: as many after each turn, one or none for each slot.
    """

    server: Server
    served: int = 0

    def count(self) -> int:
        """As many as the ledger had at the last look."""
        return self.served

    def look(self) -> None:
        """Ask the server, which must not be stopped."""
        try:
            self.served = self.server.served()
        except ServerError:
            raise GroupEndedError from None
