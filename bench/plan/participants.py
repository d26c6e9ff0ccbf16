"""Which backends take part in a workload point, and in how many of its blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crawlers.catalogue import HANDED_OVER, OURS, tagged
from crawlers.registry import MODELS

MAIN_VARIANTS = tagged("main")
"""The variants in every chart of the full profile; all others are on the ladder only."""

OTHER_LIBRARIES = tuple(name for name in MAIN_VARIANTS if OURS[name].family != "threads")
"""The main variants that one would take in place of asyncio."""

BASE = "callbacks"
"""The backend that ratios are taken against."""

MAPPED = tagged("mapped")
"""What asyncio costs where malloc maps every receive, each against the name without the end."""

TWINS = (BASE, "threads", "async_await")
"""The backends that run twice in a block as A/A pairs: not all models are equally noisy."""

PINNED = "threads_one_processor"
"""``threads`` on one processor."""

PAIRED = (BASE, PINNED)
"""What those with several threads are compared with: see ASLEEP of bench.conditions.condition."""

SPREADING = (*tagged("spreads"), "partition")
"""The backends that use every processor they are given; ``partition`` is in records only.

``loop_per_thread`` does on any interpreter, but with a lock its threads take turns on them.
"""

FREE = "threads"
"""The model that uses every processor on an interpreter without the lock, and on no other."""


@dataclass(frozen=True, slots=True)
class Participants:
    """In how many blocks of a point each group of backends takes part.

    The groups are the four models, the main variants and all other backends.
    ``also`` are others that count as main variants, ``only`` leaves everyone else out.
    Variants that change nothing but work (:data:`crawlers.catalogue.HANDED_OVER`) take part
    where ``only`` names them, or where the user did: then ``named`` is set.
    """

    models: int
    variants: int = 0
    rest: int = 0
    also: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    named: bool = False

    @property
    def blocks(self) -> int:
        return max(self.models, self.variants, self.rest)

    def blocks_of(self, name: str) -> int:
        """In how many blocks the backend of this name takes part."""
        if self.only is not None and name not in self.only:
            return 0
        if name in HANDED_OVER and self.only is None and not self.named:
            return 0
        if name in MODELS:
            return self.models
        return self.variants if name in (*MAIN_VARIANTS, *self.also) else self.rest

    def opened(self) -> Participants:
        """Everyone in every block: for backends that the user asked for by name."""
        all_of_them = self.blocks
        return replace(self, models=all_of_them, variants=all_of_them, rest=all_of_them, named=True)

    def resized(self, blocks: int) -> Participants:
        """The same in another number of blocks.

        A group that was in every block stays in every block.
        """
        models, variants, rest = (
            blocks if group == self.blocks else min(group, blocks)
            for group in (self.models, self.variants, self.rest)
        )
        return replace(self, models=models, variants=variants, rest=rest)
