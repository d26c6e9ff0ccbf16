"""What TLS adds: memory per connection, processor time per page, and the price of a handshake.

Memory is compared with the same backend's connections on plain HTTP: slopes with slopes,
and otherwise at the largest number of connections that both were measured at. The control
``bare_tls`` held connections with OpenSSL and little else, so what TLS adds splits into
OpenSSL's part and the library's.

A page is compared within blocks: a backend took turns with itself, on plain HTTP and over
TLS, on kept connections and with a connection for each page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.analysis import stats
from bench.analysis.segments import per_exchange
from bench.analysis.stats import MemoryFit, Spread
from bench.schema import TrialRecord
from bench.store import Records

CONTROL: Final = "bare_tls"
HELD, FETCHED, EACH_PAGE = stats.OVER_TLS, "tls-fetch", "tls-handshake"
WORKLOADS: Final = (HELD, FETCHED, EACH_PAGE)
OF_THE_USER: Final = "user"

Parts = Mapping[str, float]
"""Part of a connection's memory -> bytes."""


@dataclass(frozen=True, slots=True)
class HeldConnection:
    """A connection of one backend, on plain HTTP and over TLS, in bytes by part.

    ``connections`` is the number at which both were read, None where these are slopes.
    ``openssl`` is what the control's connection takes in user space.
    """

    label: str
    tls: Parts
    plain: Parts | None
    connections: int | None
    highest: int
    fixed: float | None
    interval: tuple[float, float] | None  # of the user part over TLS
    openssl: float | None

    @property
    def user(self) -> float:
        """User memory over TLS."""
        return self.tls[OF_THE_USER]

    @property
    def plain_user(self) -> float | None:
        """User memory on plain HTTP."""
        return None if self.plain is None else self.plain[OF_THE_USER]

    @property
    def total(self) -> float:
        """All parts over TLS."""
        return sum(self.tls.values())

    @property
    def plain_total(self) -> float | None:
        """All parts on plain HTTP."""
        return None if self.plain is None else sum(self.plain.values())

    @property
    def kernel(self) -> float:
        """All parts over TLS but the user's."""
        return self.total - self.user

    @property
    def library(self) -> float | None:
        """User memory that TLS adds beyond OpenSSL's; below 0 only by noise."""
        if self.plain_user is None or self.openssl is None:
            return None
        return self.user - self.plain_user - self.openssl


@dataclass(frozen=True, slots=True)
class PageOverTls:
    """Processor time of one backend's page in each mode: microseconds, over the blocks."""

    label: str
    costs: Mapping[str, Spread]  # mode -> µs per page
    encryption: Spread | None  # times the plain page, within blocks; kept connections
    handshake: Spread | None  # µs that a full handshake adds to a connection for each page
    resumption: Spread | None  # the same for a resumed one; None if it does not resume
    resumed: int  # handshakes of the server that allows it, as its ledger counted them
    full: int

    @property
    def resumes(self) -> bool | None:
        """Whether the backend resumes sessions by itself; None if that was not measured."""
        return self.resumed > 0 if self.resumed + self.full else None


@dataclass(frozen=True, slots=True)
class Encryption:
    """All that a campaign measured over TLS."""

    held: Sequence[HeldConnection] = ()
    pages: Sequence[PageOverTls] = ()
    openssl: float | None = None  # bytes of user memory for a connection of the control
    refused: Mapping[str, str] = field(default_factory=dict)  # label -> why

    def of(self, label: str) -> HeldConnection | None:
        """The connections of one backend."""
        return next((row for row in self.held if row.label == label), None)


def encryption(records: Records) -> Encryption:
    """What TLS adds, by the records of one campaign; empty where nothing was measured over it."""
    controls = [
        trial
        for trial in records.controls
        if trial.label == CONTROL and trial.status == "ok" and stats.holds(trial)
    ]
    plain = stats.held_trials(records)
    held = [
        _held(label, trials, plain.get(label, ()), controls)
        for label, trials in stats.held_trials(records, over_tls=True).items()
    ]
    refused = {
        trial.label: trial.reason or "no reason given"
        for trial in stats.trials_of(records, *WORKLOADS, status="refused", twins=False)
    }
    user = stats.fit_label(CONTROL, controls).at_highest[OF_THE_USER] if controls else None
    return Encryption([row for row in held if row], _pages(records), user, refused)


