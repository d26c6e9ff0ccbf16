"""Where the client runs: on one processor, on all but the server's, or on all."""

from __future__ import annotations

from dataclasses import dataclass

from bench.conditions import Condition, Params
from bench.machine.cpu import Pinning
from bench.schema import SpreadOver


@dataclass(frozen=True, kw_only=True)
class Wide(Condition):
    """Every processor that a client can have."""

    def place(self, now: Pinning, narrow: Pinning, name: str) -> Pinning:
        return narrow.unpinned()


ALL = Wide(name="all", own={"processors": "all"}, sleeps=True)
EVERYWHERE = Wide()


@dataclass(frozen=True, kw_only=True)
class Spreading(Condition):
    """Gives ``who`` every processor, or ``over`` of them, and the others one as always.

    The server sleeps in all trials of such a point, because it may share its processor.
    """

    how: SpreadOver
    over: int | None = None
    who: tuple[str, ...] = ()
    sleeps: bool = True

    def params(self, slots: int) -> Params:
        return {"processors": self.how, **({"over": self.over} if self.over else {})}

    def place(self, now: Pinning, narrow: Pinning, name: str) -> Pinning:
        wide = now != narrow or name in self.who
        return narrow.spread(self.how, self.over) if wide else narrow
