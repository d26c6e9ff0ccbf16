"""The talk from its one template, ``templates/talk.md``: as a document, and as slides in a file.

The template is Markdown with what the records say filled in: :class:`Material` has charts,
findings, claims, counts and a fleet. A heading begins a slide. What follows it is shown; then come
the notes, the question from the floor with its answer, and the source of the numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import jinja2
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from bench import BenchError, filesystem, store
from bench.analysis.analysis import Analysis
from bench.claims import ledger
from bench.claims.verdict import Evidence, Judged, Verdict, judge
from bench.costs import report as costs_report
from bench.costs.report import Counted
from bench.fleet import study as fleet_study
from bench.fleet.study import FleetTrial, sentence
from bench.launch import RESULTS, ROOT
from bench.palette import PALETTES
from bench.questions import analysis_in, answers
from bench.questions.question import RANGES
from bench.report import charts, cite, findings, markup
from bench.report.charts import Sheet, wordless
from bench.schema import Environment
from bench.show.figures import Figure
from bench.show.pictures import alt
from bench.show.words import prose
from bench.study import Run
from bench.text import capital, listing, markdown_text, plural, size_words

CHART: Final = re.compile(r"!\[(?P<alt>.*)\]\(chart:(?P<name>[\w-]+)\)")
POSITIONS: Final = {"inside": "holds here", "outside": "does not", "undecided": "undecided"}
LINES, TEXTS = ("source", "title"), ("body", "notes", "floor")
"""The parts of a slide that are a line, and those that are paragraphs."""
CHAPTER: Final = "a-web-crawler-with-asyncio-coroutines"
"""Part of the address of the text that the talk follows."""
MARKS: Final = ("Hatched", "Hollow")
"""How notes about the marks of a chart begin."""


def under(note: str) -> bool:
    """Whether a note of a chart is under it, with marks and ranges; others are spoken."""
    return note.startswith(MARKS) or " against " in note or RANGES in note


class TalkError(BenchError):
    """There is no talk in these records."""


class Gap(NamedTuple):
    """A slide that these records cannot fill, and why."""

    kicker: str
    reason: str


class Drawing(NamedTuple):
    """A chart or why there is none, the folder of its records, and who decides on its colours."""

    design: Figure | str
    folder: Path
    backends: Sequence[str]


@dataclass
class Material:
    """The records of a talk, and what is computed from them when the template asks for it."""

    analysis: Analysis
    folder: Path  # of the campaign
    costs: Run[Counted] | None = None
    fleet: Run[FleetTrial] | None = None
    fleet_folder: Path = Path()
    gaps: list[Gap] = field(default_factory=list)

    @classmethod
    def load(cls, campaign: Path, fleet: Path | None = None) -> Material:
        """Read a campaign, the experiments and counts in its folder, and a fleet.

        Raises :class:`bench.store.StoreError` for records that cannot be read, and
        :class:`TalkError` for a campaign that compares interpreters.
        """
        file = store.trials_file(campaign)
        folder, analysis = file.parent, analysis_in(file)
        if analysis.campaign.interpreters:
            raise TalkError(
                f"{folder}: the talk compares models, and this campaign compares interpreters; "
                "name a campaign of one interpreter"
            )
        counted = costs_report.STUDY.runs(folder.parent / costs_report.NAME)[-1:]
        return cls(
            analysis,
            folder,
            next(iter(counted), None),
            fleet_study.STUDY.last(fleet) if fleet else None,
            fleet or Path(),
        )

    def names(self) -> dict[str, Any]:
        """Everything that the template may name."""
        head, trials = self.analysis.campaign, self.analysis.records.trials
        beside: dict[str, list[str]] = {}
        heads = [run.head for run in self.evidence.measured[-1:]]
        heads += [self.evidence.tasks.head] if self.evidence.tasks else []
        for run_head in heads:
            beside.setdefault(machine(run_head.environment), []).append(run_head.run)
        return {
            "licence": cite.LICENCE,
            "campaign": f"campaign {head.campaign}, profile {head.profile}; "
            f"{machine(head.environment)}",
            "trials": sum(trial.status != "refused" for trial in trials),
            "usable": sum(trial.status == "ok" for trial in trials),
            "experiments": "; ".join(
                f"experiments {listing(runs)}; {where}" for where, runs in beside.items()
            ),
            "counted": self.costs
            and f"counted on {self.costs.head.created[:10]}; "
            f"{machine(self.costs.head.environment)}",
            "holding": self.fleet
            and f"fleet {self.fleet.head.run}; {machine(self.fleet.head.environment)}",
            "fleet": self.fleet and self.fleet.head.environment,
            "largest": fleet_study.largest(self.fleet) if self.fleet else [],
            "refused": self.fleet.faults() if self.fleet else [],
            "verdicts": self.verdicts,
            "judged": self.judged,
            "sentences": self.sentences(),
            "stated": ledger.stated,
            "now": ledger.now,
            "POSITIONS": POSITIONS,
            "under": under,
            "alt": alt,
            "chart": self.chart,
            "look": self.look,
            "missing": self.missing,
            "told": self.told,
            "behind": self.behind,
            "sentence": sentence,
            "plural": plural,
            "size": partial(size_words, digits=2),
        }

    @cached_property
    def evidence(self) -> Evidence:
        """The campaign with the experiments in its folder, and waiting tasks beside it."""
        return Evidence.of(self.analysis.campaign.campaign, self.analysis, self.folder)

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Every claim with what this campaign says of it, by its name."""
        return {verdict.claim.name: verdict for verdict in judge([self.evidence])}

    def judged(self, name: str) -> list[Judged]:
        """The readings of a claim that have a number."""
        return [reading for reading in self.verdicts[name].judged if reading.position != "missing"]

    def sentences(self) -> list[tuple[int, Verdict, Judged]]:
        """What the chapter says, by its steps, and the first reading of each with a verdict."""
        return [
            (step, verdict, next(it for it in verdict.judged if it.tested))
            for step, verdict, _ in ledger.by_step([self.evidence])
            if verdict.known and CHAPTER in verdict.claim.url
        ]

    def told(self, name: str, *, variants: bool = False) -> str:
        """A finding as far as it is about the models: what a speaker can say in one breath."""
        text = findings.named(self.analysis).get(name, "").partition(" HTTP stacks: ")[0]
        return text if variants else text.partition(" Variants: ")[0]

    def behind(self, name: str) -> str:
        """How sure the headline of a finding is: what is in brackets after it."""
        for question, answer in answers(self.analysis):
            head, _ = answer.findings(question.NAME).get(name, (None, ""))
            if head:
                return head.behind
        return ""

    # --- charts ---------------------------------------------------------------------------

    def chart(self, name: str, kicker: str) -> Figure | None:
        """A chart for a slide of its own; where there is none, the slide is a gap."""
        figure = self.look(name)
        if figure is None:
            self.missing(kicker, str(self.drawing(name).design))
        return figure

    def look(self, name: str) -> Figure | None:
        """A chart, if these records have it."""
        design = self.drawing(name).design
        return design if isinstance(design, Figure) else None

    def missing(self, kicker: str, reason: str) -> str:
        """Note a slide that is left out; there is nothing to show for it."""
        self.gaps.append(Gap(kicker, reason))
        return ""

    def drawing(self, name: str) -> Drawing:
        if name in self._beside:
            return self._beside[name]
        own = self._story.get(name, "this campaign did not measure it")
        return Drawing(own, self.folder, self.analysis.backends)

    @cached_property
    def _story(self) -> Mapping[str, Figure]:
        return charts.story(self.analysis)

    @cached_property
    def _beside(self) -> dict[str, Drawing]:
        """The charts of other records than the campaign's."""
        costs = Drawing("no counts beside the campaign, in ../costs", Path(), ())
        if self.costs:
            who = dict.fromkeys(backend for backend, *_ in costs_report.crawled(self.costs))
            costs = Drawing(costs_report.design(self.costs), RESULTS / "costs", [*who])
        ramp = Drawing("no fleet was named: add --fleet results/FLEET", Path(), ())
        if self.fleet:
            who_held = fleet_study.backends(self.fleet)
            ramp = Drawing(fleet_study.ramp(self.fleet), self.fleet_folder, who_held)
        return {costs_report.NAME: costs, fleet_study.RAMP: ramp}


