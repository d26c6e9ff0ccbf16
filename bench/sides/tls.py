"""Encryption: what a server offers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tls:
    """What a server offers over TLS: version 1.3, with a key of ECDSA."""

    tickets: bool = True

    @property
    def words(self) -> str:
        """As records name it: ``TLS 1.3, ecdsa, tickets``."""
        tickets = "tickets" if self.tickets else "no tickets"
        return f"TLS 1.3, ecdsa, {tickets}"

    @property
    def arguments(self) -> list[str]:
        rest = [] if self.tickets else ["--no-tickets"]
        return ["--tls", "ecdsa", "--tls-version", "1.3", *rest]
