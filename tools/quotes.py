"""What the documents of this repository quote of campaigns: findings, charts and numbers.

A template cannot claim what the records do not show: an undecided difference raises.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import (
    AT_LEVEL,
    CPU_PER_1000,
    PAGES_PER_S,
    Comparison,
    MemoryFit,
    Spread,
)
from bench.analysis.stats.campaigns import FEWEST, Combined, combined, counted, ends_of
from bench.plan.participants import Label
from bench.questions import answers, churn, interpreters, mixed, tls_pages
from bench.questions.question import Headline, paragraph
from bench.report import campaigns, cite, findings, markup, summary
from bench.report.campaigns import CampaignGroup, Quantity
from bench.report.charts import story
from bench.report.page import shown_first
from bench.schema import Environment
from bench.show.table import MISSING
from bench.show.words import between, change, interval
from bench.text import KIB, MIB, count, duration, listing, plural, significant, unbroken
from crawlers.registry import MODELS

SHOWN: Final = (*MODELS[1:], "uvloop", "trio", "gevent", "aiohttp")
AS_SERVERS: Final = {"aiohttp": "aiohttp_web"}
"""Backends whose server has another name."""
FETCH: Final = "fetch-100"

CITES: Final = ("memory", "tls-memory", "handovers", "page")
"""The findings that README quotes."""


# --- findings, and pictures ---


def borne_out(*groups: Sequence[Quantity]) -> bool:
    """Whether the same numbers of every group say the same.

    A ratio is on one side of 1, and the first of two numbers is the larger one in each campaign.
    """
    for number in zip(*groups, strict=True):
        ratios = [quantity.combined for quantity in number if quantity.unit == "×"]
        if ratios:
            low, high = ends_of(ratios)
            if low <= 1 <= high:
                return False
    rows = [row for group in groups for row in zip(*(q.alike for q in group), strict=True)]
    found = [[value.value for value in row if value] for row in rows]
    return all(row == sorted(row, reverse=True) for row in found)


def overlap(numbers: Sequence[Quantity]) -> bool:
    """Whether the lowest of one number is below the highest of a smaller one, in ranges."""
    ranges = [q.combined for q in numbers if q.unit != "×" and not q.combined.predicted]
    return any(more.low <= less.high for more, less in pairwise(ranges))


def groups_on(environment: Environment) -> tuple[list[CampaignGroup], list[CampaignGroup]]:
    """Those of its interpreter that a document quotes, its own processor first, and the others.

    The others have too few campaigns for an interval, and bear out what the first say.
    """
    own, others = campaigns.group_of(environment), campaigns.elsewhere(environment)
    quoted = [group for group in others if group.count >= FEWEST]
    few = [group for group in others if group.count < FEWEST]
    return ([own, *quoted] if own else quoted), few


def over_campaigns(headline: Headline, question: str, environment: Environment) -> Headline | None:
    """A headline with what is published of its interpreter.

    In its text the numbers on its processor, and behind it where they lie there and on the other
    that has an interval, or on all of them together. As it is where none are published, and None
    where any of the others do not bear it out.
    """
    quantities = campaigns.quantities(headline, question, campaigns.group_of(environment))
    if not quantities or headline.say is None:
        return headline
    quoted, few = groups_on(environment)
    numbers_of = partial(campaigns.quantities, headline, question)
    groups = [(group.processor, found) for group in quoted if (found := numbers_of(group))]
    if not borne_out(*(found for _, found in groups), *filter(None, map(numbers_of, few))):
        return None
    shown = [(on, found, campaigns.source(found)) for on, found in groups]
    if len(groups) > 2:  # so many names are not read
        sources = sorted({source for _, _, source in shown} - {"published"})
        together = campaigns.on_all([found for _, found in groups])
        source = f"some of {listing(sources)}" if sources else "published"
        shown = [(plural(len(groups), "processor"), together, source)]
    behind = [
        f"{on}: {listing([*map(campaigns.ends, found)])}" + f", {source}" * (source != "published")
        for on, found, source in shown
    ]
    if any(overlap(numbers) for _, numbers in groups):
        behind.append("single blocks overlap, the medians of each campaign do not")
    # A campaign's few trials show no difference, so the sentence says what does.
    text = headline.say([quantity.combined.value for quantity in quantities])
    if not headline.pairs:
        text += f", in {plural(quantities[0].combined.campaigns, 'campaign')}"
    return replace(headline, text=text, behind="; ".join(behind))


def over(analyses: Sequence[Analysis]) -> dict[str, str]:
    """The findings of the published campaigns, of which these are some, oldest first.

    A headline has the numbers of all campaigns in its text. It is left out where they do not bear
    it out, or where it quotes none: then it is about one campaign alone. Each campaign contrasts
    the backends that differ most in it. The sentence is about the pair that most campaigns chose,
    so that it does not change its subject with the newest one.
    """
    candidates_of: dict[str, list[tuple[str, Headline | None, str]]] = defaultdict(list)
    for analysis in analyses:
        for question, answer in answers(analysis):
            for name, (head, prose) in answer.findings(question.NAME).items():
                candidates_of[name].append((question.NAME, head, prose))
    environment = analyses[-1].campaign.environment
    paragraphs = {}
    for name, candidates in candidates_of.items():
        # By the numbers in its text.
        subjects = [head.quotes if head else () for _, head, _ in candidates]
        usual = max(subjects, key=subjects.count)
        question_name, head, prose = candidates[subjects.index(usual)]
        if head and usual and (quoted := over_campaigns(head, question_name, environment)):
            paragraphs[name] = paragraph(quoted, prose)
    return paragraphs


def basis(published: Sequence[Analysis]) -> str:
    """What is behind the headlines: ``11 on AMD EPYC and 9 on Intel Xeon, CPython 3.15``."""
    environment = published[-1].campaign.environment
    quoted, few = (
        listing([f"{group.count} on {group.processor}" for group in groups])
        for groups in groups_on(environment)
    )
    python = campaigns.release(environment)
    behind = f", borne out by {few}" * bool(few)
    return (
        f"Campaigns: {quoted}, {python} (`results/headlines`){behind}. In parentheses: {AT_LEVEL} "
        "for the next campaign, or the range of as many as are named."
    )


def headlines(published: Sequence[Analysis], reference: Analysis) -> str:
    """Each finding's name, headline and interval, as two lists with their sources.

    First those that rest on all published campaigns of the profile ``headlines``, as :func:`over`
    has them; then, not in bold, what only the reference campaign has.
    """
    again, once = over(published), findings.named(reference)
    several = [f"`{name}`: {cite.quoted(finding)}" for name, finding in again.items()]
    others = [f"`{name}`: {cite.quoted(once[name])}" for name in once if name not in again]
    one = (sentence.replace("**", "") for sentence in others)
    first = findings.listed(several, basis(published))
    return f"{first}\n\nFrom one campaign:\n\n{findings.listed(one, findings.source(reference))}"


def gallery(analysis: Analysis, charts: str, folder: Path) -> str:
    """Pictures, two in a row.

    ``charts`` is the address of the campaign's charts and ``folder`` where they lie:
    only what was drawn is shown.
    """
    figures = story(analysis)
    drawn = [name for name in figures if (folder / f"{name}.svg").is_file()]
    shown = shown_first(drawn)
    width = "100%" if len(shown) == 1 else "49%"
    return "\n".join(
        f'<a href="{address}"><img src="{address}" width="{width}" '
        f'alt="{escape(f"Chart: {figures[name].heading}")}"></a>'
        for name in shown
        for address in [f"{charts}/{name}.svg"]
    )


def doubts(analysis: Analysis) -> str:
    """What the campaign says about its own method."""
    campaign = analysis.campaign
    lines = [f"From campaign `{campaign.campaign}`, profile {campaign.profile}.", ""]
    for line in summary.method(analysis):
        lines.append(textwrap.fill(f"- {line}", 100, subsequent_indent="  "))
    return "\n".join(lines)


# --- numbers ---


class NotShownError(ValueError):
    """A template quotes a difference or a total that the records do not show."""


def _in_all(fit: MemoryFit) -> float:
    """KiB of a connection. Raises :class:`NotShownError` where a part was not read."""
    if fit.total is None:
        raise NotShownError(f"{fit.label}: not all of its memory was read")
    return fit.total / KIB


def quoted(comparison: Comparison) -> str:
    """A difference in words. Raises :class:`NotShownError`."""
    if not comparison.ratio.shown or comparison.ratio.value is None:
        raise NotShownError(
            f"{comparison.label} against {comparison.base} at {comparison.point}: "
            f"{comparison.ratio.verdict}"
        )
    return f"{change(comparison.ratio.value)} ({interval(comparison)})"


def _with_ends(together: Combined) -> str:
    numbers = together.value, together.low, together.high
    value, *ends = (significant(number, 3) for number in numbers)
    return f"{value} ({'–'.join(dict.fromkeys(ends))})"


def over_group(group: CampaignGroup, key: str, base: str | None = None) -> Combined | None:
    """A number over a processor's campaigns, or its ratio to ``base`` in each of them."""
    if key not in group.numbers:
        return None
    if base is None:
        return group.numbers[key].combined
    both = group.numbers[key], group.numbers[base]
    since = max(quantity.since for quantity in both)
    pairs = zip(*(quantity.values[since:] for quantity in both), strict=True)
    ratios = (one.value / other.value if one and other else None for one, other in pairs)
    values = (Spread(ratio, ratio, ratio, 1) if ratio else None for ratio in ratios)
    return combined(counted((member.counts_with for member in group.campaigns[since:]), values))


