"""The record of micro-benchmarks, counts and trials, and the account made from it.

An account compares the sum of price times number with the measured processor time of
a page. It needs nothing but the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pydantic import ValidationError

from bench.analysis import stats
from bench.errors import BenchError
from bench.micro.operations import FAULTS, GROUPS, OPERATIONS, SLEEPS, WAKES, Operation, Sum
from bench.schema import Environment, Record

FILE_NAME = "micro.json"


class MicroError(BenchError):
    """The account cannot be made; the message says why and what to do."""


class Price(Record):
    """The cost of one operation in microseconds of processor time: quartiles over batches."""

    group: str
    median_us: float
    q1_us: float
    q3_us: float
    min_us: float
    batches: int


class PageTrial(Record):
    """One trial, per page: the crawler's processor time, context switches and page faults."""

    block: int
    user_us: float
    system_us: float
    sleeps: float  # voluntary context switches of the crawler
    wakes: float  # voluntary context switches of the server, each ended by a request
    faults: float  # page faults of the crawler that needed no disk


class Model(Record):
    """The measurements of one backend. ``calls`` are per page, by name."""

    calls: dict[str, float]
    trials: list[PageTrial]
    void: list[str]  # one reason per trial that does not count


class MicroRecord(Record):
    """Everything that one run measured."""

    created: str
    command: list[str]
    environment: Environment
    point: str
    site: str
    slots: int
    blocks: int
    seed: int
    prices: dict[str, Price]
    models: dict[str, Model]


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One operation in an account; None where a price or a number is missing."""

    title: str
    group: str
    each_us: float | None
    number: float | None
    page_us: float | None
    low_us: float  # with prices at their quartiles
    high_us: float


@dataclass(frozen=True, slots=True)
class Account:
    """One backend's page: its explained and its measured time (None without trials)."""

    backend: str
    rows: tuple[AccountRow, ...]
    measured: stats.Spread | None

    @property
    def explained_us(self) -> float:
        """The sum of all rows."""
        return sum(row.page_us or 0.0 for row in self.rows)

    @property
    def low_us(self) -> float:
        """The sum with every price at its lower quartile."""
        return sum(row.low_us for row in self.rows)

    @property
    def high_us(self) -> float:
        """The sum with every price at its upper quartile."""
        return sum(row.high_us for row in self.rows)

    @property
    def measured_us(self) -> float | None:
        """The median over trials; None without any."""
        return self.measured.median if self.measured else None

    @property
    def share(self) -> float | None:
        """The fraction of the measured time that the sum explains; above 1 if it is too large."""
        return self.explained_us / self.measured.median if self.measured else None

    @property
    def groups(self) -> dict[str, float]:
        """Microseconds per page by group, in the order of the bar; without empty groups."""
        sums = {
            group: sum(row.page_us or 0.0 for row in self.rows if row.group == group)
            for group in GROUPS
        }
        return {group: value for group, value in sums.items() if value}


def total(terms: Sum, values: Mapping[str, float]) -> float | None:
    """A weighted sum of the known values; None if none of them is known."""
    known = [name for name in terms if name in values]
    return sum(terms[name] * values[name] for name in known) if known else None


def counts(model: Model) -> dict[str, float]:
    """All counts per page, from the profile hook and from the trials."""
    found = dict(model.calls)
    if model.trials:
        found[SLEEPS] = median(trial.sleeps for trial in model.trials)
        found[WAKES] = median(trial.wakes for trial in model.trials)
        found[FAULTS] = median(trial.faults for trial in model.trials)
    return found


def price(
    operation: Operation, prices: Mapping[str, Price], pick: Callable[[Price, bool], float]
) -> float | None:
    """The price of an operation; None unless all of its micro-benchmarks were run.

    ``pick`` takes a price and whether it is subtracted.
    """
    if not operation.price.keys() <= prices.keys():
        return None
    return sum(factor * pick(prices[name], factor < 0) for name, factor in operation.price.items())


def row(operation: Operation, prices: Mapping[str, Price], number: float | None) -> AccountRow:
    """One line of an account."""
    each = price(operation, prices, lambda p, _: p.median_us)
    low = price(operation, prices, lambda p, minus: p.q3_us if minus else p.q1_us)
    high = price(operation, prices, lambda p, minus: p.q1_us if minus else p.q3_us)
    if each is None or low is None or high is None or number is None:
        return AccountRow(operation.title, operation.group, each, number, None, 0.0, 0.0)
    return AccountRow(
        operation.title,
        operation.group,
        each,
        number,
        each * number,
        low * number,
        high * number,
    )


def account(record: MicroRecord, backend: str) -> Account:
    """The account of one backend."""
    model = record.models[backend]
    found = counts(model)
    return Account(
        backend,
        tuple(
            row(operation, record.prices, total(operation.number, found))
            for operation in OPERATIONS[backend]
        ),
        stats.spread(trial.user_us + trial.system_us for trial in model.trials),
    )


def accounts(record: MicroRecord) -> list[Account]:
    """The accounts of all backends in the record, in the order of the models."""
    return [account(record, backend) for backend in OPERATIONS if backend in record.models]


def load(folder: Path) -> MicroRecord:
    """The record in a folder. Raises :class:`MicroError` if there is none."""
    file = folder / FILE_NAME
    try:
        return MicroRecord.model_validate_json(file.read_bytes())
    except OSError as error:
        raise MicroError(
            f"{file}: {error.strerror}; measure with python -m bench micro --out {folder}"
        ) from None
    except ValidationError as error:
        raise MicroError(
            f"{file}: not a record of bench micro: {error.errors()[0]['msg']}"
        ) from None