def machine(environment: Environment) -> str:
    """Interpreter and machine in a few words."""
    processor = environment.cpu_model or environment.machine
    return f"{environment.python}, {processor}, {plural(environment.cpu_count, 'processor')}"


# --- the slides ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TalkSlide:
    """One slide in Markdown: what the room sees, what the speaker says, what the floor asks."""

    kicker: str  # where in the story we are
    title: str
    body: str
    notes: str
    floor: str
    source: str  # the campaign of its numbers

    @property
    def name(self) -> str:
        """Its address: ``the-claim-tested``."""
        return re.sub(r"\W+", "-", self.kicker.lower())


@dataclass(frozen=True, slots=True)
class Talk:
    """The template, filled, and the slides in it."""

    material: Material
    text: str
    slides: Sequence[TalkSlide]


def tell(material: Material, command: str = "") -> Talk:
    """The slides that the records fill. ``command`` is how the document is made."""
    text = _templates().get_template("talk.md").render(command=command, **material.names())
    text = re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"
    return Talk(material, text, [_slide(part) for part in re.split(r"(?m)^## ", text)[1:]])


def _templates() -> jinja2.Environment:
    return markup.templates(__name__, prose=prose, capital=capital, md=markdown_text)


def _slide(text: str) -> TalkSlide:
    title, _, rest = text.partition("\n")
    body, _, rest = rest.partition("**Notes.** ")
    notes, _, rest = rest.partition("**From the floor:** ")
    floor, _, rest = rest.partition("<sub>")
    kicker, _, source = rest.strip().removesuffix(".</sub>").partition(". Numbers: ")
    return TalkSlide(kicker, title, body, notes, floor, source)


