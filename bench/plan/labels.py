"""Labels: which of the trials of a block one is.

A block may hold a backend more than once: on several interpreters, as the twin
of the A/A pair, with a recorder that keeps nothing, against a server
that sleeps, on all processors where others have one, or in several modes
(:mod:`bench.plan.tls`).
In records, charts and commands a label is text such as ``callbacks@3.13.5t#2``; here it
is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from bench.plan.tls import WAYS, Mode

if TYPE_CHECKING:  # bench.plan.backends runs on interpreters that have no pydantic
    from bench.schema import TrialRecord

INTERPRETER = "@"
TWIN = "#2"
MARKS = {
    "twin": TWIN,
    "null_recorder": "/null",
    "asleep": "/asleep",
    "wide": "/all",
    "flipped": "/flipped",
}
"""What stands behind a label's backend, in this order, before its mode."""


@dataclass(frozen=True, slots=True)
class Label:
    """A registered backend, and what sets its trial apart from the backend's other trials.

    ``interpreter`` is "" for the harness's own. ``null_recorder``, ``asleep``,
    ``wide``, ``flipped`` and ``mode`` appear in plans only: the record of such a trial has
    them in its parameters.
    """

    name: str
    interpreter: str = ""
    twin: bool = False
    null_recorder: bool = False
    asleep: bool = False
    wide: bool = False
    flipped: bool = False
    mode: Mode = ""

    @classmethod
    def parse(cls, text: str) -> Label:
        """The label that :func:`str` turns into this text."""
        mode = next((mode for mode in WAYS if text.endswith(f"/{mode}")), "")
        text = text.removesuffix(f"/{mode}") if mode else text
        marks = {}
        for name, mark in reversed(MARKS.items()):
            marks[name] = text.endswith(mark)
            text = text.removesuffix(mark)
        backend, _, interpreter = text.partition(INTERPRETER)
        return cls(backend, interpreter, mode=cast("Mode", mode), **marks)

    @classmethod
    def of(cls, record: TrialRecord) -> Label:
        """The label under which this trial was planned."""
        params = record.params
        return replace(
            cls.parse(record.label),
            null_recorder=params.get("recorder") == "null",
            asleep=params.get("server") == "asleep",
            wide=params.get("processors") == "all",
            flipped="flipped" in params,
            mode=cast("Mode", params.get("mode") or ""),
        )

    @property
    def backend(self) -> str:
        """The backend as records name it: with its interpreter, if that is not the harness's."""
        return f"{self.name}{INTERPRETER}{self.interpreter}" if self.interpreter else self.name

    @property
    def recorded(self) -> str:
        """The label as records and charts name it."""
        return self.backend + TWIN * self.twin

    def __str__(self) -> str:
        marks = "".join(mark for name, mark in MARKS.items() if getattr(self, name))
        return self.backend + marks + (f"/{self.mode}" if self.mode else "")


def twin_of(backend: str) -> str:
    """The label of a backend's second trial in a block."""
    return str(replace(Label.parse(backend), twin=True))


def on_each(names: Sequence[str], interpreters: Sequence[str]) -> list[str]:
    """Every backend on every interpreter, as a campaign across interpreters compares them."""
    return [Label(name, interpreter).backend for interpreter in interpreters for name in names]
