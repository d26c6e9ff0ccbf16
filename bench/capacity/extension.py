"""Advice in a campaign's report: a form that calculates on the page, and the chart of its checks.

The page needs no server: it holds the costs as JSON and the model as a script. Without scripts it
shows the advice for one load.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bench.analysis.analysis import Analysis
from bench.capacity import chart, report
from bench.capacity.advice import BEYOND, SMALLEST, advise, threads_of
from bench.capacity.costs import Costs
from bench.capacity.fixture import measured
from bench.capacity.model import ROUNDS
from bench.capacity.need import EXAMPLE, MOST_LOAD, Need
from bench.capacity.validation import Validation, validation
from bench.machine.doctor.limits import SPARE_DESCRIPTORS
from bench.report import markup
from bench.report.extension import Extension, Extra, Section


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The section and the chart; nothing for a campaign that cannot compare backends."""
    costs = measured(analysis)
    if costs is None or costs.point is None:
        return Extra()
    checked = validation(analysis, costs)
    need = Need() if not any(each.encrypted for each in costs.backends) else EXAMPLE
    templates = markup.templates(__name__)
    found = advise(costs, checked, need)
    body = templates.get_template("section.html").render(
        need=need,
        columns=[*report.columns(), report.REASON],
        rows=[(row, report.cells(row)) for row in found.rows],
        beyond=report.BEYOND_WORDS,
        advice=found,
        headline=report.headline(found),
        doubt=report.doubt(checked),
        most_load=round(100 * MOST_LOAD),
        data=in_script(data(costs, checked)),
    )
    section = Section(
        anchor="advice",
        link="Advice",
        title="Which backend for your program?",
        body=Markup(body),  # nosec B704: the template escapes all text but its own script
    )
    return Extra([section], [chart.design(checked)])


def data(costs: Costs, checked: Validation) -> dict[str, Any]:
    """What the script on the page calculates with: nothing in it is typed by hand."""
    return {
        "costs": asdict(costs),
        "threads": threads_of(costs),
        "checks": [
            {
                **{name: getattr(c, name) for name in ("kind", "point", "label", "slots", "load")},
                **{name: getattr(c, name) for name in ("tls", "error", "holds")},
            }
            for c in checked.checks
            if c.kind != "schedule"
        ],
        "kinds": {
            kind: {"good": checked.good(kind), "error": checked.median_error(kind)}
            for kind in ("processor", "delay", "queue", "memory")
        },
        "smallest": SMALLEST,
        "beyond": BEYOND,
        "rounds": ROUNDS,
        "spare": SPARE_DESCRIPTORS,
    }


def in_script(value: dict[str, Any]) -> Markup:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(safe)  # nosec B704: no character of HTML is left in it


ADVICE = Extension({}, extra)
