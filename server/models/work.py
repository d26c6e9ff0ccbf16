"""Pages that need the processor before they are answered: ``--work EVERY:MS``.

One page in ``EVERY`` of a list needs ``MS`` milliseconds of processor time. A server looks its
pages up, and that is where the work is done: in its thread, as an application would. A variant
that hands work over does it elsewhere, and says so before it looks the page up.
"""

from __future__ import annotations

from threading import Lock
from time import thread_time
from typing import Any

from server.sites.site import Resource, Site, SiteError, is_whole


def spin(ms: float) -> None:
    """Use so much processor time of this thread; others can have the interpreter's lock."""
    until = thread_time() + ms / 1000
    while thread_time() < until:
        sum(range(200))


class Working:
    """A site some of whose pages need work; everything else is the site's own."""

    def __init__(self, site: Site, spec: str) -> None:
        every, _, ms = spec.partition(":")
        if not (is_whole(every) and is_whole(ms) and int(every) and site.spec[:5] == "list:"):
            raise SiteError(f"--work {spec}: write EVERY:MS, such as 10:10, and serve a list site")
        self._site = site
        self.every = int(every)
        self.ms = int(ms)
        self.worked = 0
        self.done = False
        self._counting = Lock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._site, name)

    def needs(self, target: bytes) -> bool:
        """Whether a page needs work."""
        digits = target.removeprefix(b"/p/")
        return digits.isdigit() and int(digits) % self.every == 0

    def find(self, target: bytes) -> Resource | None:
        """The page, after its work; None if there is none."""
        page = self._site.find(target)
        if page is not None and self.needs(target):
            if not self.done:
                spin(self.ms)
            self.done = False
            with self._counting:
                self.worked += 1
        return page
