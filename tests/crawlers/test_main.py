"""The command line, as a person meets it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from bench.launch import ROOT
from crawlers import registry
from crawlers.__main__ import main
from crawlers.conformance.scripted import Connection, ScriptedServer, html, ok, page, redirect
from crawlers.frontier import Frontier
from crawlers.terminal import forget_impossible_size
from tests.programs import inside, python
from tests.server.fixture_server import Running, running

pytestmark = pytest.mark.timeout(600)


run = partial(inside, main)
"""Run the program in this process."""


def test_list_names_every_backend() -> None:
    done = run("--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == registry.names()
    assert json.loads(run("--list", "--json").stdout).keys() == set(registry.names())


def test_json_is_one_object_with_all_that_was_promised(tree: Running) -> None:
    done = run("callbacks", tree.url, "--json", "--concurrency", "20")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["backend"] == "callbacks"
    assert found["root"] == tree.url
    assert found["pages"] == 500
    assert found["digest"] == tree.ready["digest"]
    assert found["concurrency"] == 20
    assert found["errors"] == {}
    assert found["statuses"]["200"] == 500
    assert found["bytes"] == tree.ready["bytes"]
    assert found["elapsed_s"] > 0
    assert found["pages_per_s"] > 0
    assert found["redirects"] > 0


def test_summary_and_urls(tree: Running) -> None:
    done = run("callbacks", tree.url, "--urls")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert sum(line.startswith("200 ") for line in lines) == 500
    assert any("-> http" in line for line in lines)
    assert any(line.startswith("pages") and "500" in line for line in lines)
    assert any(re.search(r"  links \d+, new \d+", line) for line in lines)
    assert ["digest", tree.ready["digest"]] in map(str.split, lines)
    assert "\x1b" not in done.stdout, "no colour where nobody looks"


def test_a_limit_is_reported(tree: Running) -> None:
    summary = run("callbacks", tree.url, "--max-pages", "20").stdout
    assert re.search(r"stopped +max_pages; [\d,]+ links led further", summary)
    found = json.loads(run("callbacks", tree.url, "--max-depth", "1", "--json").stdout)
    assert found["stopped"] == "max_depth"


def test_quiet_and_verbose(tree: Running) -> None:
    assert run("threads", tree.url, "-q").stdout == ""
    usual = Frontier.settle
    failed = run("threads", tree.url, "-v").stdout
    assert "!" not in failed
    assert Frontier.settle is usual, "nobody watches afterwards"


def test_several_roots_are_all_named_with_counts_for_each_host() -> None:
    with ScriptedServer() as one, ScriptedServer() as other:
        one.script.update({"/": page("/a"), "/a": page()})
        other.script["/"] = page()
        arguments = ("callbacks", one.url, other.url)
        lines = run(*arguments).stdout.splitlines()
        found = json.loads(run(*arguments, "--json").stdout)
    assert [line.split()[1] for line in lines if line.startswith("root")] == list(arguments[1:])
    assert found["roots"] == list(arguments[1:])
    prefixes = [url.removesuffix("/") for url in found["roots"]]
    size = len(html("/a"))
    assert found["hosts"] == {
        prefixes[0]: {"urls": 2, "pages": 2, "bytes": size},
        prefixes[1]: {"urls": 1, "pages": 1, "bytes": 0},
    }
    assert any(f"{prefixes[0]}: 2 URLs, 2 pages, {size} bytes" in line for line in lines)


def test_a_document_is_not_counted_as_html() -> None:
    with ScriptedServer() as server:
        server.script["/"] = page("/a.pdf")
        server.script["/a.pdf"] = ok(b"%PDF-1.7", "application/pdf")
        found = json.loads(run("threads", server.url, "--json").stdout)
        summary = run("threads", server.url).stdout
    assert found["html"] == {"pages": 1, "bytes": len(html("/a.pdf"))}
    assert found["other"] == {"pages": 1, "bytes": 8}
    assert re.search(r"^  other +1, 8 bytes *$", summary, re.MULTILINE)


def test_a_redirect_out_of_scope_says_so() -> None:
    with ScriptedServer() as server:
        server.script["/"] = page("/in", "/out")
        server.script["/in"] = redirect("/")
        server.script["/out"] = redirect("http://127.0.0.9/")
        root = server.url
        lines = run("generators", root, "--urls").stdout.splitlines()
    redirects = [line.partition("  -> ")[2] for line in lines if "  -> " in line]
    assert redirects == [root, "http://127.0.0.9/, out of scope"]
    assert any(re.match(r"redirects +2, 1 out of scope", line) for line in lines)


@pytest.mark.parametrize("backend", ["threads", "callbacks", "async_await"])
def test_verbose_prints_each_url_as_it_comes(backend: str) -> None:
    """The last page waits until the first lines were read, or until it gives up."""
    read = threading.Event()
    shown: list[str] = []

    def last(connection: Connection) -> None:
        read.wait(60)
        connection.send(page())

    with ScriptedServer() as server:
        server.script.update({"/": page("/a", "/last"), "/a": page(), "/last": last})
        root = server.url
        command = [sys.executable, "-m", "crawlers", backend, root, "-v"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crawler:
            assert crawler.stdout is not None
            for line in crawler.stdout:
                shown.append(line)
                if f" {root}a" in line:
                    assert not read.is_set()
                    read.set()
    paths = [line.split()[3].removeprefix(root) for line in shown[:3]]
    assert paths == ["", "a", "last"]
    assert crawler.returncode == 0


def test_a_loop_is_tested_from_its_folder(tmp_path: Path) -> None:
    """As the guide has it; every test said "is its folder on PYTHONPATH?"."""
    (tmp_path / "mine.py").write_text("from asyncio import new_event_loop as loop\n")
    only = ("-q", "-k", "many_small and plain", "-p", "no:cacheprovider")
    path = {"PYTHONPATH": str(ROOT)}
    done = python("-m", "crawlers", "conformance", "mine:loop", *only, cwd=tmp_path, env=path)
    assert done.returncode == 0, done.stdout


def test_an_unknown_backend_for_pytest_is_one_line() -> None:
    """It was an internal error of pytest."""
    done = python("-m", "crawlers", "conformance", "threads", "--backend=thread")
    assert done.returncode == 4
    assert done.stderr.startswith("ERROR: --backend: no backend named 'thread': did you mean")


@pytest.mark.slow  # collecting the suite for all of them takes seconds
def test_conformance_of_all_is_of_every_backend() -> None:
    only = ("--collect-only", "-q", "-k", "many_small or of_its_own")
    done = python("-m", "crawlers", "conformance", "all", *only)
    assert set(re.findall(r"\[(\w+?)(?:-plain|-tls)?\]", done.stdout)) == set(registry.names()), (
        done.stderr
    )


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:1/", "refused: nothing listens at that address"),
        ("http://no-such-host.invalid/", "unknown_host: the host name does not resolve"),
        ("TREE/nothing-here", "answered 404"),
    ],
)
def test_a_root_that_cannot_be_fetched_is_exit_status_1(url: str, says: str, tree: Running) -> None:
    """It does not hide a good one."""
    bad = url.replace("TREE/", tree.url)
    done = run("threads", tree.url, bad, "--max-tries", "1", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["pages"] == 500
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"crawlers: {bad}: ")
    assert says in line


@pytest.mark.parametrize(
    ("name", "number"), [("threads", signal.SIGINT), ("callbacks", signal.SIGHUP)]
)
def test_an_interrupt_still_reports(name: str, number: signal.Signals) -> None:
    with running("--site", "tree:1000:6:2048", "--delay", "fixed:50") as server:
        crawler = subprocess.Popen(
            [sys.executable, "-m", "crawlers", name, server.url, "--json", "-c", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while server.call("/ledger?summary=1")["total"] < 5:
            assert crawler.poll() is None
            time.sleep(0.05)
        crawler.send_signal(number)
        out, err = crawler.communicate(timeout=300)
    assert crawler.returncode == 130
    assert "Traceback" not in err
    found = json.loads(out)
    assert found["stopped"] == "interrupted"
    assert 0 < found["pages"] < 1000
    assert found["left"] > 0


@pytest.mark.parametrize("options", [["-v", "--urls"], ["--json"]], ids=" ".join)
def test_output_that_nobody_can_read_is_no_traceback(options: list[str], tree: Running) -> None:
    """A pager that has seen enough, a full disk, and no standard output or error at all."""
    command = [sys.executable, "-m", "crawlers", "callbacks", tree.url, *options]
    line = shlex.join(command)
    for shell, status, says in (
        (f"{{ {line}; echo $? >&3; }} 3>&2 | head -c 1 > /dev/null", "0", ""),
        (f"{line} > /dev/full; echo $? >&2", "1", "cannot write the output: No space left"),
        (f"{line} >&-; echo $? >&2", "0", ""),
        (f"{{ {line} 2>&- >&-; }}; echo $? >&2", "0", ""),
    ):
        done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=300)
        assert "Traceback" not in done.stderr, (shell, done.stderr)
        assert done.stderr.split()[-1] == status, (shell, done.stderr)
        assert says in done.stderr


@pytest.mark.parametrize("buffer", ["", "1"])
@pytest.mark.parametrize("arguments", ["--help", "conformance --help", "chapter", "chapter --help"])
def test_help_on_a_full_disk_is_one_line(
    arguments: str, buffer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was no error, or a traceback, or exit code 120."""
    monkeypatch.setenv("PYTHONUNBUFFERED", buffer)
    line = f"exec {shlex.quote(sys.executable)} -m crawlers {arguments} > /dev/full"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No space left on device" in done.stderr


