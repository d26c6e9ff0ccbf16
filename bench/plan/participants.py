"""Which backends take part in a workload point, in how many of its blocks, and as which labels.

A label says which of the trials of a block one is: a backend, on an interpreter, under a condition.
In records, charts and commands it is text such as ``callbacks@3.13.5t/asleep``, or ``callbacks#2``
for a twin; here it is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from crawlers.catalogue import HANDED_OVER, OURS, tagged
from crawlers.registry import MODELS

if TYPE_CHECKING:  # bench.plan.backends runs on interpreters that have no pydantic
    from bench.schema import TrialRecord

MAIN_VARIANTS = tagged("main")
"""The variants in every chart of the full profile; all others are on the ladder only."""

CITED: Final = (*MODELS, *MAIN_VARIANTS)
"""Whom README's table and sentences are about."""

OTHER_LIBRARIES = tuple(name for name in MAIN_VARIANTS if OURS[name].family != "threads")
"""The main variants that one would take in place of asyncio."""

BASE = "callbacks"
"""The backend that ratios are taken against."""

MAPPED = tagged("mapped")
"""What asyncio costs where malloc maps every receive, each against the name without the end."""

TWINS = (BASE, "threads", "async_await")
"""The backends that run twice in a block as A/A pairs: not all models are equally noisy."""

PINNED = "threads_one_processor"
"""``threads`` on one processor."""

PAIRED = (BASE, PINNED)
"""What those with several threads are compared with: see ASLEEP of bench.conditions."""

SPREADING = (*tagged("spreads"), "partition")
"""The backends that use every processor they are given; ``partition`` is in records only.

``loop_per_thread`` does on any interpreter, but with a lock its threads take turns on them.
"""

FREE = "threads"
"""The model that uses every processor on an interpreter without the lock, and on no other."""


ABLE: Final = (*SPREADING, *HANDED_OVER)
"""The backends that can use every processor they are given."""

SWITCHING = ("threads", "threads_long_switch")
"""The backends that show what the interpreter's switch interval does to many threads."""

TLS_PAGES: Final = (
    "asyncio_protocol",
    "uvloop_protocol",
    "anyio",
    "tornado",
    "aiofastnet",
    "aiofastnet_protocol",
    "urllib3",
    "requests",
    "httpx",
    "httpx2",
)
"""Whose pages are measured over TLS beside :data:`CITED`: every library with its own way to do it.

Rungs that change something else (timeouts, the selector's system call, a thread's stack) do
TLS as the backend that they change, and tuned stacks as the stack. Their memory is measured all
the same.
"""

SMALL_BUFFER: Final = ("asyncio_small_tls",)
"""The rung that makes asyncio's buffer small: beside the default at every number."""

REMEDIES: Final = ("async_await_to_thread", "async_await_pool", "threads")
"""The remedies for a loop, and the model whose threads pass the interpreter's lock on."""

LOOPS: Final = (BASE, "async_await", "uvloop")
"""One thread each, so that every page waits until the work on another is done."""

MIXED: Final = (*LOOPS, *REMEDIES, "threads_short_switch", "threads_long_switch", "processes")

FEWER_MIXED: Final = tuple(name for name in MIXED if name not in ("uvloop", "threads_long_switch"))
"""The backends where the work is short or long: two loops say as much as three."""


@dataclass(frozen=True, slots=True)
class Participants:
    """In how many blocks of a point each backend takes part: by groups of names, and all others.

    A backend of several groups counts with the first. ``rest`` is None where nobody else takes
    part, even if the user names them. Variants that change nothing but work
    (:data:`crawlers.catalogue.HANDED_OVER`) take part where a group has them, or the user did.
    """

    groups: tuple[tuple[tuple[str, ...], int], ...]
    rest: int | None = 0

    @property
    def blocks(self) -> int:
        return max(self.rest or 0, *(blocks for _, blocks in self.groups))

    def blocks_of(self, name: str, *, named: bool = False) -> int:
        """In how many blocks a backend takes part; in every block if the user named it."""
        for names, blocks in self.groups:
            if name in names:
                return self.blocks if named else blocks
        if named and self.rest is not None:
            return self.blocks
        return 0 if name in HANDED_OVER else self.rest or 0

    def resized(self, blocks: int) -> Participants:
        """The same in another number of blocks; who was in every block stays in every block."""

        def fitted(group: int) -> int:
            return blocks if group == self.blocks else min(group, blocks)

        return Participants(
            tuple((names, fitted(group)) for names, group in self.groups),
            None if self.rest is None else fitted(self.rest),
        )


def usually(names: tuple[str, ...], blocks: int, *, rest: int = 0) -> Participants:
    """These backends; any other in ``rest`` blocks, or in every block if the user names it."""
    return Participants(((names, blocks),), rest)


def only(names: tuple[str, ...], blocks: int) -> Participants:
    return Participants(((names, blocks),), None)


# --- labels ------------------------------------------------------------------------------

TWIN: Final = "2"
"""The condition of a twin, which changes nothing."""


@dataclass(frozen=True, slots=True)
class Label:
    """A registered backend, and what sets its trial apart from the backend's other trials.

    ``interpreter`` is "" for the harness's own. A ``condition`` is one of the point's
    (:attr:`bench.plan.workloads.Point.varied`). But for a twin's, records have it in their
    parameters, and not in their label.
    """

    name: str
    interpreter: str = ""
    condition: str = ""

    @classmethod
    def parse(cls, text: str) -> Label:
        """The label that :func:`str` turns into this text."""
        recorded, _, condition = text.partition("/")
        backend, _, twin = recorded.partition("#")
        name, _, interpreter = backend.partition("@")
        return cls(name, interpreter, condition or twin)

    @classmethod
    def of(cls, record: TrialRecord) -> Label:
        """The label under which this trial was planned."""
        label = cls.parse(record.label)
        return replace(label, condition=str(record.params.get("condition") or label.condition))

    @property
    def backend(self) -> str:
        """The backend as records name it: with its interpreter, if that is not the harness's."""
        return f"{self.name}@{self.interpreter}" if self.interpreter else self.name

    @property
    def recorded(self) -> str:
        """The label as records and charts name it."""
        return f"{self.backend}#{TWIN}" if self.condition == TWIN else self.backend

    def __str__(self) -> str:
        own = self.condition if self.condition != TWIN else ""
        return f"{self.recorded}/{own}" if own else self.recorded


def twin_of(backend: str) -> str:
    """The label of a backend's second trial in a block."""
    return str(replace(Label.parse(backend), condition=TWIN))


def on_each(names: Sequence[str], interpreters: Sequence[str]) -> list[str]:
    """Every backend on every interpreter, as a campaign across interpreters compares them."""
    return [Label(name, interpreter).backend for interpreter in interpreters for name in names]
