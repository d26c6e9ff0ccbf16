"""Encryption: what a server offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Tls:
    """What a server offers over TLS."""

    key: Literal["ecdsa", "rsa"] = "ecdsa"
    version: Literal["1.2", "1.3", "any"] = "1.3"
    tickets: bool = True

    @property
    def words(self) -> str:
        """As records name it: ``TLS 1.3, ecdsa, tickets``."""
        tickets = "tickets" if self.tickets else "no tickets"
        return f"TLS {self.version}, {self.key}, {tickets}"

    @property
    def arguments(self) -> list[str]:
        rest = [] if self.tickets else ["--no-tickets"]
        return ["--tls", self.key, "--tls-version", self.version, *rest]