def test_a_url_may_come_after_options(tree: Running) -> None:
    """It was an unrecognized argument."""
    assert run("callbacks", "-c", "5", tree.url.replace("http", "HTTP"), "-q").returncode == 0


@pytest.mark.parametrize("arguments", ["threads --bogus", "threads", "chapter 99"])
def test_an_error_on_a_full_disk_keeps_its_exit_code(arguments: str) -> None:
    """It was 120: Python flushed once more."""
    line = f"exec {shlex.quote(sys.executable)} -m crawlers {arguments} 2> /dev/full"
    assert subprocess.run(["sh", "-c", line], capture_output=True, timeout=300).returncode == 2


def test_a_process_that_ends_too_early_is_one_line(
    tree: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawlers.variants.processes.START", "raise SystemExit(3)")
    done = run("processes", tree.url)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "has ended too early: it ran out of memory" in done.stderr


def test_uvloop_crawls_without_any_standard_stream(tree: Running) -> None:
    """A socket with the number of a standard stream made it abort."""
    line = shlex.join([sys.executable, "-m", "crawlers", "uvloop", tree.url])
    done = subprocess.run(["sh", "-c", f"exec {line} <&- >&- 2>&-"], timeout=300)
    assert done.returncode == 0


def test_an_encoding_without_our_characters_is_no_traceback(tree: Running) -> None:
    done = python("-m", "crawlers", "callbacks", tree.url, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "500 ? 200" in done.stdout


def test_no_file_of_the_current_folder_is_executed_and_none_is_left(
    tmp_path: Path, tree: Running
) -> None:
    """A crawlers.py there was taken for the package by the children of processes.

    Conformance leaves pytest's shared folder alone: runs side by side that tidy it up at once fail
    with "Directory not empty".
    """
    here, shared = tmp_path / "here", tmp_path / "shared"
    here.mkdir()
    shared.mkdir()
    for name in ("crawlers", "socket", "rich", "pytest"):
        (here / f"{name}.py").write_text(f"raise SystemExit('executed {name}.py')")
    env = dict.fromkeys(("PYTEST_DEBUG_TEMPROOT", "TMPDIR"), str(shared)) | {
        "PYTHONPATH": str(ROOT)
    }
    start = "import sys; from crawlers.__main__ import main; sys.exit(main(sys.argv[1:]))"
    for arguments in (
        ("processes", tree.url, "--json"),
        ("conformance", "processes", "-q", "-k", "more_slots and tls", "-m", ""),
    ):
        done = python("-P", "-c", start, *arguments, cwd=here, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "executed" not in done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("columns", ["0", "00", "²", "٣", "9" * 5000])
def test_impossible_columns_are_no_size(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", "40")
    forget_impossible_size()
    assert "COLUMNS" not in os.environ
    assert os.environ["LINES"] == "40"
