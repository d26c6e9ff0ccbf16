"""Numbers over several campaigns: the table of ``combine``, and what the suite publishes.

A question names the numbers behind its headlines
(:attr:`bench.questions.question.Headline.numbers`), and everything here goes through all of them.
Campaigns of one profile, on one release of the interpreter and one processor, are combined.
The package carries what the campaigns under ``results/headlines`` gave, so a reader's own campaign
says where its numbers lie.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from bench import BenchError, filesystem, store
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL, Spread
from bench.analysis.stats.campaigns import (
    FEWEST,
    Combined,
    Number,
    combined,
    counted,
    ends_of,
    independent,
)
from bench.launch import RESULTS, ROOT, shown
from bench.questions import analysis_in, answers
from bench.questions.question import Headline
from bench.schema import Environment, Record
from bench.show import cells
from bench.show.table import Column, Table, words
from bench.show.words import TIMES_FROM, between
from bench.text import from_to, listing, plural, significant, times

FOLDER: Final = RESULTS / "headlines"
"""The campaigns that are published."""
PUBLISHED: Final = ROOT / "bench" / "reference" / "headlines.json"
"""What they gave; ``python -m tools.rebuild headlines`` writes it."""

IN_TURNS: Final = ("page", "churn", "serve")
"""The questions whose numbers are of turns."""


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
    since: int = 0  # the place of the first campaign that is combined: those before count otherwise
    combined: Combined

    @property
    def alike(self) -> list[Spread | None]:
        """The values that are combined."""
        return self.values[self.since :]

    @property
    def as_range(self) -> Quantity:
        """The same with its range, where another number of the sentence has no interval."""
        low, high = ends_of(filter(None, self.alike))
        return self.model_copy(
            update={"combined": replace(self.combined, low=low, high=high, predicted=False)}
        )


class CampaignGroup(Record):
    """The campaigns of one profile on one release of the interpreter and one processor."""

    python: str  # "CPython 3.15"
    processor: str  # "Intel Xeon family 6 model 85"
    profile: str  # another one asks for other work under the same name: hold at 10,000, not 1,000
    several: dict[str, list[str]]  # package -> its versions, where campaigns differ
    campaigns: list[GroupMember]
    warm_s: float | None  # how long a label ran before a turn of the last campaign counted
    numbers: dict[str, Quantity]  # by question and key: "churn/opening/threads"

    @property
    def count(self) -> int:
        """How many campaigns count."""
        return len({member.counts_with for member in self.campaigns})

    @property
    def size(self) -> str:
        """``5 campaigns``."""
        return plural(self.count, "campaign")

    def table(self) -> Table:
        """A row for each number, the campaigns side by side."""
        places = range(1, len(self.campaigns) + 1)
        heads = [words("number"), words("unit"), *(Column(f"campaign {n}", drop=1) for n in places)]
        return Table(
            f"Headlines over {self.size}, {self.python}, {self.processor}, profile {self.profile}",
            [*heads, Column("combined"), Column("the next campaign"), words("which is")],
            [
                [
                    *(number.what, number.unit, *map(cells.spread, number.values)),
                    cells.figure(together.value),
                    f"{cells.figure(together.low)} to {cells.figure(together.high)}",
                    AT_LEVEL if together.predicted else f"range of {together.campaigns}",
                ]
                for number in self.numbers.values()
                for together in [number.combined]
            ],
            about=(
                f"In brackets what the blocks of that campaign say. {AT_LEVEL}: where the next "
                f"campaign lies, from {FEWEST} campaigns on. A range has all brackets in it, where "
                "there are fewer campaigns, or where they are too far apart for an interval."
            ),
            notes=[
                f"campaign {n}: {member.campaign}, {member.created[:16]}, "
                f"boot {member.boot or 'unknown'}, {member.cpu_model or 'an unknown processor'} "
                f"({member.cpu_count}), {member.kernel}, {member.python}"
                + f"; counts with campaign {member.counts_with + 1}, an hour or less before it"
                * (member.counts_with != n - 1)
                for n, member in zip(places, self.campaigns, strict=True)
            ]
            + [f"of several versions: {name} {listing(of)}" for name, of in self.several.items()]
            + [
                f"in turns, which count otherwise before: combined from campaign {since + 1} on"
                for since in sorted({number.since for number in self.numbers.values()} - {0})
            ],
        )


class Groups(Record):
    """All that was combined: the newest interpreter first, then the most campaigns."""

    groups: list[CampaignGroup]


def release(environment: Environment) -> str:
    """``CPython 3.15`` of CPython 3.15.2; ``CPython 3.15t`` without a lock."""
    short = re.match(r"\S+ \d+\.\d+", environment.python)
    free = environment.python_build.get("gil") is False
    return (short[0] if short else environment.python) + "t" * free


def processor(environment: Environment) -> str:
    """``Intel Xeon family 6 model 85`` of Intel(R) Xeon(R) Processor @ 2.60GHz, family 6 model 85.

    It is what times and ratios depend on.
    """
    if environment.cpu_model is None:
        return "an unknown processor"
    return re.sub(r"\((?:R|TM)\)| (?:CPU|Processor)\b| @ [^,]*|,", "", environment.cpu_model)


# --- combining ---------------------------------------------------------------------------


def numbers(analysis: Analysis) -> dict[str, Number]:
    """Every number behind a headline of a campaign, by its question and key."""
    return {
        f"{question.NAME}/{number.key}": number
        for question, answer in answers(analysis)
        for headline, _ in answer.findings(question.NAME).values()
        for number in (headline.numbers if headline else ())
    }


def ways_of_turns(analyses: Sequence[Analysis]) -> tuple[int, float | None]:
    """Since which of these campaigns all turns count as the last ones do, and how: ``warm_s``."""
    ways = [
        (place, trial.turns.warm_s)
        for place, analysis in enumerate(analyses)
        for trial in stats.trials_of(analysis.records)
        if trial.turns
    ]
    last = ways[-1][1] if ways else None
    return max((place + 1 for place, way in ways if way != last), default=0), last


def combine(campaigns: Sequence[Path]) -> Groups:
    """Combine campaigns given by folder, in groups; the published ones by default.

    Raises :class:`CombineError` where there is none, for one that is there twice, and for one
    without any number of a headline.
    """
    folders = campaigns or sorted({file.parent for file in FOLDER.glob(f"*/{store.FILE_NAME}*")})
    if not folders:
        raise CombineError(
            f"no campaign in {shown(FOLDER)}: name some, or measure them on different days with "
            f"python -m bench run --profile headlines --results {shown(FOLDER)}"
        )
    groups: dict[tuple[str, str, str], list[Analysis]] = defaultdict(list)
    seen: set[str] = set()
    for analysis in sorted(
        (analysis_in(store.trials_file(folder)) for folder in folders),
        key=lambda analysis: analysis.campaign.created,
    ):
        name = analysis.campaign.campaign
        if name in seen:
            raise CombineError(f"campaign {name} is there twice: name it once")
        if not numbers(analysis):
            raise CombineError(f"campaign {name} has no number that a headline rests on")
        seen.add(name)
        on = analysis.campaign.environment
        groups[release(on), processor(on), analysis.campaign.profile].append(analysis)
    combined = [_group(*of, analyses) for of, analyses in groups.items()]

    def rank(group: CampaignGroup) -> tuple[list[int], int]:
        return [*map(int, re.findall(r"\d+", group.python))], group.count

    return Groups(groups=sorted(combined, key=rank, reverse=True))


def _group(python: str, on: str, profile: str, analyses: Sequence[Analysis]) -> CampaignGroup:
    numbers_of = [numbers(analysis) for analysis in analyses]
    first = independent([analysis.campaign for analysis in analyses])
    changed, warm_s = ways_of_turns(analyses)
    quantities = {}
    for key, number in {key: number for own in numbers_of for key, number in own.items()}.items():
        since = changed if key.partition("/")[0] in IN_TURNS else 0
        values = [own[key].found if key in own else None for own in numbers_of]
        if alike := counted(first[since:], values[since:]):
            all_ = combined(alike, stalls=number.stalls)
            quantities[key] = Quantity(
                what=number.what, unit=number.unit, values=values, since=since, combined=all_
            )
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
    packages = [analysis.campaign.environment.packages.items() for analysis in analyses]
    found = groupby(sorted({*chain(*packages)}), itemgetter(0))
    versions = {name: [version for _, version in of] for name, of in found}
    return CampaignGroup(
        python=python,
        processor=on,
        profile=profile,
        several={name: of for name, of in versions.items() if len(of) > 1},
        campaigns=members,
        warm_s=warm_s,
        numbers=quantities,
    )


# --- what is published -------------------------------------------------------------------


@cache
def published() -> Groups:
    """What this installation carries."""
    if not PUBLISHED.is_file():
        return Groups(groups=[])
    return Groups.model_validate_json(filesystem.read_text(PUBLISHED))


def group_of(environment: Environment) -> CampaignGroup | None:
    """The published campaigns of an interpreter's release on a processor."""
    of = release(environment), processor(environment)
    every = published().groups
    return next((group for group in every if (group.python, group.processor) == of), None)


