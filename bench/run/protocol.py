"""The messages between the harness and a worker, one JSON object per line.

    harness                 worker
    Command         ->      imports the backend, warms up, collects garbage
                    <-      Ready
    GO              ->      crawls
                    <-      Result

A worker that cannot go on sends Failed instead. The fleet uses the same messages.

The worker imports this module, so it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import mmap
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

GO = "go"
"""The line that starts the timed crawl."""


class ProtocolError(Exception):
    """A line that is not a valid message; the error names the field that is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When requests are due: ``rate`` per second, evenly spaced or as a seeded Poisson process.

    A ``ramp`` is the start of a closed loop (:mod:`bench.plan.crossover`): only the first
    requests of each of ``slots`` slots are due at set times, behind a delay of ``delay_s``,
    and the first of all after ``lead_s``.
    """

    kind: Literal["constant", "poisson", "ramp"]
    rate: float
    seed: int = 0
    slots: int = 0
    delay_s: float = 0.0
    lead_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """One page in ``every``, chosen by the seed, needs so many rounds of work."""

    rounds: int
    every: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """The work on the pages that needed it.

    ``check`` is what it all came to, ``cpu_s`` the processor time that it took, ``wall_s`` what
    that was by the clock, and ``threads`` in how many threads it was done. ``others`` and
    ``worked`` count the response times in the files of those names: of the pages without work,
    and of those with it.
    """

    pages: int
    check: int
    cpu_s: float
    wall_s: float
    threads: int
    others: int
    worked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One crawl to run.

    ``urls`` counts the pages ``/p/0 ...`` of a list site; None crawls from the
    root and follows links. The times go to files whose names start with ``out``.
    ``progress`` names the shared memory in which the worker counts its exchanges.
    ``watch_parent`` asks the worker to notice by itself when its parent has died.
    ``cafile`` names the authorities to trust where the prefixes are https, and without
    ``keep_alive`` every page gets a connection of its own. ``cancel`` says that the harness
    will interrupt the crawl.
    """

    backend: str
    prefix: str
    warmup_prefix: str
    urls: int | None
    slots: int
    timeout_s: float
    schedule: Schedule | None
    switch_interval_s: float | None
    recorder: Literal["times", "slots", "null"]
    out: str
    watch_parent: bool
    progress: str | None = None
    cafile: str | None = None
    keep_alive: bool = True
    cancel: bool = False
    work: Working | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has warmed up and waits for :data:`GO`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a crawl ended that was interrupted, as its process saw it.

    ``noticed`` and ``returned`` are on the monotonic clock, which all processes of a machine
    share, and ``cpu_s`` is the processor time of the process in between. ``left`` counts what
    there is more of than before the crawl, by kind.
    """

    noticed: float | None
    returned: float
    cpu_s: float
    switch_interval_s: float
    left: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a crawl did, and what it cost the worker's process.

    ``call_s`` is the whole call of the backend, ``elapsed_s`` the crawl as the
    backend's own clock has it. ``service``, ``response``, ``slots`` and
    ``ended`` count the values in the files of those names; the last two are
    None unless the command asked for the slots, ``ending`` unless it announced an interrupt.
    """

    elapsed_s: float
    pages: int
    bytes: int
    answered: int
    urls: int
    redirects: int
    retries: int
    statuses: dict[str, int]
    errors: dict[str, int]
    stopped: str | None
    digest: str
    mechanism: dict[str, str | int]
    call_s: float
    user_s: float
    system_s: float
    switches_voluntary: int
    switches_involuntary: int
    page_faults: int
    late: int
    last_due_s: float | None
    service: int
    response: int
    slots: int | None = None
    ended: int | None = None
    ending: Ending | None = None
    work: Worked | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The worker gave up."""

    error: str


Message = Command | Ready | Result | Failed
MESSAGES: dict[str, type[Message]] = {
    kind.__name__.lower(): kind for kind in (Command, Ready, Result, Failed)
}


def encode(message: Message) -> str:
    """One line of JSON, without the newline."""
    return json.dumps({"message": type(message).__name__.lower(), **asdict(message)})


def decode(line: str) -> Message:
    """The message in a line.

    Raises :class:`ProtocolError` when there is none, or when a field is
    missing, unknown or of the wrong type.
    """
    try:
        values = json.loads(line)
    except ValueError:
        raise ProtocolError(f"not a message: {line[:80]!r}") from None
    kind = MESSAGES.get(values.pop("message", "")) if isinstance(values, dict) else None
    if kind is None:
        raise ProtocolError(f"not a message: {line[:80]!r}")
    message: Message = _build(kind, values)
    return message


def _build(kind: type[Any], values: dict[str, Any]) -> Any:  # noqa: ANN401
    """A dataclass from the values of its fields, each of them checked."""
    what = kind.__name__
    hints = get_type_hints(kind)
    if unknown := values.keys() - hints.keys():
        raise ProtocolError(f"{what} has no field {', '.join(sorted(unknown))}")
    checked = {name: _check(hints[name], values[name], f"{what}.{name}") for name in values}
    try:
        return kind(**checked)
    except TypeError:
        missing = sorted(
            field.name
            for field in fields(kind)
            if field.name not in values and field.default is field.default_factory is MISSING
        )
        raise ProtocolError(f"{what} needs the fields {', '.join(missing)}") from None


def _check(hint: Any, value: Any, what: str) -> Any:  # noqa: ANN401
    """The value, if it is of the type; only the types that messages use are known."""
    if isinstance(hint, UnionType):
        # A union here is None, or plain types, or a dataclass or None.
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        if value is None and len(kinds) < len(get_args(hint)):
            return None
        if len(kinds) == 1:
            return _check(kinds[0], value, what)
        right = any(_plain(kind, value) for kind in kinds)
    elif is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _build(hint, value)
    elif get_origin(hint) is Literal:
        right = value in get_args(hint)
    elif get_origin(hint) is dict and isinstance(value, dict):
        _, kind = get_args(hint)
        return {name: _check(kind, each, f"{what}[{name!r}]") for name, each in value.items()}
    else:
        right = _plain(hint, value)
    if not right:
        raise ProtocolError(f"{what} cannot be {value!r}")
    return value


def _plain(kind: type, value: object) -> bool:
    """Whether the value is a number, text or truth value of this type."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def shared_times(file: Path | str) -> memoryview[float]:
    """The doubles of a file: the worker fills them one by one, and the harness counts them.

    All its room is taken at once (MAP_POPULATE), so that no page fault falls into the crawl.
    """
    with open(file, "r+b") as opened:
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        return memoryview(mmap.mmap(opened.fileno(), 0, flags=flags)).cast("d")


def own_times(number: int) -> memoryview[float]:
    """As many doubles of the worker's own, all zero, with all their room taken at once.

    They do not come from ``malloc``, whose state decides what asyncio's receive costs
    (:mod:`crawlers.heap`), so the instrument does not change what it measures.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    return memoryview(mmap.mmap(-1, 8 * max(number, 1), flags=flags)).cast("d")
