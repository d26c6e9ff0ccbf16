"""Ways to fetch a page: on plain HTTP and over TLS, on kept connections and on one for each page.

A backend takes turns with itself in several of them, so the price of encryption and of a
handshake is a difference within a block, and so is that of answers with many header lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench.conditions import Condition, Params
from bench.schema import Ledger
from bench.sides.protocol import Command, Result
from bench.sides.servers import Tls
from bench.sides.sides import Sides


@dataclass(frozen=True, kw_only=True)
class Way(Condition):
    def params(self, slots: int) -> Params:
        # Only where there is TLS: points without it are as they were before there was any.
        return {"tls": self.tls.words} if self.tls and not self.mode else {}

    def server(self) -> Sequence[str]:
        return self.tls.arguments if self.tls else ()

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, keep_alive=self.keep_alive)

    def void(self, sides: Sides, result: Result, ledger: Ledger) -> str | None:
        """By connections and handshakes."""
        if not self.keep_alive and ledger.requests_per_connection_max > 1:
            most = ledger.requests_per_connection_max
            return f"{most} requests on one connection, where each page should have its own"
        seen = ledger.handshakes
        if self.tls is None:
            return None
        if seen is None:
            return "the server counted no handshakes: this was not TLS"
        if seen.full + seen.resumed < ledger.connections_opened - seen.failed:
            return (
                f"{seen.full + seen.resumed} handshakes completed on {ledger.connections_opened} "
                f"connections, {seen.failed} failed"
            )
        if seen.resumed and not self.tls.tickets:
            return f"{seen.resumed} sessions resumed, where the server offers no tickets"
        return None


def mode(name: str, tls: Tls | None, *, keep_alive: bool = True, adds: tuple[float, float]) -> Way:
    own = {"tls": tls.words if tls else None}
    return Way(name=name, own=own, mode=True, tls=tls, keep_alive=keep_alive, adds=adds)


PLAIN = mode("plain", None, adds=(0.0, 0.0))
ENCRYPTED = mode("tls", Tls(), adds=(0.2, 0.1))
NEW = mode("churn", None, keep_alive=False, adds=(3.0, 2.0))
HANDSHAKE = mode("handshake", Tls(tickets=False), keep_alive=False, adds=(83.0, 0.1))
TICKETS = mode("tickets", Tls(), keep_alive=False, adds=(83.0, 0.1))
"""``handshake`` is always a full one, ``tickets`` lets a client resume."""

OVER_TLS = Way(tls=Tls())
"""Of all trials of a point."""


# --- pages with header lines of their own --------------------------------------------------

LINES: Final = (5, 20, 80)


@dataclass(frozen=True, kw_only=True)
class Headers(Condition):
    """Answers have so many header lines that no other page's answer has.

    The crawlers remember the header lines that they have seen (:mod:`crawlers.heads`), as the
    lines of one server hardly differ. Those of a real one do: a date, an identity of the request,
    a cookie.
    """

    lines: int

    def site(self, site: str) -> str:
        return f"{site}:{self.lines}"


def with_lines(lines: int) -> Headers:
    return Headers(lines=lines, name=f"headers={lines}", mode=True, adds=(0.075 * lines, 0.0))
