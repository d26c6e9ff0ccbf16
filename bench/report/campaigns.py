"""Numbers over several campaigns: the table of ``combine``, and what the suite publishes.

A question names the numbers behind its headlines
(:attr:`bench.questions.question.Headline.numbers`), and everything here goes through all of them.
Campaigns of one release of the interpreter are combined. The package carries what the campaigns
under ``results/headlines`` gave, so a reader's own campaign says where its numbers lie.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from bench import filesystem, store
from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL, Spread
from bench.analysis.stats.campaigns import FEWEST, Combined, Number, combined, independent
from bench.analysis.wording import TIMES_FROM, between
from bench.errors import BenchError
from bench.launch import RESULTS, ROOT, shown
from bench.questions import analysis_in, answers
from bench.questions.question import Headline
from bench.schema import Environment, Record
from bench.show import cells
from bench.show.table import Column, Table, name
from bench.text import listing, plural, significant, times

FOLDER: Final = RESULTS / "headlines"
"""The campaigns that are published."""
PUBLISHED: Final = ROOT / "bench" / "reference" / "headlines.json"
"""What they gave; ``python -m tools.rebuild headlines`` writes it."""


class CombineError(BenchError):
    """These campaigns cannot be combined."""


class GroupMember(Record):
    """A campaign that was combined with others."""

    campaign: str
    created: str
    counts_with: int  # its own place, or that of an earlier campaign too near to it
    boot: str | None
    cpu_model: str | None
    cpu_count: int
    kernel: str
    python: str


class Quantity(Record):
    """One number: what each campaign found, in their order, and all together."""

    what: str
    unit: str
    values: list[Spread | None]
    combined: Combined


class CampaignGroup(Record):
    """The campaigns of one release of the interpreter."""

    python: str  # "CPython 3.15"
    campaigns: list[GroupMember]
    numbers: dict[str, Quantity]  # by question and key: "churn/opening/threads"

    @property
    def size(self) -> str:
        """``5 campaigns``, those that count."""
        return plural(len({one.counts_with for one in self.campaigns}), "campaign")

    def table(self) -> Table:
        """A row for each number, the campaigns side by side."""
        places = range(1, len(self.campaigns) + 1)
        heads = [name("number"), name("unit"), *(Column(f"campaign {n}", drop=1) for n in places)]
        return Table(
            f"Headlines over {self.size}, {self.python}",
            [*heads, Column("combined"), Column("the next campaign"), name("which is")],
            [
                [
                    *(number.what, number.unit, *map(cells.spread, number.values)),
                    cells.figure(found.value),
                    f"{cells.figure(found.low)} to {cells.figure(found.high)}",
                    AT_LEVEL if found.predicted else f"range of {found.campaigns}",
                ]
                for number in self.numbers.values()
                for found in [number.combined]
            ],
            about=(
                f"In brackets what the blocks of that campaign say. {AT_LEVEL}: where the next "
                f"campaign lies, from {FEWEST} campaigns on. A range has all brackets in it, where "
                "there are fewer campaigns, or where they are too far apart for an interval."
            ),
            notes=[
                f"campaign {n}: {one.campaign}, {one.created[:16]}, boot {one.boot or 'unknown'}, "
                f"{one.cpu_model or 'an unknown processor'} ({one.cpu_count}), {one.kernel}, "
                f"{one.python}"
                + f"; counts with campaign {one.counts_with + 1}, an hour or less before it"
                * (one.counts_with != n - 1)
                for n, one in zip(places, self.campaigns, strict=True)
            ],
        )


class Groups(Record):
    """All that was combined, the newest interpreter first."""

    groups: list[CampaignGroup]


def release(environment: Environment) -> str:
    """``CPython 3.15`` of CPython 3.15.2; ``CPython 3.15t`` without a lock."""
    found = re.match(r"\S+ \d+\.\d+", environment.python)
    free = environment.python_build.get("gil") is False
    return (found[0] if found else environment.python) + "t" * free


# --- combining ---------------------------------------------------------------------------


def numbers(analysis: Analysis) -> dict[str, Number]:
    """Every number behind a headline of a campaign, by its question and key."""
    return {
        f"{question.NAME}/{number.key}": number
        for question, answer in answers(analysis)
        for headline, _ in answer.said(question.NAME).values()
        for number in (headline.numbers if headline else ())
    }


def combine(campaigns: Sequence[Path]) -> Groups:
    """Combine campaigns given by folder, release by release; the published ones by default.

    Raises :class:`CombineError` where there is none, for one that is there twice, and for one
    without any number of a headline.
    """
    folders = campaigns or sorted({one.parent for one in FOLDER.glob(f"*/{store.FILE_NAME}*")})
    if not folders:
        raise CombineError(
            f"no campaign in {shown(FOLDER)}: name some, or measure them on different days with "
            f"python -m bench run --profile headlines --results {shown(FOLDER)}"
        )
    groups: dict[str, list[Analysis]] = defaultdict(list)
    seen: set[str] = set()
    for one in sorted(
        (analysis_in(store.trials_file(folder)) for folder in folders),
        key=lambda analysis: analysis.campaign.created,
    ):
        name = one.campaign.campaign
        if name in seen:
            raise CombineError(f"campaign {name} is there twice: name it once")
        if not numbers(one):
            raise CombineError(f"campaign {name} has no number that a headline rests on")
        seen.add(name)
        groups[release(one.campaign.environment)].append(one)
    newest = sorted(groups, key=lambda python: [*map(int, re.findall(r"\d+", python))])
    return Groups(groups=[_group(python, groups[python]) for python in reversed(newest)])


def _group(python: str, analyses: Sequence[Analysis]) -> CampaignGroup:
    found = [numbers(analysis) for analysis in analyses]
    first = independent([analysis.campaign for analysis in analyses])
    quantities = {}
    for key, number in {key: number for mine in found for key, number in mine.items()}.items():
        values = [mine[key].found if key in mine else None for mine in found]
        together: dict[int, list[Spread]] = defaultdict(list)
        for place, value in zip(first, values, strict=True):
            if value:
                together[place].append(value)
        all_ = combined([*together.values()])
        quantities[key] = Quantity(what=number.what, unit=number.unit, values=values, combined=all_)
    members = [
        GroupMember(
            campaign=analysis.campaign.campaign,
            created=analysis.campaign.created,
            counts_with=place,
            **analysis.campaign.environment.model_dump(
                include={"boot", "cpu_model", "cpu_count", "kernel", "python"}
            ),
        )
        for analysis, place in zip(analyses, first, strict=True)
    ]
    return CampaignGroup(python=python, campaigns=members, numbers=quantities)


# --- what is published -------------------------------------------------------------------


@cache
def published() -> Groups:
    """What this installation carries."""
    if not PUBLISHED.is_file():
        return Groups(groups=[])
    return Groups.model_validate_json(filesystem.read_text(PUBLISHED))


def group_of(environment: Environment) -> CampaignGroup | None:
    """The published campaigns of an interpreter's release."""
    mine = release(environment)
    return next((group for group in published().groups if group.python == mine), None)