def measured(records: Records) -> bool:
    """Whether a campaign has trials over TLS, valid or not."""
    return bool(stats.trials_of(records, *WORKLOADS, status=None))


def _held(
    label: str,
    tls: Sequence[TrialRecord],
    plain: Sequence[TrialRecord],
    controls: Sequence[TrialRecord],
) -> HeldConnection | None:
    over = stats.fit_label(label, tls)
    on = stats.fit_label(label, plain) if plain else None
    at: int | None = None
    if not _fitted(over) or (on is not None and not _fitted(on)):
        common = set(over.connections) & set(on.connections if on else over.connections)
        at = max(common or over.connections)
        over = stats.fit_label(label, _with(tls, at))
        on = stats.fit_label(label, same) if (same := _with(plain, at)) else None
    parts, plain_parts = _parts(over), _parts(on) if on else None
    if OF_THE_USER not in parts:
        return None
    user = over.parts[OF_THE_USER]
    return HeldConnection(
        label=label,
        tls=parts,
        plain=plain_parts if plain_parts and OF_THE_USER in plain_parts else None,
        connections=at,
        highest=max(trial.memory.connections for trial in tls if trial.memory),
        fixed=over.fixed,
        interval=None if user.low is None or user.high is None else (user.low, user.high),
        openssl=_openssl(controls, at),
    )


def _openssl(controls: Sequence[TrialRecord], at: int | None) -> float | None:
    """User memory of the control's connection, read as the backend's was."""
    mine = controls if at is None else _with(controls, at)
    return _parts(stats.fit_label(CONTROL, mine)).get(OF_THE_USER) if mine else None


def _with(trials: Sequence[TrialRecord], connections: int) -> list[TrialRecord]:
    return [t for t in trials if t.memory and t.memory.connections == connections]


def _fitted(fit: MemoryFit) -> bool:
    return fit.parts[OF_THE_USER].slope is not None


def _parts(fit: MemoryFit) -> dict[str, float]:
    """Bytes per connection of the parts that were read: slopes, or at the largest number."""
    found = {
        name: part.slope if _fitted(fit) else fit.at_highest[name]
        for name, part in fit.parts.items()
    }
    return {name: max(value, 0.0) for name, value in found.items() if value is not None}


Blocks = dict[int, float]
"""Block -> microseconds per page."""


def _pages(records: Records) -> list[PageOverTls]:
    counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for trial in stats.trials_of(records, EACH_PAGE, twins=False):
        seen = trial.ledger.handshakes if trial.ledger else None
        if trial.params.get("mode") == "tickets" and seen is not None:
            resumed, full = counts[trial.label]
            counts[trial.label] = resumed + seen.resumed, full + seen.full
    found = []
    for label, mine in costs_in_modes(records, FETCHED, EACH_PAGE).items():
        resumed, full = counts[label]
        spreads = {mode: stats.spread(blocks.values()) for mode, blocks in mine.items()}
        found.append(
            PageOverTls(
                label=label,
                costs={mode: spread for mode, spread in spreads.items() if spread},
                encryption=within(mine, "tls", "plain", lambda tls, plain: tls / plain),
                handshake=within(mine, "handshake", "churn", lambda with_it, bare: with_it - bare),
                resumption=within(mine, "tickets", "churn", lambda with_it, bare: with_it - bare)
                if resumed
                else None,
                resumed=resumed,
                full=full,
            )
        )
    return found


def costs_in_modes(records: Records, *workloads: str) -> dict[str, dict[str, Blocks]]:
    """What each backend's page takes in each mode, label by label in the campaign's order."""
    costs: dict[str, dict[str, Blocks]] = defaultdict(lambda: defaultdict(dict))
    for trial in stats.trials_of(records, *workloads, twins=False):
        value = per_exchange(trial)
        if value is not None:
            costs[trial.label][str(trial.params.get("mode"))][trial.block] = value
    return {label: costs[label] for label in stats.labels_of(records) if label in costs}


def within(
    costs: Mapping[str, Blocks], one: str, other: str, how: Callable[[float, float], float]
) -> Spread | None:
    """Two modes compared block by block."""
    mine, base = costs.get(one, {}), costs.get(other, {})
    return stats.spread(
        how(mine[block], base[block]) for block in sorted(mine.keys() & base.keys())
    )
