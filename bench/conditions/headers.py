"""Pages whose answers have header lines of their own, which no other page has.

The crawlers remember the header lines that they have seen (:mod:`crawlers.heads`), as the lines of
one server hardly differ. Those of a real one do: a date, an identity of the request, a cookie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench.conditions.condition import Condition

LINES: Final = (5, 20, 80)


@dataclass(frozen=True, kw_only=True)
class Headers(Condition):
    lines: int

    def site(self, site: str) -> str:
        return f"{site}:{self.lines}"


def with_lines(lines: int) -> Headers:
    name = f"headers={lines}"
    return Headers(lines=lines, name=name, own={"mode": name}, mode=True, adds=(0.075 * lines, 0.0))
