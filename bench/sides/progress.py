"""How exchanges are counted while they run: in memory that the harness and a worker share."""

from __future__ import annotations

import os
from typing import Final

from bench.sides.protocol import shared_times

AT_ONCE: Final = 4096
"""How many doubles the harness looks at in one step."""

PLACES: Final = 2
"""Of the memory of a load: it counts in the first, and is stopped by the second."""


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
        import numpy as np  # a list of what to measure needs none

        self.times = np.asarray(shared_times(self.file))
        self.seen = 0

    def close(self) -> None:
        """Let nobody else open it; what is mapped stays until its process ends."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def count(self) -> int:
        while self.seen < len(self.times):
            ahead = self.times[self.seen : self.seen + AT_ONCE] == 0.0
            if ahead.any():
                self.seen += int(ahead.argmax())
                break
            self.seen += len(ahead)
        return self.seen

    def answers(self) -> int:
        return int(self.times[0])

    def stop(self) -> None:
        self.times[1] = 1.0