def quantities(headline: Headline, question: str, group: CampaignGroup | None) -> list[Quantity]:
    """What is published of the numbers in a headline's text; none unless all of them are."""
    keys = [f"{question}/{key}" for key in headline.quotes]
    if group is None or not group.numbers.keys() >= {*keys}:
        return []
    return [group.numbers[key] for key in keys]


def ends(found: Quantity) -> str:
    """The interval or range as sentences have it: ``1.1 to 4.9``, ``14 to 20 %``, ``4.8 KiB``."""
    one = found.combined
    if found.unit != "×":
        low, high = (significant(end, 3) for end in (one.low, one.high))
        return f"{low if low == high else f'{low} to {high}'} {found.unit}"
    if one.high < 1 or 1 < one.low <= one.high < TIMES_FROM or one.value >= TIMES_FROM:
        return between(one.value, one.low, one.high)
    return f"{times(one.low)} to {times(one.high)} times"


def source(found: Sequence[Quantity]) -> str:
    """``published`` where the next campaign's interval is, ``2 campaigns`` where a range is."""
    if all(one.combined.predicted for one in found):
        return "published"
    return plural(min(one.combined.campaigns for one in found), "campaign")


def suffix(headline: Headline, question: str, environment: Environment) -> str:
    """Where the numbers of a headline lie: ``published: 1.1 to 4.9``, ``2 campaigns: …``.

    Names the interpreter where only another one's are published. Empty where nothing is.
    """
    for group in filter(None, (group_of(environment), *published().groups)):
        if found := quantities(headline, question, group):
            other = "" if group.python == release(environment) else f" on {group.python}"
            return f"{source(found)}{other}: {listing([*map(ends, found)])}"
    return ""


def beside(headline: Headline, question: str, environment: Environment) -> Headline:
    """A headline of one campaign, with :func:`suffix` behind it."""
    where = suffix(headline, question, environment)
    return replace(headline, behind=f"{headline.behind}; {where}") if where else headline
