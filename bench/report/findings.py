"""The findings of a campaign in a few sentences, for the README and for talks.

A finding is a sentence that the records support. All numbers come from the same
analysis as the charts, and only differences that the statistics show are called
differences. The four models come first; variants follow, and whole HTTP stacks,
which do more than a model, stand apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL
from bench.plan.participants import FREE
from bench.questions import answers
from bench.questions.question import Headline, paragraph
from bench.report import campaigns, cite

NAME: Final = "findings"
"""The generated part of a Markdown file that holds the findings."""

HEADLINES: Final = "headlines"
"""The one that holds only the name, the headline and the interval of each."""


def named(analysis: Analysis) -> dict[str, str]:
    """The findings that the records support: name -> paragraph of Markdown, in story order.

    Behind a headline stands where the published campaigns have its numbers.
    """
    found = {}
    for question, answer in answers(analysis):
        for name, (head, prose) in answer.said(question.NAME).items():
            if head:
                head = campaigns.beside(head, question.NAME, analysis.campaign.environment)
            found[name] = paragraph(head, prose)
    return found


def over(analyses: Sequence[Analysis]) -> dict[str, str]:
    """The findings of the published campaigns, of which these are some, oldest first.

    A headline has the numbers of all campaigns in its text, and is left out where they do not bear
    it out. Each campaign contrasts the backends that differ most in it. The sentence is about the
    pair that most campaigns chose, so that it does not change its subject with the newest one.
    """
    said: dict[str, list[tuple[str, Headline | None, str]]] = defaultdict(list)
    for analysis in analyses:
        for question, answer in answers(analysis):
            for name, (head, prose) in answer.said(question.NAME).items():
                said[name].append((question.NAME, head, prose))
    environment = analyses[-1].campaign.environment
    found = {}
    for name, candidates in said.items():
        # By the numbers in its text. Without any, it is the newest campaign's own.
        subjects = [head.quotes if head else () for _, head, _ in candidates]
        usual = max(subjects, key=subjects.count)
        question_name, head, prose = candidates[subjects.index(usual) if usual else -1]
        quoted = campaigns.over(head, question_name, environment) if head else None
        if quoted or not head:
            found[name] = paragraph(quoted, prose)
    return found


def markdown(analysis: Analysis) -> str:
    """The findings as a list, with the campaign they come from."""
    return listed(named(analysis).values(), source(analysis))


def headlines(published: Sequence[Analysis], reference: Analysis) -> str:
    """Each finding's name, headline and interval, as two lists with their sources.

    First those that rest on all published campaigns of the profile ``headlines``, as :func:`over`
    has them; then, not in bold, what only the reference campaign has.
    """
    again, once = over(published), named(reference)
    group = campaigns.group_of(published[-1].campaign.environment)
    said = [f"`{name}`: {cite.quoted(each)}" for name, each in again.items()]
    size = f"{group.size} (`results/headlines`), {group.python}." if group else ""
    others = [
        f"`{name}`: {cite.quoted(each).replace('**', '')}"
        for name, each in once.items()
        if name not in again
    ]
    return f"{listed(said, size)}\n\nFrom one campaign:\n\n{listed(others, source(reference))}"


def listed(sentences: Iterable[str], source: str) -> str:
    """Sentences as a list of Markdown, and where they come from."""
    return "\n".join([*(f"- {sentence}" for sentence in sentences), "", source])


def source(analysis: Analysis, further: str = f"; {AT_LEVEL} intervals are in parentheses") -> str:
    """The campaign of the findings, its machine and interpreter, and what is compared."""
    campaign, machine = analysis.campaign, analysis.campaign.environment
    python, base = f", {machine.python}", f"`{campaign.base}`"
    if campaign.interpreters:
        python, base = "", "the interpreter before the arrow"
    elif FREE in analysis.labels and analysis.places is None:
        further += "; threads had one processor, as every client here, and cost more on several"
    return (
        f"Campaign `{campaign.campaign}`, profile {campaign.profile}, on "
        f"{machine.cpu_model or 'an unknown processor'} ({machine.cpu_count} processors)"
        f"{python}. Every difference is to {base}{further}."
    )
