"""Cards in a campaign's report: a section of the page, one part for each backend measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from markupsafe import Markup

from bench import store
from bench.analysis.analysis import Analysis
from bench.cards.card import FAMILIES, Card, card
from bench.costs import account, record
from bench.report import cite, markup
from bench.report.extension import Extension, Extra, Section
from crawlers.catalogue import OURS
from crawlers.registry import about

WITHIN: Final = re.compile(r"\[([^]]+)\]\((?!https://)[^)\s]+\)")
"""A link that leads to no other site."""


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
        card(analysis, accounts, about(label), sha256) for label in analysis.labels if label in OURS
    ]


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The section; nothing without a backend that was measured."""
    found = cards(analysis, folder)
    if not found:
        return Extra()
    templates = markup.templates(__name__, marked=marked)
    body = templates.get_template("section.html").render(cards=found, families=FAMILIES)
    section = Section(
        anchor="cards",
        link="Cards",
        title="A card for each backend",
        body=Markup(body),  # nosec B704: the template escapes all text
    )
    return Extra([section])


def marked(sentence: str) -> Markup:
    """Markdown as HTML, as everywhere in the report, but a link into docs/ becomes its words.

    docs/ is not beside a report.
    """
    return markup.marked(WITHIN.sub(r"\1", sentence))


CARDS = Extension({}, extra)
