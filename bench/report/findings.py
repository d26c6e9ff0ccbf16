"""The findings of a campaign in a few sentences.

A finding is a sentence that the records support. All numbers come from the same
analysis as the charts, and only differences that the statistics show are called
differences. The four models come first; variants follow, and whole HTTP stacks,
which do more than a model, stand apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL
from bench.plan.participants import FREE
from bench.questions import answers
from bench.questions.question import paragraph
from bench.report import campaigns


def named(analysis: Analysis) -> dict[str, str]:
    """The findings that the records support: name -> paragraph of Markdown, in story order.

    Behind a headline stands where the published campaigns have its numbers.
    """
    paragraphs = {}
    for question, answer in answers(analysis):
        for name, (head, prose) in answer.findings(question.NAME).items():
            if head:
                head = campaigns.beside(head, question.NAME, analysis.campaign.environment)
            paragraphs[name] = paragraph(head, prose)
    return paragraphs


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
