"""The event loop of callbacks, generators and native coroutines.

All of them use the same loop, so their charts differ only in how a program keeps
its place, not in how it asks the kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from selectors import BaseSelector, DefaultSelector
from time import monotonic

Callback = Callable[[], object]


class Loop:
    """Calls functions when a socket is ready, at a time, or soon.

    ``selector`` holds the sockets; the ``data`` of each is the function to
    call when it is ready.
    """

    def __init__(self, selector_class: type[BaseSelector] = DefaultSelector) -> None:
        self.selector = selector_class()
        self._soon: deque[Callback] = deque()
        self._timers: list[tuple[float, int, Callback]] = []
        self._timer_number = 0
        self._stopped = False

    def call_soon(self, callback: Callback) -> None:
        """Call the function when control is back in the loop."""
        self._soon.append(callback)

    def call_at(self, when: float, callback: Callback) -> None:
        """Call the function at ``when``, seconds on the monotonic clock."""
        self._timer_number += 1
        heappush(self._timers, (when, self._timer_number, callback))

    def stop(self) -> None:
        """Return from :meth:`run` after this turn."""
        self._stopped = True

    def run(self) -> None:
        """Run until stopped; an error in a callback ends the loop and is raised."""
        select, soon, timers = self.selector.select, self._soon, self._timers
        while not self._stopped:
            timeout = None
            if soon:
                timeout = 0.0
            elif timers:
                timeout = max(timers[0][0] - monotonic(), 0.0)
            for key, _ in select(timeout):
                key.data()
            if timers and timers[0][0] <= (now := monotonic()):
                while timers and timers[0][0] <= now:
                    soon.append(heappop(timers)[2])
            # Only those here now: a callback that schedules itself again must not
            # keep the sockets waiting.
            for _ in range(len(soon)):
                soon.popleft()()

    def close(self) -> None:
        """Release the selector."""
        self.selector.close()


def loop_name(loop: object) -> str:
    """The class of a loop of any library, for the report."""
    return f"{type(loop).__module__}.{type(loop).__qualname__}"