def elsewhere(environment: Environment) -> list[CampaignGroup]:
    """Those of the same release on other processors."""
    on, python = processor(environment), release(environment)
    every = published().groups
    return [group for group in every if group.python == python and group.processor != on]


def quantities(headline: Headline, question: str, group: CampaignGroup | None) -> list[Quantity]:
    """What is published of the numbers in a headline's text; none unless all of them are.

    All of them have an interval, or all have a range: one word says which.
    """
    keys = [f"{question}/{key}" for key in headline.quotes]
    if group is None or not group.numbers.keys() >= {*keys}:
        return []
    found = [group.numbers[key] for key in keys]
    if all(quantity.combined.predicted for quantity in found):
        return found
    return [quantity.as_range if quantity.combined.predicted else quantity for quantity in found]


def ends(quantity: Quantity, own: float | None = None) -> str:
    """The interval or range as sentences have it: ``1.1 to 4.9``, ``14 to 20 %``, ``4.8 KiB``.

    ``own`` is the number that it stands behind: "9.1 times as many (published: 4 to 15 %)" hid that
    those are fewer.
    """
    together = quantity.combined
    if quantity.unit != "×":
        ends = dict.fromkeys(significant(end, 3) for end in (together.low, together.high))
        return f"{' to '.join(ends)} {quantity.unit}"
    value, low, high = together.value, together.low, together.high
    same = own is None or (own < 1) == (value < 1)
    if same and (high < 1 or 1 < low <= high < TIMES_FROM or value >= TIMES_FROM):
        return between(value, low, high)
    return f"{from_to(times, low, high)} times"


