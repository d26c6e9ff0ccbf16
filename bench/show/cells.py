"""Numbers and verdicts as the text of a cell."""

from __future__ import annotations

from collections.abc import Callable

from bench.analysis.stats import UNDECIDED, MemoryFit, Ratio, Spread
from bench.schema import Limiter
from bench.show.table import MISSING
from bench.text import KIB, MIB, apart, count, in_percent, significant


def figure(value: float | None, finer: int = 0) -> str:
    """A number to three significant digits, whole with commas where it has as many or more."""
    if value is None:
        return MISSING
    digits = 3 + finer
    if abs(value) >= 10 ** (digits - 1):
        return count(value)
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.3f}"


def _even(value: float, finer: int) -> str:
    """The same with zeros at its end, as the other numbers of a range have digits there."""
    whole = abs(value) >= 10 ** (2 + finer)
    return count(value) if whole else significant(value, 3 + finer)


def tenths(value: float | None, finer: int = 0) -> str:
    return MISSING if value is None else f"{value:,.{1 + finer}f}"


def ranged(words: Callable[[float, int], str], value: float, low: float, high: float) -> str:
    """``1.53 [1.48–1.55]``; the value alone where even a digit more shows no range."""
    text, low_text, high_text = apart(words, value, low, high)
    return text if low_text == high_text else f"{text} [{low_text}–{high_text}]"


def spread(values: Spread | None, alone: int = 0) -> str:
    """``11,000 [10,500–12,300]``: average and whole range; of one trial ``alone`` digits more."""
    if values is None:
        return MISSING
    if values.count == 1:
        return f"{figure(values.value, alone)} (one trial)"
    if values.low == values.high:
        return figure(values.value)
    return ranged(_even, values.value, values.low, values.high)


def kib(value: float | None, finer: int = 0) -> str:
    return tenths(None if value is None else value / KIB, finer)


def mib(value: float | None) -> str:
    return tenths(None if value is None else value / MIB)


def user_memory(fit: MemoryFit) -> str:
    """A connection in KiB, its part in user space, with the interval."""
    if fit.user is None or fit.user_interval is None:
        return kib(fit.user)
    return ranged(kib, fit.user, *fit.user_interval)


def hundredths(value: float, finer: int = 0) -> str:
    return f"{value:.{2 + finer}f}"


def share(values: Spread | None) -> str:
    return in_percent(values.value) if values else MISSING


def ratio(result: Ratio | None, *, base: bool = False) -> str:
    """``1.53 [1.48–1.55]``, or as much of it as there is; the median block where it differs."""
    if result is None or result.value is None:
        return "1 (base)" if base else MISSING
    if result.low is None or result.high is None:
        return f"{result.value:.2f}"
    text = ranged(hundredths, result.value, result.low, result.high)
    value, median = hundredths(result.value), hundredths(result.median or result.value)
    return f"{text}, median {median}" if result.skewed and median != value else text


def beside(result: Ratio) -> str:
    """What stands beside a mark: ``×1.53 [1.48–1.55]``, or its verdict in place of the interval."""
    if not result.shown:
        return f"×{result.value or 0:.2f}, {result.verdict}"
    # The median of a skewed one is in the table: beside a mark there is no room for it.
    return f"×{ratio(result).partition(', median')[0]}"


def judged_ratio(result: Ratio | None) -> str:
    """A ratio, followed by its verdict where no difference is shown."""
    if result is None or result.shown:
        return ratio(result)
    return f"{ratio(result)}, {result.verdict} ({why(result)})"


def verdict(result: Ratio | None, limiter: Limiter | None = None) -> str:
    """The verdict in words.

    A backend that was faster although the server held it back is "at least"
    that much faster.
    """
    if result is None:
        return ""
    at_least = limiter == "server" and result.shown and (result.value or 0.0) > 1
    return f"{result.verdict}, at least" if at_least else result.verdict


def why(result: Ratio | None) -> str:
    """Why no difference is shown, and how small one could have been; empty where one is shown."""
    if result is None or result.shown:
        return ""
    if result.verdict != UNDECIDED or result.smallest is None:
        return result.reason
    return f"{result.reason}; below {100 * result.smallest:.1f} % nothing could have been seen"


def limiter(of: Limiter | None) -> str:
    """What held the trials back; ○ marks the server, as hollow points do in charts."""
    if of is None:
        return MISSING
    return "server ○" if of == "server" else of