def document(talk: Talk, page: Path) -> str:
    """The talk as a document; charts are linked where they lie, and described where they do not."""

    def picture(match: re.Match[str]) -> str:
        file = talk.material.drawing(match["name"]).folder / "charts" / f"{match['name']}.svg"
        if not file.is_file():
            return f"*{match['alt']}*"
        return f"![{match['alt']}]({Path(os.path.relpath(file, page.parent)).as_posix()})"

    def page_of_docs(match: re.Match[str]) -> str:
        return f"]({Path(os.path.relpath(ROOT / 'docs' / match[1], page.parent)).as_posix()})"

    text = re.sub(r"\]\(([\w-]+\.md)\)", page_of_docs, CHART.sub(picture, talk.text))
    head, *slides = re.split(r"(?m)^## ", text)
    lines = [head, *(f"## {number}. {text}" for number, text in enumerate(slides, 1))]
    if gaps := talk.material.gaps:
        lines.append("\n## Left out\n\n")
        lines += [f"- {gap.kicker}: {markdown_text(gap.reason)}\n" for gap in gaps]
    return "".join(lines)


def html(talk: Talk) -> str:
    """The slides as one self-contained file; the same records give the same text."""
    colours = markup.Colours()
    with filesystem.scratch() as folder:
        reader = _reader(talk.material, folder, colours)
        shown: list[dict[str, str]] = []
        for slide in talk.slides:
            lines = {part: markup.read_line(reader, getattr(slide, part)) for part in LINES}
            texts = {part: markup.read(reader, getattr(slide, part)) for part in TEXTS}
            shown.append({"name": slide.name, "kicker": slide.kicker, **lines, **texts})
    return (
        _templates()
        .get_template("talk.html")
        .render(
            campaign=talk.material.analysis.campaign.campaign,
            shown=shown,
            gaps=talk.material.gaps,
            palettes=PALETTES,
            colours=colours,
        )
    )


def _reader(material: Material, folder: Path, colours: markup.Colours) -> MarkdownIt:
    """Reads Markdown without HTML in it, draws its charts and colors its code."""

    def coloured(code: str, *_: object) -> str:
        return str(highlight(code, PythonLexer(), HtmlFormatter(nowrap=True)))

    def picture(_self: object, tokens: Sequence[Token], place: int, *_: object) -> str:
        """The chart without its headline and small print, which the slide has in larger type."""
        drawing = material.drawing(str(tokens[place].attrs["src"])[len("chart:") :])
        figure = drawing.design
        assert isinstance(figure, Figure), "the template shows only charts that there are"
        sheet = Sheet(folder, drawing.backends, (), ("svg",), shape="stage")
        file = sheet.draw(wordless(figure)).files["svg"]
        return markup.svg(figure.name, alt(figure.title, figure.data), file, colours)

    reader = markup.reader(highlight=coloured)
    reader.add_render_rule("image", picture)
    return reader
