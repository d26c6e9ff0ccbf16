"""The table of workloads and profiles: what is measured, and how much of it.

A *workload* is a site, a job, the server's behaviour and what is measured. A
*point* is a workload at one setting (``throughput-100`` is the workload
``throughput`` with 100 slots). A *profile* is a set of points with the number
of blocks each takes part in, sized to fit a time on two processors.

How many pages a point has decides how long its trial lasts. Every backend
crawls the same pages, so that the digest can be checked; the counts below aim
at half a second to two seconds for the model backends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal

from bench.errors import BenchError

Kind = Literal["crawl", "hold", "openloop"]
Params = dict[str, int | float | str | None]

PAGE_BYTES = 2048
FANOUT = 10
SITE_SEED = 1
WARMUP_SITE = f"tree:200:{FANOUT}:{PAGE_BYTES}"
WAITING_DELAY = "lognormal:50"
RAMP_PER_S = 4000
"""Connections opened per second while a c10k trial fills up.

The same for every backend, because ten thousand at once overflow the accept
queue and cost the fastest backend seconds of SYN retransmission.
"""

HOLD_SWITCH_S = 10.0
"""Seconds a thread waits for the interpreter's lock before it asks for it, in a c10k trial.

The usual 5 ms (:func:`sys.setswitchinterval`) let a thousand waiting threads
take a whole processor for asking alone. They hold up the one that could go on,
more fall behind, and the crowd feeds itself: ten thousand threads took from 13
to more than 180 s to the barrier, whatever the pace. Every backend has the same;
a thread that waits for its socket passes the lock on by itself, so memory,
which is all that such a trial is about, does not change.
"""

AT = "@"
"""Stands between a backend and the interpreter it runs on, when that is not the harness's."""

TWIN = "callbacks"
TWIN_SUFFIX = "#2"
NULL_SUFFIX = "/null"
"""Ends the label, in the plan only, of a trial whose recorder keeps nothing."""

MODELS = ("threads", "callbacks", "generators", "async_await")
MAIN = (*MODELS, "gevent", "uvloop", "trio", "aiohttp")
"""The backends that stand in every chart of the full profile; the rest are on the ladder only."""
BASE = "callbacks"

DEBIAN_DOCS = (
    Path("/usr/share/doc/python3-doc/html"),
    *sorted(Path("/usr/share/doc").glob("python3.*/html"), reverse=True),
)
MIN_HTML_FILES = 20


