"""Other records made of made-up ones: values deep inside them, and trials in place of trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pydantic import BaseModel

from bench.schema import AnyRecord, TrialRecord

Model = TypeVar("Model", bound=BaseModel)


def altered(record: Model, **values: Any) -> Model:
    """A copy with these values; ``a__b`` is ``b`` in what the field ``a`` holds."""
    update: dict[str, Any] = {}
    for path, value in values.items():
        name, _, rest = path.partition("__")
        if rest:
            inner = update.get(name, getattr(record, name))
            inside = isinstance(inner, BaseModel)
            value = altered(inner, **{rest: value}) if inside else {**inner, rest: value}
        update[name] = value
    return record.model_copy(update=update)


def replaced(
    records: Iterable[AnyRecord], made: Callable[[TrialRecord], TrialRecord | Iterable[TrialRecord]]
) -> list[AnyRecord]:
    """The records, each trial replaced by what is made of it: one trial, none, or several."""
    found: list[AnyRecord] = []
    for record in records:
        new = made(record) if isinstance(record, TrialRecord) else [record]
        found += [new] if isinstance(new, TrialRecord) else new
    return found


def where(
    records: Iterable[AnyRecord], met: Callable[[TrialRecord], object], **values: Any
) -> list[AnyRecord]:
    """The records, with these values in trials that meet a condition; or functions of a trial."""

    def made(trial: TrialRecord) -> TrialRecord:
        own = {name: value(trial) if callable(value) else value for name, value in values.items()}
        return altered(trial, **own)

    return replaced(records, lambda trial: made(trial) if met(trial) else trial)