def page_key(*labels: str) -> str:
    """The key of a fetched page's processor time, or of its ratio to another's."""
    return "/".join(("page", CPU_PER_1000.name, FETCH, *labels))


class Numbers:
    """The numbers of one campaign, or over the published ones where they measured them.

    A backend or point that it does not have raises KeyError.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.campaign = analysis.campaign.campaign
        self.python = analysis.campaign.environment.python
        self.group = campaigns.group_of(analysis.campaign.environment)

    def over(self, key: str) -> str:
        """A number over the processor's campaigns, and in parentheses its interval or range.

        ``key`` is that of :mod:`bench.report.campaigns`.
        """
        together = self._published(key)
        return _with_ends(together) if together else MISSING

    def anywhere(self, key: str, base: str | None = None) -> str:
        """A number, or its ratio to another's, and where it lies on all processors together.

        The value is that of the own processor, and the ends the lowest and the highest of any
        interval or range. Hour and machine move both parts of a ratio, so it repeats better.
        """
        found = [one for group in self._groups if (one := over_group(group, key, base))]
        if not found:
            return MISSING
        low, high = ends_of(found)
        return _with_ends(replace(found[0], low=low, high=high))

    def page_on_each(self, label: str) -> str:
        """A fetched page on each processor: ``13.9 µs on AMD EPYC and 12.2 µs on Intel Xeon``."""
        found = [(group.numbers[page_key(label)], group.processor) for group in self._groups]
        return listing(
            [f"{significant(one.combined.value, 3)} {one.unit} on {where}" for one, where in found]
        )

    @property
    def paged(self) -> int:
        """Over how many campaigns the times of pages and of new connections are combined."""
        return self._groups[0].numbers[page_key("callbacks")].combined.campaigns

    @property
    def cold(self) -> str:
        """The processors whose turns all began with cold caches."""
        return listing([one.processor for one in self._groups if one.warm_s is None])

    @property
    def _groups(self) -> list[CampaignGroup]:
        quoted, few = groups_on(self.analysis.campaign.environment)
        return [*quoted, *few]

    def _published(self, key: str) -> Combined | None:
        quantity = self.group.numbers.get(key) if self.group else None
        return quantity.combined if quantity else None

    def idle(self, label: str, *, over_tls: bool = False) -> str:
        """KiB that an idle connection uses, client's side."""
        return f"{self._connection(label, over_tls=over_tls):.1f}"

    def held(self, label: str, connections: int, *, over_tls: bool = False) -> str:
        """MiB that so many of them use."""
        return count(self._connection(label, over_tls=over_tls) * connections * KIB / MIB)

    def _connection(self, label: str, *, over_tls: bool) -> float:
        if together := self._published(f"memory/{'tls' if over_tls else 'plain'}/{label}"):
            return together.value
        return _in_all((self.analysis.memory_over_tls if over_tls else self.analysis.memory)[label])

    def page(self, label: str, point: str = FETCH) -> str:
        """Microseconds of processor time per page."""
        return significant(self._page(label, point), 3)

    def _page(self, label: str, point: str) -> float:
        together = self._published(page_key(label)) if point == FETCH else None
        # Milliseconds for 1000 pages are microseconds for one.
        return together.value if together else self._average(label, point, CPU_PER_1000)

    def apart(self, label: str, base: str, point: str = FETCH) -> str:
        """Microseconds between two of these."""
        return significant(self._page(label, point) - self._page(base, point), 2)

    def share(self, label: str, point: str, rate: float) -> str:
        """How much of a processor this many pages per second use."""
        return f"{self._average(label, point, CPU_PER_1000) * rate / 1e4:.0f} %"

    def rate(self, label: str, point: str) -> str:
        """Pages per second, the average of the trials."""
        return count(self._average(label, point, PAGES_PER_S))

    def _average(self, label: str, point: str, metric: stats.Metric) -> float:
        trials = stats.trials_of(self.analysis.records, twins=False)
        here = [trial for trial in trials if (trial.point, trial.label) == (point, label)]
        if (average := stats.middle(map(metric.value, here))) is None:
            raise KeyError(f"{label} at {point}")
        return average

    def connection(self, label: str) -> str:
        """Microseconds that opening and closing a connection adds to a page."""
        if together := self._published(f"churn/{churn.OPENING}/{label}"):
            return significant(together.value, 3)
        return significant(self.analysis.once(churn.measured).value(label, churn.OPENING), 3)

    def encryption(self, label: str) -> str:
        """Microseconds that TLS adds to a page on a kept connection."""
        tls = self.analysis.once(tls_pages.measured)
        return significant(tls.value(label, tls_pages.ENCRYPTION), 3)

    def handshake(self, label: str) -> str:
        """Microseconds of processor time of a full handshake, client's side."""
        return count(self.analysis.once(tls_pages.measured).value(label, tls_pages.HANDSHAKE))

    def handshakes(self, label: str) -> str:
        """In how many blocks a handshake was measured."""
        tls = self.analysis.once(tls_pages.measured)
        return plural(len(tls.values[label][tls_pages.HANDSHAKE]), "block")

    def with_work(self, label: str) -> str:
        """Mean response time of the pages that need no work, where one in ten needs 10 ms.

        Trials on a machine that changed its speed do not count, so their number is said.
        """
        means = mixed.measured(self.analysis).spread(label, mixed.key(mixed.MEAN, 10))
        if means is None:
            raise KeyError(f"{label} beside work")
        return f"{duration(means.value)} ({plural(means.count, 'trial')})"

    def change(self, label: str, base: str, point: str = FETCH) -> str:
        """``43 % more (40 to 47 %)`` processor time per page than the base's.

        Of a fetched page the published campaigns say it, where they compared the two: blocks of
        one campaign agree with each other more than with the next. Raises :class:`NotShownError`.
        """
        if point == FETCH and (together := self._published(page_key(label, base))):
            if together.low <= 1 <= together.high:
                raise NotShownError(f"{label} against {base}: the interval includes 1")
            ends = between(together.value, together.low, together.high)
            return f"{change(together.value)} ({ends})"
        comparisons = {(c.point, c.label): c for c in self.analysis.compare(CPU_PER_1000, base)}
        return quoted(comparisons[point, label])


