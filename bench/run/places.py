"""Turns count up to the same place of each crawl, where pages differ by their place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bench.run.turns import Turns


def level(turns: Turns, among: Collection[int]) -> tuple[Turns, float | None]:
    """Count the turns of these takers only up to the place that each of their crawls reached.

    Returns that place too, as a share of a crawl. It is None, and nothing changes, if no turn
    counts, or if a crawl was beyond it in its first counted turn.

    The first fifth of a tree is its inner pages, whose links are new. They cost half as much
    again as the leaves. One label's site is too large if its weight is wrong
    (:mod:`bench.plan.sizes`). Then its turns hold more of the first pages than another's, and a
    page seems to cost more. Up to the same place, all crawls have the same pages.
    """
    counted = [
        [t.reached for t in turns.taken if t.taker == place and t.counted] for place in among
    ]
    reached = [shares for shares in counted if shares]
    until = min((max(shares) for shares in reached), default=None)
    if until is None or any(min(shares) > until for shares in reached):
        return turns, None
    taken = [
        replace(t, counted=t.counted and (t.taker not in among or t.reached <= until))
        for t in turns.taken
    ]
    return Turns(turns.takers, taken), until
