"""What TLS adds, in sentences: a finding with its cause, for the README and for talks."""

from __future__ import annotations

from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.encryption import HeldConnection
from bench.analysis.wording import prose
from bench.text import KIB, capital, count, listing, significant, times
from crawlers.registry import MODELS

STREAMS: Final = "async_await"
SMALL: Final = "asyncio_small_tls"
"""The rung whose buffer is small."""

BUFFER: Final = 256 * KIB
"""``asyncio.sslproto.SSLProtocol.max_size``, the same in CPython 3.11 to 3.14."""

"""Where the buffer was discussed."""

COMMAND: Final = "python -m bench run --only c10k,tls-c10k"


def memory(analysis: Analysis) -> str | None:
    """What an idle connection takes over TLS, the most first, and why."""
    held = analysis.encryption.held
    models = sorted((row for row in held if row.label in MODELS), key=lambda row: -row.total)
    if not models:
        return None
    ends = [models[0], models[-1]] if len(models) > 1 else models
    head = listing([f"{_kib(row.total)} KiB with {prose(row.label)}" for row in ends])
    named = (*analysis.main, SMALL)
    others = sorted((row for row in held if row.label not in MODELS), key=lambda row: -row.total)
    charted = [row for row in (*models, *others) if row.highest == models[0].highest]
    each = [_each(row) for row in charted if row.label in named]
    parts = [
        f"**Over TLS an idle connection takes {head}.** In KiB, in brackets on plain HTTP: "
        f"{', '.join(each)}.{_rest([row for row in charted if row.label not in named])}",
        _order(models),
        _openssl(analysis),
        _cause(analysis),
        f"To measure it: `{COMMAND}`.",
    ]
    return " ".join(part for part in parts if part)


def _each(row: HeldConnection) -> str:
    plain = "not measured" if row.plain_total is None else f"{row.plain_total / KIB:.1f}"
    return f"`{row.label}` {row.total / KIB:.1f} ({plain})"


def _rest(rows: list[HeldConnection]) -> str:
    """The range of those that would make the sentence too long."""
    if len(rows) < 2:
        return ""
    return (
        f" {capital(count(len(rows)))} other backends take {rows[-1].total / KIB:.1f} "
        f"(`{rows[-1].label}`) to {rows[0].total / KIB:.1f} (`{rows[0].label}`)."
    )


def _order(models: list[HeldConnection]) -> str:
    """Whether TLS turns over which of threads and async/await is cheaper."""
    by_name = {row.label: row for row in models}
    thread, stream = by_name.get("threads"), by_name.get(STREAMS)
    if not thread or not stream or not thread.plain_total or not stream.plain_total:
        return ""
    before, after = stream.plain_total / thread.plain_total, stream.total / thread.total
    turned = "TLS turns the order over: " if before < 1 < after else ""
    said = (
        f"{turned}a connection of async/await takes {times(after)} times the memory of a thread "
        f"with its connection over TLS, and {times(before)} times on plain HTTP."
    )
    return capital(said)


def _openssl(analysis: Analysis) -> str:
    """OpenSSL's own part."""
    found = analysis.encryption.openssl
    if found is None:
        return ""
    return f"OpenSSL’s own part is {_kib(found)} KiB (control `bare_tls`)."


def buffer_shown(analysis: Analysis) -> bool:
    """Whether asyncio's buffer can be seen in a connection of async/await."""
    stream = analysis.encryption.of(STREAMS)
    return stream is not None and stream.library is not None and stream.library >= BUFFER / 2


def _cause(analysis: Analysis) -> str:
    """Why asyncio's connection is so large, where the records show that it is."""
    small = analysis.encryption.of(SMALL)
    if not buffer_shown(analysis):
        return ""
    cause = (
        f"asyncio’s `SSLProtocol` gives each connection a buffer of {BUFFER // KIB} KiB and "
        f"touches all of it (docs/upstream/asyncio-receive.md)"
    )
    if small is None:
        return f"{cause}."
    return f"{cause}; with a small one (`{SMALL}`) a connection takes {_kib(small.total)} KiB."


def _kib(value: float) -> str:
    return significant(value / KIB, 2)