class ProfileError(BenchError):
    """No such profile, workload or backend; the message lists what there is."""


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of one workload.

    ``site`` is the server's site specification, ``urls`` the number of URLs
    of a list (None: crawl from the root). ``variants`` lets the variants among
    :data:`MAIN` take part, and ``rest`` is the number of blocks in which all
    further backends do. ``expected_s`` is a first guess at a trial's length,
    until trials of the campaign say better.
    """

    id: str
    workload: str
    kind: Kind
    site: str
    slots: int
    blocks: int
    site_name: str = ""
    urls: int | None = None
    delay: str = "none"
    rate: int | None = None
    twin: bool = True
    variants: bool = True
    rest: int = 0
    recorder: Literal["times", "slots"] = "times"
    only: tuple[str, ...] | None = None
    null_recorder: bool = False
    ceiling: bool = False
    deadline_s: float = 60.0
    expected_s: float = 1.1

    @property
    def params(self) -> Params:
        """What stands in the record: everything that makes this point what it is."""
        return {
            "slots": self.slots,
            "site": self.site_name or self.site,
            "delay": self.delay,
            "connections": self.slots if self.kind == "hold" else None,
            "urls": self.urls,
            "rate": self.rate,
            "ramp_per_s": RAMP_PER_S if self.kind == "hold" else None,
            "switch_interval_s": HOLD_SWITCH_S if self.kind == "hold" else None,
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """A named amount of measuring."""

    name: str
    summary: str
    points: tuple[Point, ...]
    backends: tuple[str, ...] | None  # unless others are asked for; None for all there are


def tree(pages: int) -> str:
    """A tree site of so many 2 KB pages."""
    return f"tree:{pages}:{FANOUT}:{PAGE_BYTES}"


def throughput(slots: int, pages: int, blocks: int, variants: bool = True) -> Point:
    """Closed loop, no delay: what a page costs."""
    return Point(
        id=f"throughput-{slots}",
        workload="throughput",
        kind="crawl",
        site=tree(pages),
        slots=slots,
        blocks=blocks,
        ceiling=True,
        variants=variants,
    )


def waiting(slots: int, pages: int, blocks: int, variants: bool = True) -> Point:
    """Closed loop behind a delay of 50 ms: what waiting costs."""
    return Point(
        id=f"waiting-{slots}",
        workload="waiting",
        kind="crawl",
        site=tree(pages),
        delay=WAITING_DELAY,
        slots=slots,
        blocks=blocks,
        variants=variants,
    )


def ladder(slots: int, pages: int, blocks: int) -> Point:
    """Every backend there is, on pages so few that the slowest stacks can take part."""
    return replace(
        throughput(slots, pages, blocks), id=f"ladder-{slots}", workload="ladder", rest=blocks
    )


def regime(slots: int, delay_ms: int, pages: int, blocks: int) -> Point:
    """A cell of the regime map that no throughput or waiting point covers."""
    return replace(
        waiting(slots, pages, blocks, variants=False),
        id=f"regime-{slots}x{delay_ms}ms",
        workload="regime",
        delay=f"lognormal:{delay_ms}",
    )


def fairness(slots: int, urls: int, blocks: int) -> Point:
    """Which slot finished when: whether a model starves any.

    A list, so that every slot has work from the first moment until it runs out.
    """
    return Point(
        id=f"fairness-{slots}",
        workload="fairness",
        kind="crawl",
        site=f"list:{urls}:{PAGE_BYTES}",
        urls=urls,
        slots=slots,
        blocks=blocks,
        twin=False,
        variants=False,
        recorder="slots",
        expected_s=3.0,
    )


def c10k(connections: int, blocks: int, rest: int = 0) -> Point:
    """Connections held open at a barrier: what one costs in memory."""
    return Point(
        id=f"c10k-{connections}",
        workload="c10k",
        kind="hold",
        site=f"list:{connections}:{PAGE_BYTES}",
        urls=connections,
        slots=connections,
        blocks=blocks,
        rest=rest,
        twin=False,
        deadline_s=180.0,
        expected_s=1.0 + connections / RAMP_PER_S,
    )


def openloop(rate: int, seconds: float, blocks: int) -> Point:
    """Requests due on a Poisson schedule: what a user would wait."""
    urls = max(1, round(rate * seconds))
    return Point(
        id=f"openloop-{rate}",
        workload="openloop",
        kind="openloop",
        site=f"list:{urls}:{PAGE_BYTES}",
        urls=urls,
        slots=100,
        rate=rate,
        blocks=blocks,
        twin=False,
        variants=False,
        expected_s=seconds + 1.0,
    )


def recorder_cost(pages: int, blocks: int) -> Point:
    """The same crawl with a recorder that keeps times and one that keeps nothing."""
    return replace(
        throughput(100, pages, blocks),
        id="cost-100",
        workload="cost",
        ceiling=False,
        twin=False,
        variants=False,
        only=(BASE,),
        null_recorder=True,
    )


def real(blocks: int, variants: bool = True) -> list[Point]:
    """Real HTML from this machine; empty when there is none."""
    found = find_html()
    if found is None:
        return []
    path, name = found
    return [
        Point(
            id="real-10",
            workload="real",
            kind="crawl",
            site=f"dir:{path}",
            site_name=f"dir:{name}",
            slots=10,
            blocks=blocks,
            variants=variants,
        )
    ]


def find_html() -> tuple[Path, str] | None:
    """A tree of real HTML documentation and what to call it.

    Debian's python3-doc if it is there, otherwise the largest HTML tree with
    an index page that an installed Python distribution ships.
    """
    for path in DEBIAN_DOCS:
        if (path / "index.html").is_file():
            path = path.resolve()
            version = re.search(r"python3\.\d+", str(path))
            return path, f"python3-doc ({version.group() if version else 'python3'}, Debian)"
    best: tuple[int, Path, str] | None = None
    for distribution in metadata.distributions():
        pages = [file for file in distribution.files or () if file.suffix == ".html"]
        indexes = sorted(
            (file for file in pages if file.name == "index.html"), key=lambda file: len(file.parts)
        )
        if not indexes:
            continue
        top = indexes[0].parent
        count = sum(file.is_relative_to(top) for file in pages)
        if count >= MIN_HTML_FILES and (best is None or count > best[0]):
            folder = Path(str(distribution.locate_file(top)))
            if (folder / "index.html").is_file():
                name = f"{distribution.metadata['Name']} {distribution.version} (PyPI)"
                best = (count, folder.resolve(), name)
    return None if best is None else best[1:]


def smoke() -> list[Point]:
    """A little of everything but real HTML.

    The server crawls a directory of HTML itself, slowly, when it serves it for
    the first time: a quarter of the time that this profile may take.
    """
    return [
        throughput(1, 400, 1, variants=False),
        throughput(100, 2000, 2),
        waiting(10, 50, 1, variants=False),
        waiting(100, 500, 2, variants=False),
        *(c10k(connections, 1) for connections in (50, 100, 250, 500)),
        openloop(1000, 0.5, 1),
        openloop(4000, 0.5, 1),
        recorder_cost(2000, 1),
    ]


def quick() -> list[Point]:
    """A first honest answer in a few minutes.

    Five blocks are the fewest from which an interval is given; they go to the
    points whose differences are of interest. A point whose rate the delay
    sets has next to no spread and makes do with two.
    """
    return [
        throughput(1, 1000, 5, variants=False),
        throughput(10, 4000, 5, variants=False),
        throughput(100, 5000, 5),
        throughput(1000, 5000, 5, variants=False),
        waiting(1, 8, 2, variants=False),
        waiting(10, 100, 2, variants=False),
        waiting(100, 1000, 2, variants=False),
        waiting(1000, 3000, 5, variants=False),
        *(c10k(connections, 1) for connections in (100, 1000, 5000, 10000)),
        *(openloop(rate, 0.8, 1) for rate in (1000, 4000, 8000, 16000)),
        *real(2, variants=False),
        recorder_cost(5000, 5),
    ]


def full() -> list[Point]:
    """Enough blocks to see small differences, and every backend there is.

    The A/A twin takes part wherever a ratio may be drawn: more than forty
    comparisons of one backend with itself.
    """
    return [
        throughput(1, 3500, 6, variants=False),
        throughput(10, 8000, 6),
        throughput(100, 8000, 6),
        throughput(1000, 8000, 6),
        waiting(1, 15, 5, variants=False),
        waiting(10, 200, 5, variants=False),
        waiting(100, 2000, 5),
        waiting(1000, 6000, 5),
        *(regime(*cell, blocks=5) for cell in REGIME),
        ladder(100, 4000, 5),
        fairness(1000, 30000, 5),
        c10k(100, 3, rest=1),
        c10k(1000, 3, rest=3),
        c10k(2500, 2, rest=1),
        c10k(5000, 2),
        c10k(10000, 3, rest=1),
        *(openloop(rate, 2.0, 2) for rate in (1000, 4000, 8000, 16000, 24000, 32000)),
        *real(5),
        recorder_cost(8000, 10),
    ]


REGIME = (
    *((1, 1, 400), (10, 1, 2500), (100, 1, 4000), (1000, 1, 4000)),
    *((1, 10, 60), (10, 10, 500), (100, 10, 4000), (1000, 10, 4000)),
)
"""Slots, delay in ms, pages: what throughput (no delay) and waiting (50 ms) leave open."""


def interpreters() -> list[Point]:
    """One point for processor time and one for memory: for many interpreters side by side."""
    return [throughput(100, 5000, 5), c10k(2000, 5)]


PROFILES: dict[str, tuple[Callable[[], list[Point]], str, tuple[str, ...] | None]] = {
    "smoke": (
        smoke,
        "under 90 s: small sizes, two blocks; shows that it works, and no more",
        MODELS,
    ),
    "quick": (
        quick,
        "under 6 minutes: the default; first answers with wide intervals",
        (*MODELS, "uvloop", "trio", "aiohttp"),
    ),
    "full": (
        full,
        "under 45 minutes: six blocks, every backend; what a talk should cite",
        None,
    ),
    "interpreters": (
        interpreters,
        "for python -m bench interpreters: 20 s for each model on each interpreter",
        MODELS,
    ),
}


def profile(name: str) -> Profile:
    """The profile of that name.

    Raises :class:`ProfileError` for an unknown one.
    """
    if name not in PROFILES:
        raise ProfileError(f"unknown profile {name!r}: choose one of {', '.join(PROFILES)}")
    build, summary, backends = PROFILES[name]
    return Profile(name, summary, tuple(build()), backends)


def model_of(backend: str) -> str:
    """The backend without the interpreter that it is to run on."""
    return backend.partition(AT)[0]


def interpreter_of(backend: str) -> str:
    """The name of the interpreter that a backend is to run on, "" for the harness's own."""
    return backend.partition(AT)[2]


