"""What the HTTP stacks share: from their answers and errors to ours.

A stack parses HTTP and keeps its connections itself. What is left to us is
the same as everywhere: frontier, retries, redirects, link extraction, limits
on size and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version

from crawlers.http import USER_AGENT, Exchange, error_kind
from crawlers.job import Fetch, Job

_USED = ("content-type", "content-encoding", "location")


def version_of(stack: str) -> str:
    """Name and version of a distribution, for the report."""
    return f"{stack} {version(stack)}"


def request_headers(job: Job) -> dict[str, str]:
    """The headers that the models send, so that the server sees the same request."""
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*"}
    if not job.keep_alive:
        headers["Connection"] = "close"
    return headers


class Answer(Exchange):
    """An exchange that a stack carries out; it is told what came."""

    __slots__ = ()

    def __init__(self, item: Fetch, max_body: int) -> None:
        super().__init__(item, max_body)
        # Whether the connection is kept is for the stack's pool to say.
        self.keep_alive = True

    def take_body(self, data: bytes) -> bool:
        """Take a piece of the body; False when it is too large, and to be given up."""
        self.on_body(data)
        if self.size > self.max_body:
            self.abort("too_large")
        return not self.done

    def complete(self, status: int, headers: Mapping[str, str]) -> None:
        """The whole body has come; ``headers`` finds names in any case."""
        if self.done:
            return
        self.status = status
        self.headers = {
            name.encode("ascii"): headers[name].encode("utf-8", "surrogateescape")
            for name in _USED
            if name in headers
        }
        self.done = True

    def broken(self, kind: str) -> None:
        """The connection failed; stale, if it had been used before and nothing was answered."""
        self.abort(self._or_stale(kind))


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and all that stand behind it."""
    seen: set[int] = set()
    behind: list[object] = [error]
    while behind:
        link = behind.pop()
        if isinstance(link, BaseException) and id(link) not in seen:
            seen.add(id(link))
            yield link
            # Several stacks hand the error behind over as an argument.
            behind += [*link.args, link.__context__, link.__cause__]


def kind_behind(error: BaseException) -> str | None:
    """The error kind of the socket error that a stack has wrapped, if there is one."""
    for link in causes(error):
        if isinstance(link, OSError) and (link.errno or isinstance(link, TimeoutError)):
            return error_kind(link)
    return None
