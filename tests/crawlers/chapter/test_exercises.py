"""Each exercise of docs/chapter.md breaks its step as the page says."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest

from crawlers import steps
from crawlers.chapter import judge
from crawlers.job import JobError

LOCK, AWAIT, TASK_DONE, CANCEL, REFERENCE, SLEEP, FUTURE, POLL = range(1, 9)
PENDING = "Task was destroyed but it is pending!"


@pytest.fixture(scope="module")
def site() -> Iterator[judge.Answer]:
    with judge.serving(steps.SITE) as ready:
        yield ready


def broken(number: int, site: judge.Answer, deadline_s: float = 300.0) -> judge.Answer:
    """What comes of an exercise."""
    _, _, step, _ = steps.exercises()[number - 1]
    return judge.run(step, site, "--break", str(number), deadline_s=deadline_s)


def stuck(number: int, site: judge.Answer) -> judge.Answer:
    """What comes of an exercise that does not end; a busy machine gets more time."""
    found = broken(number, site, 2.0)
    if not found["says"] and found["distinct"] < site["urls"]:
        found = broken(number, site, 60.0)
    assert "seconds" not in found
    return found


@pytest.mark.parametrize("number", [LOCK, AWAIT])
def test_a_page_is_fetched_twice(number: int, site: judge.Answer) -> None:
    found = broken(number, site)
    assert found["duplicates"] > 0
    assert re.match(r"no: .* [1-9]\d* requested again", steps.verdict("threads", site, found))


def test_without_task_done_all_pages_come_and_it_never_ends(site: judge.Answer) -> None:
    found = stuck(TASK_DONE, site)
    assert (found["distinct"], found["total"]) == (site["urls"], site["urls"])
    assert "did not end" in steps.sentence("queue", site, found)


def test_one_connection_is_no_plural(site: judge.Answer) -> None:
    alone = site | {"peak_connections": 1, "says": "", "total": 9, "distinct": 9}
    assert "; 1 connection at once" in steps.sentence("blocking", site, alone)


def test_an_exercise_in_the_background_ends_as_well(site: judge.Answer) -> None:
    """A shell starts it with SIGINT ignored, and its judge waited for it for ever."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert "seconds" not in broken(TASK_DONE, site, 2.0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_worker_that_is_not_cancelled_is_destroyed(site: judge.Answer) -> None:
    found = broken(CANCEL, site)
    assert (found["says"], found["digest"]) == (PENDING, site["digest"])


def test_a_task_without_a_reference_is_collected(site: judge.Answer) -> None:
    assert stuck(REFERENCE, site)["says"] == PENDING


def test_sleeping_without_await_stops_all_workers(site: judge.Answer) -> None:
    assert broken(SLEEP, site)["seconds"] >= site["urls"] * 0.005


def test_an_error_that_nobody_asks_for_is_lost(site: judge.Answer) -> None:
    found = broken(FUTURE, site)
    assert ("seconds" in found, found["says"]) == (True, "")


def test_an_error_that_somebody_asks_for_arrives() -> None:
    patch = steps.exercises()[FUTURE - 1][3]
    asked = patch.partition("-        future.result()")[0]
    with pytest.raises(ValueError, match="lost"):
        steps.load("sleeper", asked).main()


def test_polling_keeps_a_processor_busy(site: judge.Answer) -> None:
    whole = judge.run("countdown", site)
    assert broken(POLL, site)["processor"] > 5 * whole["processor"]


def test_before_and_after_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "DEADLINE_S", 120.0)  # both end, on a busy machine later
    assert steps.main(["--break", str(AWAIT)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Put an await between test and add. ")
    assert "+        await asyncio.sleep(0.05)" in lines
    assert lines[-2].startswith("before  all pages once: yes; ")
    assert lines[-1].startswith("after   all pages once: no: ")
    assert steps.main(["--break"]) == 0
    assert len(re.findall(r"^\d ", capsys.readouterr().out, re.MULTILINE)) == POLL


def test_a_patch_that_does_not_fit_is_an_error() -> None:
    for patch in (
        "-    no such line\n+    pass\n",
        "-    def __init__(self) -> None:\n-        pass\n",
    ):
        with pytest.raises(JobError, match=r"queue.py has no such line"):
            steps.load("queue", patch)


def test_an_installed_package_says_where_the_exercises_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "PAGE", steps.PAGE.with_name("gone.md"))
    assert steps.main(["--break"]) == 2
    assert "docs/chapter.md of a clone" in capsys.readouterr().err
