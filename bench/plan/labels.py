"""Labels: which of the trials of a block one is: a backend, on an interpreter, under a condition.

In records, charts and commands a label is text such as ``callbacks@3.13.5t/asleep``, or
``callbacks#2`` for a twin; here it is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # bench.plan.backends runs on interpreters that have no pydantic
    from bench.schema import TrialRecord

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
