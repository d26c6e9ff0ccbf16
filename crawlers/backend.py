"""What a backend is: the one description that the crawlers and the harness share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

CrawlFunction = Callable[[Job, Recorder], CrawlReport]

Fact = str | int | bool | None
"""A value of a backend's description that fits into JSON."""


Tag = Literal["main", "people", "spreads", "handed_over", "mapped", "asyncio_tls", "own_tls"]
"""What a backend of ours is, where others ask.

``main`` ones are in every chart of the full profile, and ``people`` choose between some. One that
``spreads`` uses every processor that it is given. A variant that is ``handed_over`` differs from
its base only where pages need work, and one that is ``mapped`` only in the state of malloc. A part
of the ladder begins at each with ``asyncio_tls``, whose buffers it has, and at each with its
``own_tls``.
"""


class BackendError(Exception):
    """There is no such backend, or it cannot run here; the message says what to do."""


def _not_loaded(job: Job, recorder: Recorder) -> CrawlReport:
    raise BackendError("this is only a description: use registry.load to get the backend")


@dataclass(frozen=True, slots=True)
class Backend:
    """One interchangeable crawler.

    ``family`` is its concurrency model (``stack`` for a whole HTTP stack), and
    ``rung`` its place on the ladder. ``changes`` names the one thing it changes
    and the backend it is compared with ("against callbacks: the system call").
    ``extra`` is the extra that installs its libraries, "" if it needs none.
    ``most`` is the largest number of connections it can hold at once, None if
    only the number of slots limits it. ``several_threads`` says that it runs Python code in
    several threads of one interpreter. On how many processors they run then decides what a page
    costs, because they pass the interpreter's lock from one processor to another.

    ``differs`` maps conformance tests that it is known to fail to the reasons;
    the suite expects exactly these to fail. ``alone`` means that loading it
    changes the whole process (gevent_patched patches the standard library), so it must
    not share a process with other backends.

    ``no_https`` is None, or the reason why it cannot speak TLS, in a sentence.
    ``cannot_see`` names the error kinds of TLS that its library hides.

    A description can travel without its ``crawl``: see :meth:`facts`. In a
    description ``module`` is where the backend is imported from, and
    ``missing`` says why it cannot run here.
    """

    name: str
    summary: str
    changes: str
    family: str = ""
    rung: int = -1
    crawl: CrawlFunction = field(default=_not_loaded, repr=False, compare=False)
    extra: str = ""
    differs: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    alone: bool = False
    no_https: str | None = None
    cannot_see: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    most: int | None = None
    several_threads: bool = False
    module: str = ""
    missing: str | None = None
    tags: tuple[Tag, ...] = field(default=(), repr=False, compare=False)

    @property
    def against(self) -> str | None:
        """The backend that this one changes one thing of; None at the foot of the ladder."""
        before, colon, _ = self.changes.partition(": ")
        return before.removeprefix("against ") if colon and before[:8] == "against " else None

    def facts(self) -> dict[str, Fact]:
        """The description as JSON values; ``Backend(**facts)`` is equal to this one."""
        return {fact.name: getattr(self, fact.name) for fact in fields(self) if fact.compare}
