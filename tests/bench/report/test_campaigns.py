"""``python -m bench combine``, and where the published campaigns have a reader's numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main
from bench.analysis import stats
from bench.analysis.stats.campaigns import Combined
from bench.cli import DONE, USAGE
from bench.machine import environment as machine
from bench.machine import procfs
from bench.plan.durations import WARM_S
from bench.questions import analysis_in
from bench.questions.question import Headline
from bench.report import campaigns, findings
from bench.report.campaigns import Groups, Quantity, ends
from bench.schema import TrialRecord
from bench.show.table import MISSING
from bench.text import significant
from tests.bench.cli.test_cli import save
from tests.bench.sure import sure
from tests.bench.synthetic import altered, campaign, environment, in_turns, replaced
from tools import quotes

RATIO = "page/cpu_ms_per_1000/throughput-100/threads/callbacks"


def made(
    folder: Path,
    number: int,
    python: str = "CPython 3.11.9",
    dear: float = 2.0,
    cpu: str = "AMD EPYC",
    profile: str = "headlines",
    warm_s: float | None = WARM_S,
) -> Path:
    """A campaign of its own hour, in which threads cost so many times as much as callbacks."""
    workloads, name = ("throughput", "c10k"), f"2026112{number}-080000-aaaaaa"
    made = campaign(base="callbacks", blocks=5, samples=10, workloads=workloads, seed=number)
    created = f"2026-11-2{number}T08:00:00Z"
    found = environment(python=python, boot=f"b{number}", cpu_model=cpu)

    def turned(trial: TrialRecord) -> TrialRecord:
        us = 20.0 * (dear if trial.label == "threads" else 1.0) * (1 + trial.block / 100)
        return in_turns(trial, us, warm_s) if trial.point == "throughput-100" else trial

    head, *lines = replaced(made, turned)
    head = altered(head, campaign=name, created=created, environment=found, profile=profile)
    return save(folder / name, [head, *lines])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    parent = tmp_path_factory.mktemp("headlines")
    return [made(parent, number, dear=2.0 + number / 5) for number in range(1, 6)]


@pytest.fixture(scope="module")
def groups(folders: list[Path]) -> Groups:
    return campaigns.combine(folders)


def carry(monkeypatch: pytest.MonkeyPatch, groups: Groups) -> None:
    monkeypatch.setattr(campaigns, "published", lambda: groups)


def test_campaigns_stand_side_by_side_with_what_the_next_one_will_find(groups: Groups) -> None:
    (group,) = groups.groups
    assert (group.python, len(group.campaigns)) == ("CPython 3.11", 5)
    found = group.numbers[RATIO]
    medians = [value and value.value for value in found.values]
    assert medians == pytest.approx([2.2, 2.4, 2.6, 2.8, 3.0])
    assert found.combined.predicted
    assert found.combined.low < 2.2 < 3.0 < found.combined.high
    assert group.numbers["memory/plain/threads"].unit == "KiB"
    assert Groups.model_validate_json(groups.model_dump_json()) == groups


def test_the_command_prints_markdown_to_a_pipe_and_one_object_as_json(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(folder) for folder in folders[:2]]
    assert main(["combine", names[0], "--json", *names[1:]]) == DONE  # in any order
    (group,) = Groups.model_validate_json(capsys.readouterr().out).groups
    assert group.numbers[RATIO].combined.campaigns == 2
    assert main(["combine", *names]) == DONE
    table = capsys.readouterr().out
    assert "| threads ÷ callbacks: processor time per crawled 2 KB page | × | 2.2 |" in table
    assert "- campaign 2: 20261122-080000-aaaaaa, 2026-11-22T08:00, boot b2" in table


def test_only_what_is_alike_is_combined_and_near_campaigns_count_once(tmp_path: Path) -> None:
    """A reference holds 10,000 connections where headlines hold 1,000, by the same name."""
    files = [made(tmp_path, 1), made(tmp_path, 2, "CPython 3.15.2"), made(tmp_path, 3)]
    near, reference = files[2] / store.FILE_NAME, made(tmp_path, 4, profile="reference")
    text = near.read_text().replace("2026-11-23T08:00", "2026-11-21T08:30").replace('"b3"', '"b1"')
    near.write_text(text.replace('"uvloop":"0.21.0"', '"uvloop":"0.22.1"'))
    newest, oldest, other = campaigns.combine([*files, reference]).groups
    assert [newest.python, oldest.python] == ["CPython 3.15", "CPython 3.11"]
    assert [oldest.profile, other.profile] == ["headlines", "reference"]
    assert "profile reference" in other.table().caption
    assert oldest.numbers[RATIO].combined.campaigns == 1
    assert [one.counts_with for one in oldest.campaigns] == [0, 0]
    assert "counts with campaign 1" in oldest.table().notes[1]
    assert oldest.table().notes[2] == "of several versions: uvloop 0.21.0 and 0.22.1"


def test_turns_that_count_from_a_cold_start_are_left_out_once_newer_ones_do_not(
    tmp_path: Path,
) -> None:
    """They made async libraries dearer against callbacks, by what other guests of the host did."""
    cold = [made(tmp_path, number, dear=3.0, warm_s=None) for number in (1, 2)]
    (group,) = campaigns.combine(cold).groups
    assert group.numbers[RATIO].combined.campaigns == 2
    (group,) = campaigns.combine([*cold, made(tmp_path, 3, dear=2.0)]).groups
    ratio = group.numbers[RATIO]
    assert [value and value.value for value in ratio.values] == pytest.approx([3.0, 3.0, 2.0])
    assert ratio.combined.value == pytest.approx(2.0)
    assert ratio.combined.campaigns == 1
    assert ratio.as_range.combined.high < 3.0
    assert group.numbers["memory/plain/threads"].combined.campaigns == 3
    assert group.warm_s == WARM_S
    assert group.table().notes[-1].startswith("in turns, which count otherwise")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "Intel Xeon Platinum 8481C"),
        ("AMD Ryzen 7 5800X 8-Core Processor", "AMD Ryzen 7 5800X 8-Core"),
        ("Intel(R) Xeon(R) CPU @ 2.60GHz, family 6 model 85", "Intel Xeon family 6 model 85"),
        ("Neoverse-N1", "Neoverse-N1"),
        (None, "an unknown processor"),
    ],
)
def test_a_processor_has_the_name_that_people_say(model: str | None, name: str) -> None:
    assert campaigns.processor(environment(cpu_model=model)) == name


def test_processors_are_not_combined_and_stand_beside_each_other(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    xeon = made(tmp_path, 6, dear=3.5, cpu="Intel(R) Xeon(R) Processor")
    carry(monkeypatch, campaigns.combine([*folders, xeon]))
    most, other = campaigns.published().groups
    assert (most.processor, most.count) == ("AMD EPYC", 5)
    assert (other.processor, other.count) == ("Intel Xeon", 1)
    # A reader on one of them sees its numbers, on neither where those of both lie.
    assert "; published: 1." in findings.named(analysis_in(folders[0]))["page"]
    assert "; 1 campaign: 3.50)" in findings.named(analysis_in(xeon))["page"]
    ryzen = analysis_in(made(tmp_path, 7, cpu="AMD Ryzen 7 5800X 8-Core Processor"))
    both = [group.numbers[RATIO].combined for group in (most, other)]
    said = findings.named(ryzen)["page"]
    together = sure(re.search(r"; published on 2 processors: ([\d.]+) to ([\d.]+)\)", said))
    lowest, highest = min(one.low for one in both), max(one.high for one in both)
    assert [*map(float, together.groups())] == pytest.approx([lowest, highest], rel=0.03)
    carry(monkeypatch, campaigns.combine(folders))
    assert "; published on AMD EPYC: 1." in findings.named(ryzen)["page"]
    carry(monkeypatch, campaigns.combine([*folders, xeon]))
    # A document names who has an interval, and claims nothing that another denies.
    amd = [analysis_in(folders[0])]
    assert re.search(r"\(AMD EPYC: [^;]*\)", quotes.over(amd)["page"])
    few = "5 on AMD EPYC, CPython 3.11 (`results/headlines`), borne out by 1 on Intel Xeon."
    assert few in quotes.basis(amd)
    assert "(Intel Xeon: 3.50, 1 campaign; AMD EPYC: 1." in quotes.over([analysis_in(xeon)])["page"]
    cheap = made(tmp_path, 8, dear=0.8, cpu="Intel(R) Xeon(R) Processor")
    carry(monkeypatch, campaigns.combine([*folders, cheap]))
    assert "page" not in quotes.over([analysis_in(folders[0])])


def test_a_document_gives_one_range_for_three_processors(
    folders: list[Path], groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own,) = groups.groups
    ratio = own.numbers[RATIO]
    wider = replace(ratio.combined, low=1.1, high=4.4)
    wide = {**own.numbers, RATIO: ratio.model_copy(update={"combined": wider})}
    others = [
        own.model_copy(update={"processor": "Intel Xeon"}),
        own.model_copy(update={"processor": "Ampere Altra", "numbers": wide}),
    ]
    carry(monkeypatch, groups.model_copy(update={"groups": [own, *others]}))
    assert "** (3 processors: 1.10 to 4.4)" in quotes.over([analysis_in(folders[0])])["page"]


def test_what_cannot_be_combined_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(made(tmp_path, 1))
    bare = str(save(tmp_path / "bare", campaign(blocks=1, samples=1, workloads=())))
    monkeypatch.setattr(campaigns, "FOLDER", tmp_path / "none")
    for names, why in (
        ([file, file], "there twice"),
        ([bare], "no number that a headline rests on"),
        ([], "run --profile headlines"),
    ):
        assert main(["combine", *names]) == USAGE
        assert why in capsys.readouterr().err


def test_a_reader_sees_where_the_published_campaigns_have_the_number(
    folders: list[Path],
    groups: Groups,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    carry(monkeypatch, groups)
    mine = analysis_in(folders[0])
    said = findings.named(mine)["page"]
    assert said.startswith("**Threads need 2.2 times as much processor time per crawled 2 KB page")
    assert re.search(r"95 % interval of 5 blocks; .* µs; published: 1\.", said)
    assert main(["cite", str(folders[0]), "--finding", "page"]) == DONE
    assert "; published: 1." in capsys.readouterr().out
    carry(monkeypatch, campaigns.combine(folders[:2]))
    assert "; 2 campaigns: 2.2 to 2.4)" in findings.named(mine)["page"]


def test_another_interpreter_is_named_and_nothing_is_said_of_what_nobody_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry(monkeypatch, campaigns.combine([made(tmp_path, 1, "CPython 3.15.2")]))
    mine = analysis_in(made(tmp_path, 2))
    assert "; 1 campaign on CPython 3.15, AMD EPYC: " in findings.named(mine)["page"]
    assert "campaign" not in quotes.over([mine])["page"]
    carry(monkeypatch, Groups(groups=[]))
    assert "campaign" not in findings.named(mine)["page"]


def test_documents_quote_the_combined_number_and_no_ratio_on_either_side_of_1(
    folders: list[Path], groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, group = analysis_in(folders[0]), groups.groups[0]
    carry(monkeypatch, groups)
    said = quotes.over([mine])["page"]
    assert said.startswith("**Threads need 2.6 times as much")
    assert "** (AMD EPYC: 1." in said
    assert "Campaigns: 5 on AMD EPYC, CPython 3.11 " in quotes.headlines([mine], mine)
    keys = [key.removeprefix("memory/") for key in group.numbers if "memory/plain/" in key][:2]
    text = "Threads use more than callbacks"
    few = Headline(f"{text}, in 2 trials", "", quotes=keys, say=lambda _: text)
    over = sure(quotes.over_campaigns(few, "memory", mine.campaign.environment))
    assert over.text == f"{text}, in 5 campaigns"
    either = Combined(1.6, 0.9, 4.9, 5, predicted=False)
    wide = group.numbers[RATIO].model_copy(update={"combined": either})
    numbers = {**group.numbers, RATIO: wide}
    carry(monkeypatch, Groups(groups=[group.model_copy(update={"numbers": numbers})]))
    assert "page" not in quotes.over([mine])
    assert "; 5 campaigns: 0.90 to 4.9 times)" in findings.named(mine)["page"]
    cells = quotes.Numbers(mine)
    assert cells.over(RATIO) == "1.60 (0.900–4.90)"
    assert cells.over("page/nothing") == MISSING
    held = group.numbers["memory/plain/threads"].combined
    assert cells.over("memory/plain/threads").startswith(f"{held.value:.1f} (")


@pytest.mark.parametrize(
    ("unit", "numbers", "words"),
    [
        ("×", (2.4, 1.9, 3.1), "1.90 to 3.1"),
        ("×", (1.17, 1.14, 1.2), "14 to 20 %"),
        ("×", (0.8, 0.7, 0.9), "10 to 30 %"),
        ("×", (1.17, 0.9, 1.5), "0.90 to 1.50 times"),
        ("×", (1.6, 1.1, 4.9), "1.10 to 4.9 times"),
        ("KiB", (4.8, 4.81, 4.81), "4.81 KiB"),
        ("µs", (13.1, 12.0, 15.04), "12.0 to 15.0 µs"),
    ],
)
def test_ends_have_the_form_of_the_headline(
    unit: str, numbers: tuple[float, float, float], words: str
) -> None:
    found = Combined(*numbers, 5, predicted=True)
    assert ends(Quantity(what="", unit=unit, values=[], combined=found)) == words


def test_ends_on_the_other_side_of_1_are_times() -> None:
    """ "9.1 times as many pages (published: 4 to 15 %)": those were fewer."""
    found = Combined(0.9, 0.85, 0.96, 5, predicted=True)
    quantity = Quantity(what="", unit="×", values=[], combined=found)
    assert ends(quantity, 9.1) == "0.85 to 0.96 times"
    assert ends(quantity, 0.8) == "4 to 15 %"


def test_a_boot_is_told_apart_without_naming_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procfs, "ROOT", tmp_path)
    assert machine.boot() is None
    file = tmp_path / "proc/sys/kernel/random/boot_id"
    file.parent.mkdir(parents=True)
    seen = []
    for text in ("0b7c\n", "0b7c\n", "9f1e\n"):
        file.write_text(text)
        seen.append(machine.boot())
    assert seen[0] == seen[1] != seen[2]
    assert "0b7c" not in str(seen[0])


def test_two_numbers_are_contrasted_only_in_the_order_of_every_campaign() -> None:
    def held(*medians: float) -> Quantity:
        values = [stats.Spread(median, median, median, 5) for median in medians]
        together = Combined(medians[0], min(medians), max(medians), len(medians), predicted=False)
        return Quantity(what="", unit="KiB", values=[*values, None], combined=together)

    assert quotes.borne_out([held(9, 8), held(3, 2)])
    assert not quotes.borne_out([held(9, 2), held(3, 4)])


def test_numbers_of_a_sentence_have_all_an_interval_or_all_a_range(
    folders: list[Path], groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "6.31 to 25.0 ms and 1.17 to 12.9 ms, 10 campaigns": the blocks of ten had 4.62 to 29.4."""
    mine, group = analysis_in(folders[0]), groups.groups[0]
    keys = ["memory/plain/threads", "memory/plain/callbacks"]
    first, other = (group.numbers[key] for key in keys)
    assert first.combined.predicted
    assert other.combined.predicted
    text = "Threads use more than callbacks"
    head = Headline(
        f"{text}, in 2 trials", "", quotes=["plain/threads", "plain/callbacks"], say=lambda _: text
    )
    environment = mine.campaign.environment
    asked = head, "memory", environment
    carry(monkeypatch, groups)
    assert "campaigns" not in sure(quotes.over_campaigns(*asked)).behind
    lows, highs = ([*map(sure, q.values)] for q in (first, other))
    top = 1 + max(spread.high for spread in lows)
    wild = stats.Spread(highs[0].value, highs[0].low, top, highs[0].count)
    together = Combined(other.combined.value, 1.0, top, 5, predicted=False)
    disturbed = other.model_copy(update={"values": [wild, *other.values[1:]], "combined": together})
    numbers = {**group.numbers, keys[1]: disturbed}
    carry(monkeypatch, Groups(groups=[group.model_copy(update={"numbers": numbers})]))
    said = sure(quotes.over_campaigns(*asked)).behind
    ends = min(spread.low for spread in lows), max(spread.high for spread in lows)
    low, high = (significant(end, 3) for end in ends)
    assert said.startswith(f"AMD EPYC: {low} to {high} KiB and 1.00 to ")
    assert said.endswith("5 campaigns; single blocks overlap, the medians of each campaign do not")
    assert f"5 campaigns: {low} to {high} KiB and " in campaigns.suffix(*asked)
