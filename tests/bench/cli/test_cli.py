"""``python -m bench``: its help, its exit codes, its errors of one line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench import store
from bench.__main__ import main
from bench.cli import command, commands, studies
from bench.launch import RESULTS
from bench.machine import interpreters
from bench.plan.backends import as_server
from bench.plan.profiles import PROFILES
from bench.run import runner
from bench.schema import AnyRecord, EndRecord, PointPlan, TrialRecord
from crawlers.backend import Backend
from crawlers.catalogue import OURS
from crawlers.registry import MODELS
from tests.bench.synthetic import altered, campaign, control, extended, where
from tests.programs import python
from tools import rebuild

DONE, FAILED, USAGE = 0, 1, 2


def save(folder: Path, records: Iterable[AnyRecord]) -> Path:
    """Write the records of a campaign to a new folder."""
    folder.mkdir()
    lines = [record.model_dump_json() for record in records]
    (folder / store.FILE_NAME).write_text("\n".join(lines) + "\n")
    return folder


def test_the_screen_that_the_user_draws_on_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that matplotlib does not know ended in a traceback, after everything was measured."""
    monkeypatch.setenv("MPLBACKEND", "nonsense")
    assert main(["list"]) == DONE
    assert "MPLBACKEND" not in os.environ


@pytest.mark.parametrize(
    ("package", "name"),
    [(package, name) for package in (commands, studies) for name in command.names(package)],
)
def test_every_module_is_a_command_with_help(
    package: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(command.load(name, package).run)
    with pytest.raises(SystemExit) as stopped:
        main([*(["study"] if package is studies else []), name, "--help"])
    assert stopped.value.code == DONE
    text = capsys.readouterr().out
    assert command.description(name, package).partition("\n")[0] in text
    assert "Exit codes" in text


def test_a_jit_that_no_interpreter_has_is_not_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--jit measured an interpreter without one, and said nothing."""
    monkeypatch.setattr(interpreters, "with_jit", list)
    assert main(["study", "interpreters", "--jit", sys.executable, "--only", "none"]) == USAGE
    assert "NOT MEASURED: CPython with a JIT: none of these" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["run"], ["study", "interpreters"]])
def test_help_names_every_profile(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert f"how much to measure: {', '.join(PROFILES)} " in text


def test_the_overview_lists_every_command_with_its_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    for name in command.names():
        summary = command.description(name).partition("\n")[0]
        assert summary.endswith(".")
        assert f"{name} {summary[0].lower()}{summary[1:-1]}" in text


@pytest.mark.parametrize("name", ["run", "study costs"])
def test_an_unknown_option_is_an_error_of_its_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a study it came with the usage of all studies, which has no option."""
    with pytest.raises(SystemExit) as stopped:
        main([*name.split(), "--nope\n"])
    assert stopped.value.code == USAGE
    text = capsys.readouterr().err
    assert f"bench {name} [-h]" in text
    assert text.endswith(f"bench {name}: error: unrecognized arguments: --nope\\n\n")


def test_a_light_command_does_not_import_heavy_libraries() -> None:
    script = (
        "import sys; from bench.__main__ import main; from bench.plan import backends; "
        "backends.look_up = lambda: []; main(['list']); "
        "sys.exit(' '.join({'matplotlib', 'numpy', 'scipy'} & sys.modules.keys()) or None)"
    )
    done = python("-c", script)
    assert (done.returncode, done.stderr) == (DONE, "")


def test_help_is_spelled_as_the_program_was_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/c10k-bench"])
    for arguments in (["--help"], ["run", "--help"]):
        with pytest.raises(SystemExit):
            main(arguments)
        text = capsys.readouterr().out
        assert "usage: c10k-bench" in text
        assert "python -m bench" not in text


def test_list_shows_points_and_backends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [Backend("threads", "one thread per slot", "", "threads", 10)]
    monkeypatch.setattr("bench.plan.backends.look_up", lambda names=None: known)
    assert main(["list", "--profile", "quick"]) == DONE
    assert "c10k-3000" in capsys.readouterr().out
    assert main(["list", "--backends"]) == DONE
    assert "one thread per slot" in capsys.readouterr().out
    assert main(["list"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40, "one screen"
    assert any(
        re.fullmatch(r"churn +churn +What does a new connection cost\?", line) for line in lines
    )
    # The longest row began where no other did; two had nothing that measures them.
    asked = lines[: lines.index("")]
    place = asked[0].index("asks")
    assert {line[place - 2 : place] for line in asked} == {"  "}
    assert all(line[place].isupper() for line in asked[1:])
    assert {"--profile equal", "study interpreters"} <= {
        line[len("interpreters") : place].strip() for line in asked
    }


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Campaigns to compare: one, another that confirms it, and others that cannot."""
    folder = tmp_path_factory.mktemp("campaigns")
    how: dict[str, Any] = {"noise": 0.01, "drift": 0.0, "workloads": ["throughput"]}
    one = campaign(blocks=6, **how)
    slowed = {"pages_per_s": lambda t: t.pages_per_s and t.pages_per_s * 0.7}
    slower = where(one, lambda t: t.label == "threads", **slowed)
    made = {
        "one": one,
        "again": campaign(blocks=6, **how, seed=2),
        "slower": slower,
        "few": campaign(blocks=2, **how),
        "broken": one[:-5],
    }
    for name in made:
        save(folder / name, made[name])
    return {name: str(folder / name) for name in made}


def test_a_dry_run_prints_the_plan_and_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def installed(names: Sequence[str] | None, *_: object) -> list[Backend]:
        return [replace(OURS[name], missing=None) for name in names or OURS]

    monkeypatch.setattr("bench.plan.backends.look_up", installed)
    results = tmp_path / "results"
    asked = ["run", "--only", "throughput-100,accept", "--backends", "threads,callbacks"]
    assert main([*asked, "--dry-run", "--results", str(results), "--json"]) == DONE
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["profile"] == "quick+full"
    blocks = {point["point"]: point["blocks"] for point in found["points"]}
    assert blocks == {"throughput-100": 5, "accept-100": 5}
    assert re.search(
        r"^throughput-100: 5 blocks, \d+ trials, \d+ s: threads, callbacks", shown.err, re.M
    )
    assert re.search(r"profile quick\+full: about \d:\d\d min", shown.err)
    record = next(iter(campaign(blocks=2))).model_copy(
        update={"profile": "quick", "plan": [PointPlan.model_validate(found["points"][-1])]}
    )
    save(tmp_path / "begun", [record])
    assert main(["run", "--dry-run", "--resume", str(tmp_path / "begun")]) == DONE
    assert capsys.readouterr().out.startswith("throughput-100: 5 blocks, ")
    assert not results.exists()


def test_a_dry_run_of_the_study_of_interpreters_measures_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["study", "interpreters", sys.executable, "--only", "throughput-100", "--dry-run"]
    assert main([*asked, "--results", str(tmp_path / "results"), "--json"]) == DONE
    (point,) = json.loads(capsys.readouterr().out)["points"]
    assert all("@" in label for label in point["labels"])
    assert not list(tmp_path.iterdir())


def test_only_what_would_take_part_is_said_to_be_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A crawl named the servers that were not installed; servers that you named were dropped."""
    named = ["--backends", "callbacks,asyncio_protocol,twisted"]
    assert main(["run", "--profile", "servers", "--only", "serve-100", "--dry-run", *named]) == DONE
    shown = capsys.readouterr()
    assert "asyncio_protocol" in shown.out
    assert "left out: twisted: in none of these points" in shown.err

    def known(names: Sequence[str] | None, *_: object) -> list[Backend]:
        server = replace(as_server("granian"), missing="granian is not installed")
        return [*(replace(OURS[name], missing=None) for name in MODELS), server]

    monkeypatch.setattr("bench.plan.backends.look_up", known)
    for point, said in (("fetch-10", False), ("hold-1000", True)):
        assert main(["run", "--only", point, "--dry-run"]) == DONE
        shown = capsys.readouterr()
        assert ("granian is not installed" in shown.out + shown.err) is said


def test_a_loop_in_this_folder_is_planned_with_what_it_is_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text("import asyncio\nLoop = asyncio.SelectorEventLoop\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    asked = ["run", "--dry-run", "--only", "fetch-100", "--loop"]
    assert main([*asked, "own:Loop"]) == DONE
    labels = capsys.readouterr().out.splitlines()[0].rpartition(": ")[2]
    assert {"callbacks", "async_await", "own:Loop"} <= {*labels.split(", ")}
    with pytest.raises(SystemExit):
        main([*asked, "own"])
    assert "must be package:factory, not 'own'" in capsys.readouterr().err
    assert main([*asked, "own:Nothing"]) == USAGE
    assert "module 'own' has no attribute 'Nothing'" in capsys.readouterr().err


def test_ratios_may_be_to_another_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.report.charts.story", lambda _: {})  # drawing takes long
    folder = save(tmp_path / "a", campaign(blocks=6, samples=10, workloads=["throughput"]))
    command = ["report", str(folder), "--out", str(tmp_path / "out"), "--base"]
    assert main([*command, "async_await"]) == DONE
    assert "Ratios are to async" in (tmp_path / "out" / "summary.md").read_text()
    assert main([*command, "nonesuch"]) == USAGE
    assert "--base nonesuch: not in campaign" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("a", "b", "code", "said"),
    [
        ("one", "one", DONE, "Of 32 comparisons: 32 no difference shown"),
        ("one", "few", DONE, "Of 32 comparisons: 32 too few blocks"),
        ("one", "slower", FAILED, "worse"),
        ("slower", "one", DONE, "better"),
        ("one", "broken", FAILED, "is incomplete (it has no end record)"),
        ("one", "again", None, "Differences to the base, A and B: "),
    ],
)
def test_compare_exits_1_when_something_got_slower_or_is_missing(
    a: str,
    b: str,
    code: int | None,
    said: str,
    campaigns: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A folder with counted costs beside its trials is a campaign, too."""
    found = main(["compare", campaigns[a], campaigns[b]])
    assert code in (None, found)
    assert said in " ".join(capsys.readouterr().out.split())
    assert main(["compare", campaigns[a], campaigns[b], "--json"]) == found
    rows = json.loads(capsys.readouterr().out)["rows"]
    if code is not None:
        worse = {row["label"] for row in rows if row["verdict"] == "worse"}
        assert worse == ({"threads"} if b == "slower" else set())


def test_check_names_every_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save(tmp_path / "a", campaign(blocks=1, voids=1, ended=False))
    (folder / "charts").mkdir()
    assert main(["report", "--check", str(folder)]) == FAILED
    text = capsys.readouterr().out
    for fault in ("no end record", "void", "no svg chart", "no summary.md"):
        assert fault in text
    assert "no report.html; make it with: python -m bench report\n" in text


@pytest.mark.parametrize(("failed", "code"), [(1, DONE), (9, FAILED)])
def test_a_few_failed_trials_are_noted_and_many_are_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], failed: int, code: int
) -> None:
    head, *lines = campaign(blocks=8, samples=10, workloads=["throughput", "waiting"])
    plan = PointPlan(
        point="p", workload="w", blocks=320, labels=["x"], params={"slots": 1, "delay": "none"}
    )
    lines = where(lines, lambda t: t.trial <= failed, status="failed", reason="no luck")
    folder = save(tmp_path / "a", [altered(head, plan=[plan]), *lines])
    (folder / "charts").mkdir()
    (folder / "charts" / "one.svg").write_text("<?xml")
    for name in ("report.html", "summary.md", "citation.bib"):
        (folder / name).write_text("text")
    assert main(["report", "--check", str(folder)]) == code
    text = capsys.readouterr().out
    assert text.count("note: failed: ") == (failed if code == DONE else 0)
    assert text.count("failed: ") == failed


@pytest.mark.parametrize("wrong", [{"digest": "another"}, {"ledger__repeated": 1}])
def test_records_alone_are_checked_for_correct_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: dict[str, Any]
) -> None:
    """As for a contributed campaign, without charts: a trial may not just say that it is ok."""
    made = campaign(blocks=1, samples=10, workloads=["throughput"], voids=1)
    folder = save(tmp_path / "right", made)
    assert main(["report", "--check", "--records", str(folder)]) == FAILED  # one of so few is void
    assert "not the site's pages" not in capsys.readouterr().out
    trial = [line for line in made if isinstance(line, TrialRecord)][-1]
    made = where(made, lambda line: line is trial, **wrong)
    assert main(["report", "--check", "--records", str(save(tmp_path / "wrong", made))]) == FAILED
    assert f"{trial.label} on {trial.point}" in capsys.readouterr().out


def test_a_campaign_without_a_commit_is_not_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *rest = campaign(blocks=5, samples=10, workloads=["throughput"])
    folder = save(tmp_path / "a", [altered(head, environment__dirty=True), *rest])
    assert main(["report", "--check", "--records", str(folder)]) == FAILED
    assert "a: measured with uncommitted changes (+dirty)" in capsys.readouterr().out
    main(["report", "--check", str(folder)])
    assert "a: note: measured with uncommitted changes" in capsys.readouterr().out
    with pytest.raises(store.StoreError, match=r"\+dirty"):
        rebuild.analysed(str(folder))


def test_the_reference_campaign_passes_its_check(capsys: pytest.CaptureFixture[str]) -> None:
    """But for httpx: its pool may open more connections than slots, and such a trial is void.

    Ten thousand threads that crawl may need longer than a trial has, which is a note. So is one
    trial of gunicorn, which reset connections of its load; the reason was not found.
    """
    code = main(["report", "--check", str(RESULTS / "reference")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    dirty = "reference: note: +dirty: kept until "
    late = "reference: note: failed: threads on crossover-10000x1000ms: no result in "
    reset = (
        "reference: note: failed: gunicorn_gevent on serve-1000: the load of gunicorn_gevent "
        "failed: ConnectionResetError: "
    )
    unbuilt = "reference: no report.html"  # which the site builds
    said = [line for line in lines if not line.startswith((dirty, late, reset, unbuilt))]
    if code != DONE:
        assert all(line.startswith("reference: void: httpx on ") for line in said), said


def test_a_report_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save(tmp_path / "a", campaign(blocks=1)[:1])
    assert main(["report", str(folder)]) == USAGE
    assert "nothing to report" in capsys.readouterr().err


def test_recorded_command_lines_hold_no_folder() -> None:
    given = ["bench", "run", "--results=/home/me/x", "--out", "/tmp/y", "--profile", "full"]
    kept = ["bench", "run", "--results=x", "--out", "y", "--profile", "full"]
    assert runner.own_command(given) == kept


# --- terminals ---------------------------------------------------------------------------

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b\u202e"
HOSTILE = "[variants] [/b] [red]" + ESCAPES


def hostile(record: AnyRecord) -> AnyRecord:
    """The record with words that would drive a terminal: a backend may give such a reason."""
    match record:
        case TrialRecord() if record.trial == 1:
            return record.model_copy(update={"status": "void", "reason": HOSTILE})
        case EndRecord():
            return record.model_copy(update={"complete": False, "reason": HOSTILE})
        case _:
            return record


@pytest.mark.parametrize(
    "name", ["report --check", "cite", "cite --finding all", "compare", "report", "export"]
)
def test_no_escape_sequence_reaches_the_terminal(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.report.charts.story", lambda _: {})  # drawing takes long
    if name == "export":  # it writes what a program needs, unless to a terminal
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    records = campaign(blocks=5, samples=10, workloads=["throughput"])
    folder = str(save(tmp_path / "[b]", [hostile(record) for record in records]))
    out = ["--out", str(tmp_path / "out")] if name == "report" else []
    main([*name.split(), folder, *([folder] if name == "compare" else []), *out])
    printed = capsys.readouterr()
    assert printed.out
    assert not set(printed.out + printed.err) & (set(ESCAPES) - set("[]0;title2J"))
    assert main(["report", HOSTILE]) == USAGE
    assert "[variants] [/b] [red]\\x1b" in capsys.readouterr().err


def test_a_run_without_charts_ends_with_where_its_records_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a file, the last line was a progress line, and nothing said that all was done.

    Of 8 trials that the first line named it then counted 6, without controls.
    """
    made = campaign(blocks=1, samples=10, workloads=["throughput"])
    trial = next(record for record in made if isinstance(record, TrialRecord))
    folder = save(tmp_path / "made", extended(made, [], [control(trial, "stripped", 9.0)]))
    records = store.load(folder)
    assert records.end is not None
    done = runner.Finished(folder, records, records.end)
    monkeypatch.setattr("bench.run.runner.run", lambda *_: done)
    assert main(["run", "--no-charts"]) == DONE
    printed = capsys.readouterr().out
    where = folder / store.FILE_NAME
    assert printed.endswith(f"complete: {len(records.trials) + 1} trials in {where}\n")


# --- doctor ------------------------------------------------------------------------------


def test_doctor_gives_json_or_a_table_without_colour(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "--connections", "10"]) == DONE
    printed = capsys.readouterr()
    assert printed.err == ""
    results = json.loads(printed.out)
    assert {tuple(result) for result in results} == {("check", "level", "found", "effect", "fix")}
    assert main(["doctor", "--connections", "100000000"]) == FAILED
    text = capsys.readouterr().out
    assert "descriptors" in text
    assert "refusal" in text
    assert "\x1b" not in text