def source(quoted: Sequence[Quantity]) -> str:
    """``published`` where the next campaign's interval is, ``2 campaigns`` where a range is."""
    if all(quantity.combined.predicted for quantity in quoted):
        return "published"
    return plural(min(quantity.combined.campaigns for quantity in quoted), "campaign")


def suffix(headline: Headline, question: str, environment: Environment) -> str:
    """Where the numbers of a headline lie: ``published: 1.1 to 4.9``, ``2 campaigns: …``.

    Where none are published of this interpreter on this processor: where they lie on all others of
    its release together, or else with the newest release. Empty where nothing is.
    """
    numbers = {number.key: number.found.value for number in headline.numbers}
    own = [numbers.get(key) for key in headline.quotes]
    if quoted := quantities(headline, question, group_of(environment)):
        return f"{source(quoted)}: {listing([*map(ends, quoted, own)])}"
    same = elsewhere(environment)
    found = [
        (group, quoted)
        for group in same or published().groups[:1]
        if (quoted := quantities(headline, question, group))
    ]
    if not found:
        return ""
    (group, quoted), *others = found
    where = f"{source(quoted)} on " + f"{group.python}, " * (not same) + group.processor
    if others:
        where = f"published on {plural(len(found), 'processor')}"
    together = on_all([quoted for _, quoted in found])
    return f"{where}: {listing([*map(ends, together, own)])}"


def on_all(groups: Sequence[Sequence[Quantity]]) -> list[Quantity]:
    """The numbers of several groups: the first one's, from all their lowest ends to their highest.

    Shapes: each group has the same numbers in the same order.
    """
    together = []
    for number in zip(*groups, strict=True):
        low, high = ends_of(quantity.combined for quantity in number)
        every = replace(number[0].combined, low=low, high=high)
        together.append(number[0].model_copy(update={"combined": every}))
    return together


def beside(headline: Headline, question: str, environment: Environment) -> Headline:
    """A headline of one campaign, with :func:`suffix` behind it."""
    where = suffix(headline, question, environment)
    return replace(headline, behind=f"{headline.behind}; {where}") if where else headline
