"""Each step crawls a site as the models do, or says how it does not."""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from bench.launch import ROOT
from crawlers import steps
from crawlers.chapter import CRAWLS, STEPS, judge
from crawlers.chapter.common import parse, read_page
from crawlers.job import JobError

needs_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="apt-get install redis-server"
)
MARKED = [
    pytest.param(step, marks=needs_redis if step == "redis_workers" else ()) for step in CRAWLS
]
ALONE = ("blocking", "spin")
UNCAPPED = ("threads", "callbacks", "generators", "yield_from")


@pytest.fixture(scope="module")
def site() -> Iterator[judge.Answer]:
    """A site with every kind of link."""
    with judge.serving("tree:60:5:2048") as ready:
        yield ready


def printed(*arguments: str) -> tuple[int, str]:
    """Run ``python -m crawlers chapter`` in this process."""
    out = io.StringIO()
    with redirect_stdout(out):
        status = steps.main(arguments)
    return status, out.getvalue()


@pytest.mark.parametrize("step", MARKED)
def test_every_page_comes_once(step: str, site: judge.Answer) -> None:
    found = judge.run(step, site, deadline_s=300)
    assert steps.verdict(step, site, found).startswith("yes"), found
    assert (found["digest"], found["duplicates"]) == (site["digest"], 0)
    assert found["repeated"] == 0
    assert found["pages"] == found["total"] == found["connections_opened"] == site["urls"]
    assert found["peak_connections"] <= (1 if step in ALONE else 10 if step not in UNCAPPED else 99)


def test_no_cap_means_a_socket_for_each_link() -> None:
    with judge.serving("tree:101:100:16384") as wide:
        found = judge.run("callbacks", wide)
        assert found["peak_connections"] >= 100
        assert steps.verdict("callbacks", wide, found) == "yes, a socket for each link"
        assert judge.run("queue", wide)["peak_connections"] <= 10


@pytest.mark.parametrize("step", ["threads", "generators", "queue"])
def test_memory_is_read_with_all_connections_open(step: str) -> None:
    with judge.serving("tree:41:40:8192") as wide:
        count, size = judge.held(step, wide, 40)
    assert count >= 40
    assert size > 1 << 20


def test_what_does_not_crawl_says_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps.main(["awaitable"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "a coroutine waits in __await__"
    assert steps.main(["11"]) == 0
    rockets = capsys.readouterr().out.splitlines()
    assert sorted(line for line in rockets if "lift-off" in line) == [
        f"{rocket} lift-off" for rocket in "ABC"
    ]
    assert rockets[0] == "A 5"
    assert rockets.index("B lift-off") < rockets.index("A lift-off"), "they do not wait in turn"
    assert steps.main(["sleeper"]) == 0
    timer, polling = (float(share) for share in re.findall(r"([\d.]+)%", capsys.readouterr().out))
    assert polling > 5 * timer


def test_a_step_by_its_number_crawls_a_url_or_a_site_of_its_own(site: judge.Answer) -> None:
    status, out = printed("1", site["listening"])
    assert status == 0
    assert out.startswith(f"{site['urls']} pages, ")
    assert "0 duplicates" in out
    status, out = printed("queue")
    assert (status, out[:5]) == (0, "yes; ")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["14"], 2, "no step '14'"),
        (["0"], 2, "no step '0'"),
        (["--break", "9"], 2, "no exercise 9"),
        (["1", "http://192.0.2.1/"], 2, "not on this machine"),
        (["1", "https://127.0.0.1/"], 2, "do not speak TLS"),
        (["1", "http://127.0.0.1:1/"], 1, "Connection refused"),
        (["3", "http://127.0.0.1:1/"], 1, "Connection refused"),
    ],
)
def test_what_cannot_run_is_one_line(
    arguments: list[str], status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert steps.main(arguments) == status
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


def test_without_redis_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert steps.main(["redis_workers", "http://127.0.0.1:1/"]) == 2
    assert "apt-get install redis-server" in capsys.readouterr().err


@needs_redis
def test_redis_listens_on_this_machine_only_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crawlers.chapter.redis_workers import Redis, redis_server

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with redis_server() as port:
        redis = Redis(port)
        assert redis("LPUSH", "list", "a", "bé\r\n") == ":2"
        assert redis("BRPOP", "list", "0") == "a"
        assert redis("CONFIG", "GET", "bind") == "127.0.0.1"
        assert redis("CONFIG", "GET", "save") == ""
        assert redis("CONFIG", "GET", "appendonly") == "no"
        redis.stream.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.parametrize("step", STEPS)
def test_a_step_fits_two_slides_and_names_its_place(step: str) -> None:
    source = steps.source_of(step)
    assert source.count("\n") <= 80
    ast.parse(source, feature_version=(3, 11))
    idea, waits, switches, costs, became = steps.FIELDS.findall(source)[0]
    assert all((idea, waits, switches, costs))
    file, _, function = became.partition(":")
    assert re.search(rf"def {function}\(", (ROOT / file).read_text())


def test_the_folder_stays_small() -> None:
    files = (ROOT / "crawlers" / "chapter").glob("*.py")
    assert sum(file.read_text().count("\n") for file in files) <= 900


def test_the_steps_import_no_bench_and_no_server() -> None:
    for file in [*(ROOT / "crawlers" / "chapter").glob("*.py"), ROOT / "crawlers" / "steps.py"]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert str(node.module).partition(".")[0] not in ("bench", "server"), file


def test_the_list_names_every_step() -> None:
    status, out = printed()
    assert status == 0
    assert re.findall(r"^ ?\d+ (\w+)", out, re.MULTILINE) == list(STEPS)


@pytest.mark.slow  # it takes the time of a demonstration
@needs_redis
def test_all_is_one_table_with_every_step() -> None:
    status, out = printed("--all")
    assert status == 0, out
    assert "?" not in out.replace("all pages", "").replace("once?", "")
    assert re.findall(r"^ ?(\d+) ", out, re.MULTILINE) == [str(n + 1) for n in range(len(STEPS))]


def test_a_page_is_taken_apart() -> None:
    response = (
        b"HTTP/1.0 301 Moved\r\nLocation: /b\r\ncontent-type: text/html\r\n\r\n"
        b'<a href="c?d=1"> <a href="http://other/"> <a href="#e">'
    )
    page = read_page("http://127.0.0.1:81/a/", response)
    assert page.status == 301
    assert page.links - {page.url} == {f"http://127.0.0.1:81/{rest}" for rest in ("b", "a/c?d=1")}
    address, request = parse("http://127.0.0.1:81/a?b/c")
    assert address == ("127.0.0.1", 81)
    assert request.startswith(b"GET /a?b/c HTTP/1.0\r\nHost: 127.0.0.1:81\r\n")


def test_a_server_that_does_not_start_is_one_line() -> None:
    with pytest.raises(JobError, match=r"no fixture server: .*nonsense"), judge.serving("nonsense"):
        pass


def test_json_is_one_object(site: judge.Answer) -> None:
    found: dict[str, Any] = json.loads(printed("1", site["listening"], "--json")[1])
    assert found["digest"] == site["digest"]
