"""How to cite a campaign: by its id, and by the checksum of its records."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from bench.schema import CampaignRecord
from bench.show.words import environment_of, machine_words
from bench.store import read_lines

AUTHORS = "The c10k-crawlers authors"
LICENCE = "MIT"
TITLE = "c10k-crawlers: one web crawler, once per Python concurrency model"

QUOTED = re.compile(r"\*\*.+?\*\*( \(.+?\))?(?=\.( |$))")
"""The headline of a finding and the interval behind it."""


def checksum(file: Path) -> str:
    """SHA-256 of a campaign's ``trials.jsonl``, compressed or not.

    Raises :class:`bench.store.StoreError`.
    """
    return hashlib.sha256(read_lines(file)[0]).hexdigest()


def text(campaign: CampaignRecord, sha256: str) -> str:
    """One sentence for a slide, a post or a list of references."""
    return (
        f"{AUTHORS} ({campaign.created[:4]}). {TITLE}. Campaign {campaign.campaign}, "
        f"profile {campaign.profile}, commit {campaign.environment.commit or 'unknown'}; "
        f"SHA-256 of its records {sha256}."
    )


def quoted(finding: str) -> str:
    """The headline of a finding, in bold, and its interval; without one, its first sentence."""
    bold = QUOTED.match(finding)
    sentence = bold[0] if bold else finding.partition(". ")[0]
    return f"{sentence.rstrip('.')}."


def quotation(finding: str, campaign: CampaignRecord) -> str:
    """A finding as a speaker quotes it: headline, interval, machine, interpreter, campaign."""
    sentence = quoted(finding).rstrip(".").replace("**", "").replace("`", "")
    where = machine_words(environment_of(campaign), campaign.created).replace(" · ", ", ")
    return f"{sentence}. ({where}; c10k-crawlers, campaign {campaign.campaign})"


def bibtex(campaign: CampaignRecord, sha256: str) -> str:
    """An entry for a bibliography."""
    key = re.sub(r"[^A-Za-z0-9-]", "", campaign.campaign)
    note = (
        f"Campaign {campaign.campaign}, profile {campaign.profile}, "
        f"commit {campaign.environment.commit or 'unknown'}, SHA-256 of its records {sha256}"
    )
    return (
        f"@misc{{c10k-crawlers-{key},\n"
        f"  author = {{{{{AUTHORS}}}}},\n"
        f"  title  = {{{TITLE}}},\n"
        f"  year   = {{{escaped(campaign.created[:4])}}},\n"
        f"  note   = {{{escaped(note)}}}\n"
        "}\n"
    )


def escaped(words: str) -> str:
    """Text without what TeX would take for a command or a brace of its own."""
    return re.sub(r"([&%$#_])", r"\\\1", re.sub(r"[{}\\~^]", "", words))
