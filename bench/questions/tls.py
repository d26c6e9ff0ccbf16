"""What does encryption cost?

A backend takes turns with itself: pages of a list on plain HTTP and over TLS, on kept connections
and with a connection for each page. So encryption is a ratio within a block, and a handshake a
difference.
"""

from __future__ import annotations

from collections import defaultdict
from operator import sub
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions.question import RANGES, Answer, bars, of_models
from bench.show.measured import US, Blocks, Measure, Measured, within
from bench.text import listing

NAME: Final = "tls_pages"
ASKS: Final = "What does encryption cost?"
FETCHED, EACH_PAGE = "tls-fetch", "tls-handshake"
"""The workloads: on kept connections, and with a connection for each page."""

ENCRYPTION, HANDSHAKE, RESUMPTION = "encryption", "handshake", "resumption"
MEASURES: Final = {
    "plain": Measure("plain", "a fetched page at 10 slots, processor time", US),
    "tls": Measure("over TLS", "… over TLS", US),
    ENCRYPTION: Measure("encryption", "… what TLS adds", US),
    "churn": Measure("with a connection each", "… with a connection of its own", US),
    "shake": Measure("with a handshake each", "… with a connection and a handshake of its own", US),
    HANDSHAKE: Measure("the handshake", "a full handshake, processor time", US),
    RESUMPTION: Measure("a resumed one", "… a resumed one", US),
}
FROM: Final = {"plain": "plain", "tls": "tls", "churn": "churn", "shake": "handshake"}
"""Measure -> mode."""

ADDED: Final = {
    ENCRYPTION: ("tls", "plain"),
    HANDSHAKE: ("handshake", "churn"),
    RESUMPTION: ("tickets", "churn"),
}
"""Measure -> the modes whose difference it is."""


def resuming(analysis: Analysis) -> list[str]:
    """The backends that resume sessions by themselves, as the server counted them."""
    counts: dict[str, int] = defaultdict(int)
    for trial in stats.trials_of(analysis.records, EACH_PAGE, twins=False):
        if trial.params.get("mode") == "tickets" and trial.ledger and trial.ledger.handshakes:
            counts[trial.label] += trial.ledger.handshakes.resumed
    return [label for label in stats.labels_of(analysis.records) if counts[label]]


def measured(analysis: Analysis) -> Measured:
    resumes = resuming(analysis)
    values: dict[str, dict[str, Blocks]] = {}
    for label, costs in stats.costs_in_modes(analysis.records, FETCHED, EACH_PAGE).items():
        mine: dict[str, Blocks] = {
            key: costs[mode] for key, mode in FROM.items() if costs.get(mode)
        }
        for key, (mode, base) in ADDED.items():
            added = within(costs.get(mode, {}), costs.get(base, {}), sub)
            if added and (key != RESUMPTION or label in resumes):
                mine[key] = added
        values[label] = mine
    trials = stats.trials_of(analysis.records, FETCHED, EACH_PAGE, twins=False)
    return Measured(MEASURES, values, stats.asleep(trials))


def answer(analysis: Analysis) -> Answer | None:
    """What encryption adds to a page on a kept connection; the handshake in the prose."""
    found = measured(analysis)
    if not any(ENCRYPTION in row or HANDSHAKE in row for row in found.values.values()):
        return None
    head = of_models(found, ENCRYPTION, "Encrypting a 2 KB page costs")
    shown = [label for label in found.values if label in analysis.main]
    return Answer(
        found,
        head,
        prose(analysis, found),
        tables=[
            found.table(
                "Pages over TLS",
                "Processor time of the client per page of a list, in turns, at 10 slots: on kept "
                "connections and with a connection for each page.",
                "; encryption and handshake are differences within a block",
            )
        ],
        figures=[
            bars(
                found.only(shown or found.values),
                head,
                "tls-pages",
                "Processor time per page, plain and over TLS",
                "Processor time of the client per page of a list at 10 slots, in turns",
                {
                    "a page on a kept connection": ("plain", "tls"),
                    "a connection for each page": ("churn", "shake"),
                },
                ("plain HTTP", "over TLS (in colour)"),
                notes=[
                    "TLS 1.3 with an ECDSA certificate that is verified; the handshakes are full "
                    f"ones. {RANGES}"
                ],
            )
        ],
    )


def prose(analysis: Analysis, found: Measured) -> str:
    parts = ["Processor time that TLS 1.3 adds, as a difference within blocks on kept connections."]
    if shakes := [found.median(label, HANDSHAKE) for label in found.with_(HANDSHAKE, found.values)]:
        parts.append(
            f"A full handshake costs the client {US.words(min(shakes))} to "
            f"{US.words(max(shakes))}, most of it in OpenSSL."
        )
    if names := resuming(analysis):
        parts.append(f"Sessions are resumed by {listing([f'`{name}`' for name in names])}.")
    return " ".join(
        [*parts, "To measure it: `python -m bench run --only tls-fetch,tls-handshake`."]
    )
