"""Cards in a campaign's report: a section of the page, one part for each backend measured."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from bench import store
from bench.analysis.analysis import Analysis
from bench.cards.card import FAMILIES, Card, card
from bench.costs import account, record
from bench.report import cite
from bench.report.extension import Extension, Extra, Section
from crawlers.catalogue import OURS

LINK = re.compile(r"\[([^]]+)\]\(([^)\s]+)\)")


def cards(analysis: Analysis, folder: Path) -> list[Card]:
    """The cards of our backends that a campaign in ``folder`` measured, in its order.

    There are none where backends ran on several interpreters: a label is no backend there.
    """
    if analysis.releases is not None:
        return []
    counted = folder / record.FILE_NAME
    accounts = account.accounts(record.load(counted)) if counted.exists() else []
    sha256 = cite.checksum(store.trials_file(folder))
    return [
        card(analysis, accounts, OURS[label], sha256) for label in analysis.labels if label in OURS
    ]


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The section; nothing without a backend that was measured."""
    found = cards(analysis, folder)
    if not found:
        return Extra()
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("bench.cards.extension"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["marked"] = marked
    body = templates.get_template("section.html").render(cards=found, families=FAMILIES)
    section = Section(
        anchor="cards",
        link="Cards",
        title="A card for each backend",
        body=Markup(body),  # nosec B704: the template escapes all text
    )
    return Extra([section])


def marked(sentence: str) -> Markup:
    """Markdown as HTML: bold, code and links to the net; everything else is escaped.

    A link into docs/ becomes its words, because docs/ is not beside a report.
    """
    safe = LINK.sub(_link, str(escape(sentence)))
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
    safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
    # The text was escaped before the tags were added.
    return Markup(safe)  # nosec B704


def _link(found: re.Match[str]) -> str:
    words, address = found.groups()
    if not address.startswith("https://"):
        return words
    return f'<a href="{address}" rel="noreferrer">{words}</a>'


CARDS = Extension({}, extra)
