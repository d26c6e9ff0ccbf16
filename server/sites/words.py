"""The words that fill pages up to their size."""

from __future__ import annotations

import random

WORDS = (  # noqa: SIM905 - as a list literal these would fill three screens
    "the of a to and in that it was for on with as at by from this had not are but which or an "
    "they one were all we when there can more if out so said what up its about into than them "
    "only other time some could these two may first then do any like my now over such our even "
    "most made after also did many off before must well back through years where much way down "
    "should because long each just state people too good make world still see own work here "
    "between both being under never day same another know while last might us great old year "
    "water river stone light paper window letter morning winter engine signal harbour lantern"
).split()


def filler(rng: random.Random, size: int) -> bytes:
    """Plain words, at least ``size`` bytes of them."""
    words = [WORDS[int(rng.random() * len(WORDS))] for _ in range(1500)]
    text = (" ".join(words) + ".\n").encode()
    return text * (size // len(text) + 2)
