"""Advice in a campaign's report: a form that calculates on the page, and how right it is.

The page needs no server: it holds the costs as JSON and the formulas as a script. Without scripts
it shows the numbers for one load.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from bench.analysis.analysis import Analysis
from bench.capacity import model, report
from bench.capacity.advice import BEYOND, Row, advise
from bench.capacity.costs import Costs
from bench.capacity.fixture import measured
from bench.capacity.need import MOST_LOAD
from bench.capacity.validation import Validation, validation
from bench.report import markup
from bench.report.extension import Extension, Extra, Section
from bench.show.table import MISSING
from bench.text import MIB, significant

TITLES: Final = ("processors", "processes", "memory, MiB", "per page, µs", "pages/s")


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The section; nothing for a campaign that cannot compare backends."""
    del folder
    costs = measured(analysis)
    if costs is None or costs.point is None:
        return Extra()
    checked, need = validation(analysis, costs), report.example(costs)
    people = report.chosen(costs, everything=False)
    shown = replace(costs, backends=[costs.of(name) for name in people])
    templates = markup.templates(__name__)
    body = templates.get_template("section.html").render(
        costs=costs,
        need=need,
        titles=TITLES,
        rows=[(row, cells(row)) for row in advise(shown, checked, need).rows],
        checks=report.checks(checked),
        doubt=report.doubt(checked),
        most_load=round(100 * MOST_LOAD),
        data=in_script(data(costs, checked, people)),
    )
    section = Section(
        anchor="advice",
        link="Advice",
        title="Which backend for your program?",
        body=Markup(body),  # nosec B704: the template escapes all text but its own script
    )
    return Extra([section])


def cells(row: Row) -> list[str]:
    """The numbers of a row, as the script writes them."""
    return [MISSING if n is None else significant(n, 3) for n in numbers(row)]


def numbers(row: Row) -> list[float | None]:
    """What the table shows of a row, in the units of its titles."""
    memory = None if row.user_bytes is None else row.memory / MIB
    return [row.processors, row.processes, memory, row.total_us, row.rate]


def data(costs: Costs, checked: Validation, people: list[str]) -> dict[str, Any]:
    """What the script on the page calculates with: nothing in it is typed by hand."""
    backends = [
        replace(
            each,
            plain=None if wrong(checked, each.name, tls=False) else each.plain,
            encrypted=None if wrong(checked, each.name, tls=True) else each.encrypted,
        )
        for each in costs.backends
    ]
    found = asdict(replace(costs, backends=backends))
    for backend in found["backends"]:
        backend["most"] = None if math.isinf(backend["most"]) else backend["most"]
        del backend["blocks"], backend["why_most"]
    return {
        "costs": found,
        "people": people,
        "checks": [
            {
                **{name: getattr(check, name) for name in ("label", "slots", "load")},
                "usable": checked.wrong(check) is None,
            }
            for check in checked.checks
            if check.kind in ("processor", "delay")
        ],
        "rounds": model.ROUNDS,
        "rounded": model.ROUNDED,
        "beyond": BEYOND,
    }


def wrong(checked: Validation, label: str, *, tls: bool) -> bool:
    """Whether the memory of a backend was predicted wrongly."""
    return checked.wrong(checked.worst("memory", label, tls=tls)) is not None


def in_script(value: dict[str, Any]) -> Markup:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(safe)  # nosec B704: no character of HTML is left in it


ADVICE = Extension({}, extra)
