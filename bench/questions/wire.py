"""How many round trips does a page cost?

On loopback a round trip takes no time, so no other question sees one. Here a proxy of our own puts
20 ms between client and server, and counts. A library could add a trip to what the protocols need.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.plan.tls import DISTANT
from bench.questions.question import RANGES, Answer, Headline, bars
from bench.schema import TrialRecord
from bench.show.figures import Unit
from bench.show.measured import MS, Measure, Measured, Value, by_label
from bench.text import listing, number, plural
from crawlers.registry import MODELS

NAME: Final = "wire"
ASKS: Final = "How many round trips does a page cost?"
KEPT, NEW, KEPT_TLS, NEW_TLS = DISTANT
"""The modes; each is the name of a measure, and with ``_ms`` that of another."""

HOW: Final = {KEPT: "kept", NEW: "new", KEPT_TLS: "kept, TLS", NEW_TLS: "new, TLS"}
NEEDED: Final = {KEPT: 1, NEW: 2, KEPT_TLS: 1, NEW_TLS: 3}
OPENING: Final[dict[str, int]] = {KEPT: 1, KEPT_TLS: 2}
"""Round trips that open a connection, and belong to no page where it is kept."""

DRAWN: Final = (*MODELS, "uvloop", "trio", "gevent", "aiohttp", "httpx")
"""As many rows as can be read on a slide."""

TRIPS: Final = Unit("round trips", number, number)
PROSE: Final = (
    "A list is fetched through a proxy that puts 20 ms between client and server, and counts how "
    "often the server answers. HTTP/1.1 needs one round trip for a page, TCP one more to open a "
    "connection, and TLS 1.3 one more for its handshake, also where a session is resumed. A "
    "program cannot see TCP's handshake: the proxy holds the first bytes of a connection one trip "
    "longer, and that trip is added to those that it counts. To measure it: `python -m bench run "
    "--profile full --only wire`."
)


def _trips(trial: TrialRecord) -> float | None:
    counted, opened = (trial.extra.get(f"proxy_{key}") for key in ("round_trips", "connections"))
    if not isinstance(counted, int) or not isinstance(opened, int) or not trial.pages:
        return None
    opening = OPENING.get(str(trial.params.get("mode")), 0)
    return (counted + opened - opened * opening) / trial.pages


def _ms(trial: TrialRecord) -> float | None:
    return trial.service_time.p50_ms if trial.service_time else None


def _in(mode: str, value: Value) -> Value:
    return lambda trial: value(trial) if trial.params.get("mode") == mode else None


def measured(analysis: Analysis) -> Measured:
    trials = stats.trials_of(analysis.records, NAME, twins=False)
    measures: dict[str, Measure] = {}
    values: dict[str, Value] = {}
    for mode, how in HOW.items():
        measures[mode] = Measure(how, f"a page, connection {how}", TRIPS)
        values[mode] = _in(mode, _trips)
    for mode, how in HOW.items():
        measures[f"{mode}_ms"] = Measure(how, f"… {how}, 20 ms away, median", MS)
        values[f"{mode}_ms"] = _in(mode, _ms)
    return Measured(measures, by_label(trials, analysis.labels, values))


def longer(found: Measured) -> list[str]:
    """The backends that need at least half a trip more than the protocols."""
    return [
        label
        for label, row in found.values.items()
        if any(found.median(label, mode) >= NEEDED[mode] + 0.5 for mode in HOW if mode in row)
    ]


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    if not found.values:
        return None
    everyone, prose = plural(len(found.values), "backend"), PROSE
    text = f"A new connection over TLS costs a page 3 round trips, a kept one 1, with {everyone}"
    if more := longer(found):
        text = f"With {len(more)} of {everyone} a page needs more round trips than HTTP and TLS do"
        prose += f" More than these need: {listing([f'`{label}`' for label in more])}."
    drawn = [who for who in found.values if who in DRAWN] or list(found.values)
    counted = f"counted by the proxy, in {plural(max(found.blocks(HOW)), 'block')}"
    head = Headline(text, counted)
    return Answer(
        found,
        head,
        prose,
        tables=[
            found.table(
                "Round trips of a page",
                "Round trips of each page of a list, and the median time of a page from a server "
                "20 ms away, which other load on the machine makes longer. The protocols need 1 on "
                "a kept connection, 2 on a new one, 3 on a new one with TLS 1.3.",
            )
        ],
        figures=[
            bars(
                replace(found, values={who: found.values[who] for who in drawn}),
                head,
                NAME,
                "A page from a server 20 ms away",
                "Median time of a page of a list, through a proxy that delays",
                {
                    "a page on plain HTTP": (f"{KEPT}_ms", f"{NEW}_ms"),
                    "a page over TLS": (f"{KEPT_TLS}_ms", f"{NEW_TLS}_ms"),
                },
                ("a kept connection", "a new one for each page (in colour)"),
                notes=[RANGES + " The table has more backends." * (len(drawn) < len(found.values))],
            )
        ],
    )
