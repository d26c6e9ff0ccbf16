"""Run every attack and write the section in docs/reliability.md."""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from crawlers.conformance.scripted import ScriptedServer, ok
from tests.torture import document
from tests.torture.attacks import answers, archives, commands, pages, records, servers
from tests.torture.attacks.findings import FOUND, LEFT
from tests.torture.attacks.worker import Worker, working

AT_ONCE: Final = 2
"""Processes that run at the same time."""

Wrong = dict[str, str]


def try_backend(name: str) -> tuple[Wrong, dict[str, list[Any]], str]:
    """Crawl the hostile servers, addresses and pages with one backend.

    Returns what is wrong with the first two, what it made of the third, and its digest of
    the third.
    """
    with working(name) as crawl:
        with ScriptedServer() as server:
            server.script["/"] = ok(b"x")
            crawl({"urls": [server.url], "warm": True})
        with servers.hostile() as server:
            wrong = servers.wrong(name, crawl(servers.job(server)), server)
        with ScriptedServer() as server:
            job = servers.job(server) | {"urls": list(servers.ADDRESSES), "any_host": True}
            wrong |= servers.astray(name, crawl(job))
        return wrong, *crawl_pages(name, crawl)


def crawl_pages(name: str, crawl: Worker) -> tuple[dict[str, list[Any]], str]:
    """What a backend makes of the hostile pages, and what it left behind."""
    with ScriptedServer() as server:
        pages.load(server)
        crawled = crawl(servers.job(server))
        bad = servers.spoilt(name, crawled)
        return pages.seen(server, crawled), "".join(bad.values())


def try_backends() -> tuple[Wrong, Wrong]:
    """What the backends do wrong: with servers, and with pages."""
    names = (*servers.SHARED, *servers.STACKS)
    wrong: Wrong = {}
    differing: Wrong = {}
    reference: dict[str, list[Any]] = {}
    for name in names:
        try:
            found, seen, left = try_backend(name)
        except RuntimeError as error:
            wrong[name] = str(error)
            continue
        wrong |= found
        reference = reference or seen
        for url in reference.keys() | seen.keys():
            if reference.get(url) != seen.get(url):
                differing[url[:80]] = f"{name}: {seen.get(url)!s:.200}"
        if left:
            differing[name] = left
        print(f"{name}: {len(found)} wrong", flush=True)
    return wrong, differing


def try_each(checks: dict[str, Callable[[], str | None]]) -> Wrong:
    """Call every case: what is wrong."""
    return {name: text for name, check in checks.items() if (text := guarded(check)) is not None}


def guarded(check: Callable[[], str | None]) -> str | None:
    """Call a case; an exception is wrong."""
    try:
        return check()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def try_commands() -> Wrong:
    """What is wrong with the command lines."""

    def each(case: commands.Case) -> tuple[str, str | None]:
        return f"{case.program}: {case.name}", commands.fault(case, at, url)

    with commands.scene() as (at, url), ThreadPoolExecutor(AT_ONCE) as pool:
        # Those in this process take over its standard streams.
        found = [each(case) for case in commands.CASES if not case.alone]
        found += pool.map(each, [case for case in commands.CASES if case.alone])
    return {name: text for name, text in found if text is not None}


def try_records() -> Wrong:
    """What is wrong with the records."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as scratch:
        return try_each(record_checks(Path(scratch)))


def record_checks(at: Path) -> dict[str, Callable[[], str | None]]:
    """The cases of records and of archives."""
    return records.checks(at) | archives.checks(at)


def groups() -> Iterator[tuple[str, int, Callable[[], Wrong]]]:
    """Name, number of cases and run of each group, but the servers."""
    yield "pages, links and start URLs", len(pages.checks()), lambda: try_each(pages.checks())
    yield "command lines and surroundings", len(commands.CASES), try_commands
    yield "records and archives", len(record_checks(Path())), try_records


def to_markdown(found: dict[str, Any]) -> str:
    """The section of docs/reliability.md."""
    rows = [
        [name, group["cases"], len(group["wrong"]) or "none"]
        for name, group in found["groups"].items()
    ]
    total = sum(group["cases"] for group in found["groups"].values())
    return (
        f"{total} cases, CPython {found['python']}. The servers and pages were crawled by "
        f"{len(found['backends'])} backends: {', '.join(found['backends'])}.\n\n"
        + document.table(["what was attacked", "cases", "wrong today"], rows)
        + "\n\nWhat they found at first, and what changed:\n\n"
        + document.table(["attack", "what happened", "what happens now"], FOUND)
        + "\n\nWhat stays as it is:\n\n"
        + "\n".join(f"- {fact}" for fact in LEFT)
    )


def main() -> int:
    """Run every case, two processes at once at most; record and print what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture.attacks", description=__doc__)
    parser.parse_args()
    began = time.monotonic()
    wrong, differing = try_backends()
    cases = len(answers.CASES) + len(servers.ADDRESSES)
    found: dict[str, Any] = {"servers and addresses": {"cases": cases, "wrong": wrong}}
    for name, count, run in groups():
        found[name] = {"cases": count, "wrong": run()}
    found["pages, links and start URLs"]["wrong"] |= differing
    for name, group in found.items():
        print(f"{name}: {group['cases']} cases, {len(group['wrong'])} wrong")
        for case, text in group["wrong"].items():
            print(f"  {case}: {text}")
    result = {
        "python": platform.python_version(),
        "backends": [*servers.SHARED, *servers.STACKS],
        "groups": found,
    }
    print(f"{time.monotonic() - began:.0f} s")
    document.keep("attacks", result)
    document.fill("attacks", to_markdown(result))
    return int(any(group["wrong"] for group in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
