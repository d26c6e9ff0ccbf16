"""Numbers and verdicts as the text of a cell."""

from __future__ import annotations

from bench.analysis.stats import UNDECIDED, MemoryFit, Ratio, Spread
from bench.schema import Limiter
from bench.show.table import MISSING, Cell, Tone
from bench.text import KIB, MIB, count

VERDICT_TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}


def figure(value: float | None, digits: int = 3) -> str:
    """A number: whole with commas from 100, else to ``digits`` significant digits."""
    if value is None:
        return MISSING
    if abs(value) >= 100:
        return count(value)
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.3f}"


def tenths(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1f}"


def spread(found: Spread | None) -> str:
    """``11,000 [10,500–12,300]``: the median and the whole range."""
    if found is None:
        return MISSING
    median = figure(found.median)
    if found.count == 1:
        return f"{median} (one trial)"
    return f"{median} [{figure(found.low)}–{figure(found.high)}]"


def kib(value: float | None) -> str:
    return tenths(None if value is None else value / KIB)


def mib(value: float | None) -> str:
    return tenths(None if value is None else value / MIB)


def user_memory(fit: MemoryFit) -> str:
    """A connection in KiB, its part in user space, with the interval."""
    text, ends = kib(fit.user), fit.user_interval
    return f"{text} [{'–'.join(map(kib, ends))}]" if ends else text


def share(found: Spread | None) -> str:
    return f"{100 * found.median:.0f} %" if found else MISSING


def ratio(found: Ratio | None, *, base: bool = False) -> str:
    """``1.53 [1.48–1.55]``, or as much of it as there is; the median block where it differs."""
    if found is None or found.value is None:
        return "1 (base)" if base else MISSING
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    text = f"{found.value:.2f} [{found.low:.2f}–{found.high:.2f}]"
    median = f"{found.median:.2f}" if found.skewed else text
    return text if text.startswith(median) else f"{text}, median {median}"


def beside(found: Ratio) -> str:
    """What stands beside a mark: ``×1.53 [1.48–1.55]``, or its verdict in place of the interval."""
    if not found.shown:
        return f"×{found.value or 0:.2f}, {found.verdict}"
    # The median of a skewed one is in the table: beside a mark there is no room for it.
    return f"×{ratio(found).partition(', median')[0]}"


def judged_ratio(found: Ratio | None) -> str:
    """A ratio, followed by its verdict where no difference is shown."""
    if found is None or found.shown:
        return ratio(found)
    return f"{ratio(found)}, {found.verdict} ({why(found)})"


def verdict(found: Ratio | None, limiter: Limiter | None = None) -> str | Cell:
    """The verdict in words.

    A backend that was faster although the server held it back is "at least"
    that much faster.
    """
    if found is None:
        return ""
    at_least = limiter == "server" and found.shown and (found.value or 0.0) > 1
    text = f"{found.verdict}, at least" if at_least else found.verdict
    return Cell(text, VERDICT_TONES.get(found.verdict, "muted"))


def why(found: Ratio | None) -> str:
    """Why no difference is shown, and how small one could have been; empty where one is shown."""
    if found is None or found.shown:
        return ""
    if found.verdict != UNDECIDED or found.smallest is None:
        return found.reason
    return f"{found.reason}; below {100 * found.smallest:.1f} % nothing could have been seen"


def limiter(found: Limiter | None) -> str:
    """What held the trials back; ○ marks the server, as hollow points do in charts."""
    if found is None:
        return MISSING
    return "server ○" if found == "server" else found
