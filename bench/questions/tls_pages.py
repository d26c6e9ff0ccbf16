"""What does encryption cost?

A backend takes turns with itself: pages of a list on plain HTTP and over TLS, on kept connections
and with a connection for each page. So encryption is a ratio within a block, and a handshake a
difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import sub
from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.stats import per_exchange
from bench.plan.participants import CITED
from bench.questions.columns import Columns, Follows, Read
from bench.questions.question import RANGES
from bench.schema import TrialRecord
from bench.show.measured import US, Measured
from bench.text import listing

NAME: Final = "tls_pages"
ASKS: Final = "What does encryption cost?"
ENCRYPTION, HANDSHAKE, RESUMPTION = "encryption", "handshake", "resumption"


def resumed(trial: TrialRecord) -> float | None:
    """The cost of a page, if the backend resumes sessions by itself, as the server counted."""
    shakes = trial.ledger.handshakes if trial.ledger else None
    return per_exchange(trial) if shakes and shakes.resumed else None


class Encrypted(Columns):
    def facts(self, _: Analysis, measured: Measured) -> Mapping[str, str]:
        full = [
            measured.value(label, HANDSHAKE) for label in measured.with_(HANDSHAKE, measured.values)
        ]
        names = [f"`{label}`" for label, row in measured.values.items() if RESUMPTION in row]
        costs = f"{US.words(min(full))} to {US.words(max(full))}" if full else ""
        return {
            "full": f" A full handshake costs the client {costs}, most of it in OpenSSL."
            if full
            else "",
            "resumed": f" Sessions are resumed by {listing(names)}." if names else "",
        }

    def drawn(self, analysis: Analysis, measured: Measured) -> Measured:
        # Where nothing was measured at many slots, all stand among the main ones.
        return measured.only([x for x in measured.values if x in CITED] or measured.values)


COLUMNS: Final = Encrypted(
    workloads=["tls-fetch", "tls-handshake"],
    columns={
        "plain": Read("plain", "a fetched page at 10 slots, processor time", US, mode="plain"),
        "tls": Read("over TLS", "… over TLS", US, mode="tls"),
        ENCRYPTION: Follows("encryption", "… what TLS adds", US, sub, "tls", "plain"),
        "churn": Read("with a connection each", "… with a connection of its own", US, mode="churn"),
        "shake": Read(
            "with a handshake each",
            "… with a connection and a handshake of its own",
            US,
            mode="handshake",
        ),
        HANDSHAKE: Follows(
            "the handshake", "a full handshake, processor time", US, sub, "shake", "churn"
        ),
        "tickets": Read(
            "resumed", "… with resumed handshakes", US, resumed, mode="tickets", shown=False
        ),
        RESUMPTION: Follows("a resumed one", "… a resumed one", US, sub, "tickets", "churn"),
    },
    needs=[ENCRYPTION, HANDSHAKE],
    head=ENCRYPTION,
    says="Encrypting a 2 KB page costs",
    caption="Pages over TLS",
    about="Processor time of the client per page of a list, in turns, at 10 slots: on kept "
    "connections and with a connection for each page.",
    further="; encryption and handshake are differences within a block",
    figure=NAME,
    title="Processor time per page, plain and over TLS",
    subtitle="Processor time of the client per page of a list at 10 slots, in turns",
    panels={
        "a page on a kept connection": ("plain", "tls"),
        "what TLS adds to it": (ENCRYPTION,),
        "a connection for each page": ("churn", "shake"),
    },
    pair=("plain HTTP", "over TLS (in colour)"),
    notes=[
        "TLS 1.3 with an ECDSA certificate that is verified; the handshakes are full ones. "
        f"What TLS adds: the mean of the differences within blocks. {RANGES}"
    ],
    prose="Processor time that TLS 1.3 adds, as a difference within blocks on kept connections."
    "{full}{resumed} To measure it: `python -m bench run --only tls-fetch,tls-handshake`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
