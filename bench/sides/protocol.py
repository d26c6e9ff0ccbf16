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
import os
import random
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal, TextIO, cast, get_args, get_type_hints

GO = "go"
"""The line that starts the timed crawl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When requests are due: ``rate`` per second, evenly spaced or as a seeded Poisson process.

    The times of the first ``warmup`` of them do not count: slots start and connect meanwhile.

    A ``ramp`` is the start of a closed loop (:class:`bench.conditions.schedule.Opening`): only the
    first requests of each of ``slots`` slots are due at set times, behind a delay of ``delay_s``,
    and the first of all after ``lead_s``.
    """

    kind: Literal["constant", "poisson", "ramp"]
    rate: float
    seed: int = 0
    warmup: int = 0
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
    pages: int
    check: int  # what it all came to
    cpu_s: float  # processor time that it took
    wall_s: float  # what that was by the clock
    threads: int  # in how many threads it was done


How = Literal["press", "accept", "hold", "schedule", "slow"]
"""What a load does with its connections: see :class:`Load`."""

FAST: Final = 10
"""Clients that read as fast as they can, beside those that do not."""

SEGMENT: Final = 1460
"""Bytes of a segment to a slow reader, as on Ethernet. On loopback it has 64 KiB, and the kernel
would buffer an answer of a megabyte whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How a load asks a server for the pages of its list, until the harness stops it.

    Each connection asks for one page again and again (``press``), once only, before another takes
    its place (``accept``), or for one page and for another before it closes (``hold``). On a
    ``schedule`` requests are due for ``seconds`` at ``rate``, and one in ``every`` asks for a page
    that needs work. With ``slow`` every connection asks for one page and reads it slowly, while
    ``FAST`` others keep such a schedule: first alone, then beside them.
    """

    how: How
    awake: bool  # never sleeps, so that no send of the server has to wake its processor
    rate: int = 0
    seconds: float = 0.0
    seed: int = 0
    every: int = 0  # 0: no page needs work
    answers: int = 0  # ``press`` stops by itself after so many; 0: it is told to stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One crawl to run, or one load.

    ``progress`` is shared memory of doubles. A worker that takes turns keeps the end of each
    exchange there. A load counts answers, or connections held, in the first; a second that is not
    0 stops it.
    """

    backend: str
    prefix: str
    urls: int | None  # pages ``/p/0 ...`` of a list site; None: crawl from the root
    slots: int
    timeout_s: float
    warmup_prefix: str = ""
    schedule: Schedule | None = None
    switch_interval_s: float | None = None
    recorder: Literal["times", "slots", "windows", "null"] = "times"
    out: str = ""  # the names of the files with times start with this
    progress: str | None = None
    cafile: str | None = None  # the authorities to trust where the prefixes are https
    keep_alive: bool = True  # False: a connection for each page
    cancel: bool = False  # the harness will interrupt the crawl
    work: Working | None = None
    flip: str = ""  # what is not as always (bench.conditions.flips)
    sets: dict[str, int | str] = field(default_factory=dict)  # in modules (bench.conditions)
    load: Load | None = None


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


@dataclass(frozen=True, slots=True)
class Served:
    """What a server under test has served: as it says at its end, and as the load has it.

    The load compared every answer with its page, byte by byte.
    """

    requests: int
    checksum: int  # the CRC-32 of all bodies, added up
    connections: int = 0  # 0: the server does not count them
    worked: int = 0  # requests that needed work


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a crawl or a load did, and what it cost the worker's process."""

    elapsed_s: float  # the crawl as the backend's own clock has it
    pages: int
    bytes: int
    answered: int
    urls: int
    statuses: dict[str, int]
    digest: str
    call_s: float  # the whole call of the backend
    user_s: float
    system_s: float
    kept: dict[str, int]  # how many values there are in the files of these names
    redirects: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    stopped: str | None = None
    mechanism: dict[str, str | int] = field(default_factory=dict)
    page_faults: int = 0
    voluntary: int = 0  # context switches of the process and of its children that have ended
    involuntary: int = 0
    late: int = 0
    last_due_s: float | None = None
    ending: Ending | None = None  # of a crawl that was interrupted
    work: Worked | None = None
    loaded: Served | None = None  # of a load


@dataclass(frozen=True, slots=True)
class Failed:
    error: str


Message = Command | Ready | Result | Failed
MESSAGES: dict[str, type[Message]] = {kind.__name__.lower(): kind for kind in get_args(Message)}


def encode(message: Message) -> str:
    """One line of JSON, without the newline."""
    return json.dumps({"message": type(message).__name__.lower(), **asdict(message)})


def decode(line: str) -> Message:
    """The message in a line.

    Raises :class:`ValueError` when there is none, or when it has other fields: harness and
    worker may be of two releases where they run on two machines.
    """
    try:
        values = json.loads(line)
        message: Message = _build(MESSAGES[values.pop("message")], values)
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a message: {line[:80]!r}: {error}") from None
    return message


def _build(kind: type[Any], values: dict[str, Any]) -> Any:  # noqa: ANN401
    hints = get_type_hints(kind)
    for name, value in values.items():
        parts = [part for part in get_args(hints.get(name)) if is_dataclass(part)]
        if parts and isinstance(value, dict):
            values[name] = _build(cast("type[Any]", parts[0]), value)
    return kind(**values)


def send(message: Message, replies: TextIO) -> None:
    print(encode(message), file=replies, flush=True)


SHARED: Final = "/dev/shm"  # nosec B108  # asked whether it can be written to, and named


def obey(work: Callable[[Command, TextIO, TextIO], None], replies: TextIO) -> int:
    """Run the one command that comes on standard input. Exit code 2 when none comes, else 0."""
    line = sys.stdin.readline()
    if not line:
        return 2
    try:
        command = decode(line)
        if not isinstance(command, Command):
            raise TypeError(f"expected a command, got {line[:80]!r}")
        work(command, sys.stdin, replies)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError) and not (error.filename or os.access(SHARED, os.W_OK)):
            said += f"; {SHARED} is not writable, and processes have their semaphores there"
        send(Failed(said), replies)
        raise
    return 0


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


# --- arrivals ----------------------------------------------------------------------------
#
# When the requests of an open loop are due and which need work, from the seed of the trial: a
# worker and a load keep to it, and the analysis makes it again.

WORK_EVERY: Final = 10
"""One page in so many needs work, where any does."""


def poisson(rate: float, seed: int, count: int) -> tuple[float, ...]:
    """When ``count`` requests are due, in seconds from the start.

    Exponential gaps of mean ``1 / rate``, so that arrivals bunch as those of independent
    users do.
    """
    rng = random.Random(seed)
    now, due = 0.0, []
    for _ in range(count):
        now += rng.expovariate(rate)
        due.append(now)
    return tuple(due)


def chosen(count: int, every: int, seed: int) -> frozenset[int]:
    """Which of so many pages need work: one in ``every``, at random places, so that they bunch."""
    return frozenset(random.Random(seed).sample(range(count), count // every))
