"""Each step crawls a site as the models do, or says how it does not."""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import pytest

from bench.launch import ROOT
from crawlers import steps
from crawlers.chapter import CRAWLS, STEPS, judge
from crawlers.chapter.redis_workers import Redis, redis_server

needs_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="apt-get install redis-server"
)
MARKED = [
    pytest.param(step, marks=needs_redis if step == "redis_workers" else ()) for step in CRAWLS
]
PEAKS = {"blocking": 1, "spin": 1, "queue": 10, "async_await": 10, "streams": 10}
"""The most connections at once, where there is a limit."""


@pytest.fixture(scope="module")
def site() -> Iterator[judge.Answer]:
    """A site with every kind of link."""
    with judge.serving("tree:60:5:2048") as ready:
        yield ready


def printed(*arguments: str) -> tuple[int, str]:
    """Run ``python -m crawlers chapter`` in this process."""
    with redirect_stdout(io.StringIO()) as out:
        return steps.main(arguments), out.getvalue()


@pytest.mark.parametrize("step", MARKED)
def test_every_page_comes_once(step: str, site: judge.Answer) -> None:
    found = judge.run(step, site, deadline_s=300)
    assert steps.verdict(step, site, found).startswith("yes"), found
    assert (found["digest"], found["duplicates"]) == (site["digest"], 0)
    assert found["pages"] == found["total"] == found["connections_opened"] == site["urls"]
    assert found["peak_connections"] <= PEAKS.get(step, site["urls"])


def test_no_cap_means_a_socket_for_each_link() -> None:
    with judge.serving("tree:101:100:16384") as wide:
        found = judge.run("callbacks", wide)
        assert steps.verdict("callbacks", wide, found) == "yes, a socket for each link"
        for step in ("threads", "callbacks"):
            count, size = judge.held(step, wide, 100)
            assert (count >= 100, size > 1 << 20) == (True, True), (count, size)


def test_what_does_not_crawl_says_what_happened() -> None:
    assert printed("awaitable")[1].splitlines()[-1] == "a coroutine waits in __await__"
    rockets = printed("11")[1].splitlines()
    assert sum("lift-off" in line for line in rockets) == 3
    begun = {line[0] for line in rockets[: rockets.index("A lift-off")]}
    assert begun == set("ABC"), "they do not wait for each other"
    timer, polling = map(float, re.findall(r"([\d.]+) %", printed("sleeper")[1]))
    assert polling > 5 * timer


def test_a_step_by_its_number_crawls_a_url_or_a_site_of_its_own(site: judge.Answer) -> None:
    assert printed("1", site["listening"])[1].startswith(f"{site['urls']} pages, ")
    assert json.loads(printed("1", site["listening"], "--json")[1])["digest"] == site["digest"]
    status, out = printed("queue")
    assert (status, out[:21]) == (0, "all pages once: yes; "), "what yes answers"


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["14"], 2, "no step '14'"),
        (["\u0663"], 2, "no step '\u0663'"),
        (["--break", "9"], 2, "no exercise 9"),
        (["--break", "2", "1", "http://127.0.0.1:1/"], 2, "exercise 2 is of the step "),
        (["1", "--json", "http://127.0.0.1:1/"], 1, "http://127.0.0.1:1/: connection refused"),
        (["1", "http://192.0.2.1/"], 2, "not on this machine"),
        (["1", "https://127.0.0.1/"], 2, "do not speak TLS"),
        (["1", "http://127.0.0.1:1/"], 1, "http://127.0.0.1:1/: connection refused"),
        (["3", "http://127.0.0.1:1/"], 1, "http://127.0.0.1:1/: connection refused"),
    ],
)
def test_what_cannot_run_is_one_line(
    arguments: list[str], status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert steps.main(arguments) == status
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


@pytest.mark.parametrize("option", ["--break", "--trace"])
@pytest.mark.parametrize("number", ["\u0663", "-1"])
def test_numbers_are_ascii_and_not_negative(
    option: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        steps.main([option, number])
    assert f"argument {option}: " in capsys.readouterr().err


def test_without_redis_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for arguments in (["redis_workers"], ["10", "http://127.0.0.1:1/"]):
        assert steps.main(arguments) == 2
        line = "crawlers: this step needs a Redis server: apt-get install redis-server\n"
        assert capsys.readouterr() == ("", line)


@needs_redis
def test_redis_keeps_to_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with redis_server() as port:
        redis = Redis(port)
        assert redis("LPUSH", "list", "a", "bé\r\n") == ":2"
        assert redis("BRPOP", "list", "0") == "a"
        told = [redis("CONFIG", "GET", name) for name in ("bind", "save", "appendonly")]
        assert told == ["127.0.0.1", "", "no"]
        redis.stream.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.parametrize("step", STEPS)
def test_a_step_fits_two_slides_and_names_its_place(step: str) -> None:
    source = steps.file_of(step).read_text("utf-8")
    assert source.count("\n") <= 80
    ast.parse(source, feature_version=(3, 11))
    *fields, became = steps.FIELDS.findall(source)[0]
    assert len(list(filter(None, fields))) == 4
    file, _, function = became.partition(":")
    assert re.search(rf"def {function}\(", (ROOT / file).read_text())


def test_all_steps_are_listed_and_few_lines() -> None:
    assert re.findall(r"^ ?\d+ (\w+)", printed()[1], re.MULTILINE) == list(STEPS)
    files = (ROOT / "crawlers" / "chapter").glob("*.py")
    assert sum(file.read_text().count("\n") for file in files) <= 900


def test_numbers_of_a_step_are_for_each_page(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"pages": 50, "total": 50, "distinct": 50, "peak_connections": 1, "digest": "d"}
    answer = {**counts, "seconds": 2.0, "processor": 0.1}
    monkeypatch.setattr(judge, "serving", lambda spec: nullcontext({"urls": 50, "digest": "d"}))
    monkeypatch.setattr(judge, "run", lambda *_: answer)
    step, found, row = next(steps.judged())
    assert (step, found["verdict"]) == ("blocking", "yes, one page at a time")
    assert row == {"pages_per_s": 25.0, "ms": 2.0, "kib": None, "at_once": 1}


@pytest.mark.slow  # it takes the time of a demonstration
@needs_redis
def test_all_is_one_table_with_every_step() -> None:
    status, out = printed("--all")
    assert status == 0, out
    assert out.count("  yes") == len(CRAWLS)
    assert re.findall(r"^ ?(\d+) ", out, re.MULTILINE) == [str(n + 1) for n in range(len(STEPS))]
