"""Made-up trials over TLS, to add to a made-up campaign: held connections, pages, handshakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.conditions.ways import ENCRYPTED, HANDSHAKE, NEW, PLAIN, TICKETS
from bench.questions import tls_pages
from bench.schema import AnyRecord, Handshakes, TrialRecord
from bench.sides.tls import Tls
from bench.text import KIB
from tests.bench.altered import altered
from tests.bench.costed import trials
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, _Maker, campaign, extended


@dataclass(frozen=True)
class OverTls:
    """A made-up backend over TLS: what it adds, in KiB and in microseconds."""

    library_kib: float
    encryption_us: float
    handshake_us: float
    resumes: bool = False


OPENSSL_KIB = 19.0
PLAIN_US, CHURN_US = 20.0, 80.0
ADDED = {
    "threads": OverTls(1.0, 12.0, 1000.0),
    "callbacks": OverTls(0.5, 12.0, 1000.0),
    "generators": OverTls(0.5, 13.0, 1020.0),
    "async_await": OverTls(275.0, 30.0, 1600.0),
    "uvloop": OverTls(26.0, 16.0, 1200.0),
    "trio": OverTls(0.2, 40.0, 2300.0),
    "aiohttp": OverTls(276.0, 35.0, 1700.0, resumes=True),
}
COUNTS = (100, 300, 1000, 10_000)


def encrypted(
    *,
    backends: Sequence[str] = MODELS,
    blocks: int = 3,
    counts: Sequence[int] = COUNTS,
    control: bool = True,
    pages: bool = True,
    refused: Mapping[str, str] | None = None,
    **options: Any,
) -> list[AnyRecord]:
    """The records of a campaign that also measured over TLS; ``refused`` maps backends to why."""
    records = campaign(backends=backends, blocks=blocks, **options)
    make = _Maker(9, 0.01, effects=True, samples=20)
    found: list[AnyRecord] = []
    for block in range(blocks):
        for place, name in enumerate(backends):
            found += [_held(make, block, place, name, count) for count in counts]
        if control:
            found += [_control(make, block, count) for count in counts]
    if pages:
        found += map(_shaken, trials(tls_pages.COLUMNS, cost_us, backends, blocks))
    for name, reason in (refused or {}).items():
        trial = _held(make, 0, 0, name, counts[-1])
        found.append(altered(trial, status="refused", reason=reason, memory=None))
    points = [f"tls-c10k-{count}" for count in counts]
    points += ["tls-fetch-100"] if pages else []
    return extended(records, points, found)


def _held(make: _Maker, block: int, place: int, name: str, count: int) -> Any:
    trial = make.held(block, place, name, count)
    more = int((OPENSSL_KIB + ADDED[name].library_kib) * KIB * count)
    place_ = {"workload": "tls-c10k", "point": f"tls-c10k-{count}", "params__tls": Tls().words}
    return altered(trial, **place_, memory__held__user_bytes=user_bytes(trial) + more)


def user_bytes(trial: TrialRecord) -> int:
    return sure(sure(trial.memory).held.user_bytes)


def _control(make: _Maker, block: int, count: int) -> Any:
    trial = make.held(block, 0, "callbacks", count)
    own = (sure(trial.memory).before.user_bytes or 0) + int(OPENSSL_KIB * KIB * count)
    who = {"kind": "control", "backend": "bare_tls", "label": "bare_tls", "family": "control"}
    where = {"workload": "tls-c10k", "point": f"tls-c10k-{count}"}
    return altered(trial, **who, **where, memory__held__user_bytes=own)


def cost_us(name: str, key: str) -> float:
    added = ADDED[name]
    return {
        "plain": PLAIN_US,
        "tls": PLAIN_US + added.encryption_us,
        "churn": CHURN_US,
        "shake": CHURN_US + added.handshake_us,
        "tickets": CHURN_US + added.handshake_us * (0.4 if added.resumes else 1.0),
    }[key]


def _shaken(trial: TrialRecord) -> TrialRecord:
    """With its handshakes as the server counted them; some backends resume sessions."""
    mode = str(trial.params["mode"])
    resumed = 490 if mode == "tickets" and ADDED[trial.label].resumes else 0
    ways = (PLAIN, ENCRYPTED, NEW, HANDSHAKE, TICKETS)
    over = next(way.tls for way in ways if way.name == mode)
    seen = Handshakes(full=500 - resumed, resumed=resumed, failed=0) if over else None
    return altered(trial, params__tls=over and over.words, ledger__handshakes=seen)