class Lock:
    """The newest free-threaded build of a campaign, against the same release with its lock."""

    def __init__(self, analysis: Analysis) -> None:
        releases = interpreters.Releases(analysis.records)
        pairs = (pair for pair in reversed(releases.steps) if pair[1].endswith("t"))
        self.locked, self.free = next(pairs)
        self._memory = analysis.memory
        self._compared = interpreters.compared(analysis, releases)[interpreters.PAGE]

    def idle(self, label: str, interpreter: str) -> str:
        """KiB that an idle connection uses on plain HTTP, client's side."""
        return f"{_in_all(self._memory[Label(label, interpreter).backend]):.1f}"

    def change(self, label: str) -> str:
        """Processor time per crawled page without the lock. Raises :class:`NotShownError`."""
        return quoted(self._compared[Label(label, self.free).backend])


def table(numbers: Numbers) -> str:
    """README's table: what the models and the best-known libraries cost."""
    template = markup.templates(__name__).get_template("choice.md")
    return template.render(n=numbers, shown=SHOWN, servers=AS_SERVERS).rstrip()


def cited(published: Sequence[Analysis]) -> str:
    """README's numbers to cite: findings of the published campaigns, with what they found."""
    named = over(published)
    sentences = [cite.quoted(named[name]) for name in CITES if name in named]
    return findings.listed(sentences, basis(published))


def which_one(reference: Analysis, without_the_lock: Analysis) -> str:
    """The text of docs/which-one.md."""
    template = markup.templates(__name__).get_template("which-one.md")
    text = template.render(n=Numbers(reference), f=Lock(without_the_lock), fewest=FEWEST)
    # Paragraphs and items are filled again, because numbers are shorter than their names.
    return re.sub(r"(?m)^(?![#|<])(- )?.+(\n(?!- ).+)*", _filled, text)


def _filled(part: re.Match[str]) -> str:
    """No line ends within a command, or between a number and its unit: NUL stands for a space."""
    words = unbroken(" ".join(part[0].split())).replace("\N{NO-BREAK SPACE}", "\0")
    whole = re.sub(r"`[^`]+`", lambda w: w[0].replace(" ", "\0"), words)
    wrapper = textwrap.TextWrapper(100, break_long_words=False, break_on_hyphens=False)
    wrapper.subsequent_indent = "  " if part[1] else ""
    return wrapper.fill(whole).replace("\0", " ")
