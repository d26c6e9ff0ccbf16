"""Words for numbers, sizes and times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30
CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Every control character but tab and newline."""
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
# Not "_" and "[" alone: names have the one, intervals the other, and neither begins anything.
_MARKDOWN: Final = re.compile(r"[<>&`|\\*]|\](?=[(\[:])|(?<!\w)_|_(?!\w)|(?<=!)\[")


def now() -> str:
    """The current time as records keep it: ISO 8601, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# --- numbers ---------------------------------------------------------------------------


def number(value: float) -> str:
    """A number for a tick or a label: 0.05, 7.5, 320, 60k, 1.2M."""
    size = abs(value)
    if size == 0:
        return "0"  # of a tick at -0.0, too
    if size >= 999_500:
        return f"{value / 1e6:.3g}M"
    if size >= 9_995:
        return f"{value / 1e3:.3g}k"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if size >= 1e-4 else significant(value, 2)


def count(value: float) -> str:
    """An exact count with a comma between thousands: 10,000."""
    return f"{value:,.0f}"


def in_percent(share: float) -> str:
    """A share in whole percent: "67 %" for 0.67."""
    return f"{100 * share:.0f} %"


def plural(value: int, word: str) -> str:
    """A count and its noun: "1 trial", "12 trials"."""
    return f"{count(value)} {word}{'' if value == 1 else 's'}"


def significant(value: float, digits: int) -> str:
    """Rounded to ``digits`` significant digits, never in scientific notation: 0.42, 12, 580."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    if abs(rounded) >= 10.0 ** (digits - places):  # 9.996 is 10.0, which has a digit more
        places -= 1
    return f"{rounded:,.{max(0, places)}f}"


def times(value: float, finer: int = 0) -> str:
    """A ratio for a sentence: 0.66, 1.53, 2.4, 12; ``finer`` adds digits."""
    places = 0 if value >= 9.95 else 1 if value >= 1.995 else 2
    return f"{value:,.{places + finer}f}"


def apart(words: Callable[[float, int], str], *values: float) -> list[str]:
    """Values in words, with a digit more each where the last two, ends of a range, look alike."""
    texts = [words(value, 0) for value in values]
    return texts if texts[-2] != texts[-1] else [words(value, 1) for value in values]


def from_to(words: Callable[[float, int], str], low: float, high: float) -> str:
    """A range in a sentence: ``2.9 to 3.8``, or ``2.9`` where even a digit more shows no other."""
    return " to ".join(dict.fromkeys(apart(words, low, high)))


# --- units -----------------------------------------------------------------------------


def duration(milliseconds: float, digits: int = 2) -> str:
    """A time with its unit: 420 µs, 12 ms, 1.3 s."""
    if abs(milliseconds) >= 995:
        return f"{significant(milliseconds / 1000, digits)} s"
    if abs(milliseconds) >= 0.995:
        return f"{significant(milliseconds, digits)} ms"
    return f"{significant(milliseconds * 1000, digits)} µs"


def duration_tick(milliseconds: float) -> str:
    """A round time for a tick: 0, 500 µs, 5 ms, 1 s."""
    if milliseconds <= 0:
        return f"-{duration_tick(-milliseconds)}" if milliseconds else "0"
    # Read out beside a chart, a value is not round.
    short = float(f"{milliseconds:.3g}")
    if short >= 1000:
        return f"{short / 1000:g} s"
    return f"{short:g} ms" if short >= 1 else f"{1000 * short:g} µs"


def minutes(seconds: float) -> str:
    """A time on a clock: ``3:07``."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def size_words(value: float, digits: int = 3) -> str:
    for unit, scale in (("GiB", GIB), ("MiB", MIB)):
        if abs(value) >= 0.995 * scale:
            return f"{significant(value / scale, digits)} {unit}"
    return f"{significant(value / KIB, digits)} KiB"


# --- sentences and documents -----------------------------------------------------------


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def listing(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


UNIT: Final = re.compile(r"(\d[\d,.]*) (?=(?:µs|ms|s|KiB|MiB|GiB|KB|MB|%|×|times|pages/s)(?:\W|$))")
"""A number with its unit behind it."""


def unbroken(text: str) -> str:
    """The text, with each number and its unit on one line."""
    return UNIT.sub("\\1\N{NO-BREAK SPACE}", text)


def printable(text: str) -> str:
    """Text for a terminal: control characters and changes of direction become visible escapes."""
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """:func:`printable`, with the ends of lines made visible too."""
    return printable(text).replace("\n", "\\n")


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: no tag, code, link or emphasis, and one line."""
    return _MARKDOWN.sub(lambda match: _ENTITIES.get(match[0]) or f"\\{match[0]}", one_line(text))