def on_each(backends: Sequence[str], interpreters: Sequence[str]) -> list[str]:
    """Every backend on every interpreter: what a campaign across interpreters compares."""
    return [f"{backend}{AT}{name}" for name in interpreters for backend in backends]


def labels(point: Point, backends: Sequence[str], *, everyone: bool = False) -> list[str]:
    """Whose trials a block of this point holds, the A/A twin included.

    ``everyone`` lets variants into points that are meant for the models: for
    when they were asked for by name.
    """
    chosen = [
        backend
        for backend in backends
        if (point.only is None or backend in point.only)
        and (
            everyone
            or model_of(backend) in MODELS
            or (point.variants if model_of(backend) in MAIN else point.rest)
        )
    ]
    twins = [backend for backend in chosen if point.twin and model_of(backend) == TWIN]
    extra = [f"{backend}{TWIN_SUFFIX}" for backend in twins[:1]]
    null = [f"{backend}{NULL_SUFFIX}" for backend in chosen] if point.null_recorder else []
    return [*chosen, *extra, *null]


def fewer(point: Point, labels: Sequence[str]) -> dict[str, int]:
    """The labels that take part in fewer blocks than the point has, and in how many."""
    if not 0 < point.rest < point.blocks:
        return {}
    return {label: point.rest for label in labels if model_of(backend_of(label)) not in MAIN}


def backend_of(label: str) -> str:
    """The backend behind a label."""
    return label.removesuffix(TWIN_SUFFIX).removesuffix(NULL_SUFFIX)
