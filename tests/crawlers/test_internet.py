"""Crawls of a small internet, as a person starts them: names, https, redirects, robots.txt."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.crawlers.internet import CA, CRAWL_DELAY_S

DOCS, WWW, OLD = "docs.example.test", "www.example.test", "old.example.test"
SPACE = ("unshare", "--net", "--mount", "--propagation", "private")


def why_not() -> str | None:
    """Why there can be no such internet here; None if there can."""
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    for tool in ("unshare", "ip", "mount"):
        if shutil.which(tool) is None:
            return f"needs {tool}"
    if os.geteuid() != 0:
        return "needs root"
    tried = subprocess.run([*SPACE, "mount", "--bind", "/etc/hosts", "/etc/resolv.conf"],
                           capture_output=True, check=False)  # fmt: skip
    return "no namespaces here" if tried.returncode else None


WHY_NOT = why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or ""),
]


@dataclass
class Crawl:
    """What came of one command."""

    status: int
    out: str
    errors: str
    asked: list[str]
    ledgers: dict[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """What ``--json`` printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    def fetched(self, host: str) -> dict[str, int]:
        """What a host was asked for over https, and how often."""
        found: dict[str, int] = self.ledgers[host]["requests"]
        return found


Run = Callable[..., Crawl]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs ``python -m crawlers`` with these arguments in the small internet."""
    with subprocess.Popen(
        [*SPACE, sys.executable, "-m", "tests.crawlers.internet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip

        def ask(*command: str, **env: str) -> Crawl:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"command": command, "env": env}) + "\n")
            process.stdin.flush()
            return Crawl(**json.loads(process.stdout.readline()))

        yield ask
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(300) == 0


POLITELY = ("--any-host", "--delay", "0.01", "--timeout", "300", "--json", "--urls")
HTTPS = (*POLITELY, "--cafile", CA)
PAGES = {"/3/": 1, "/3/a.html": 1, "/3/gone.html": 1, "/3/library/": 1, "/robots.txt": 1}


@pytest.mark.parametrize("backend", ["threads", "callbacks", "generators", "async_await"])
def test_the_documentation_is_crawled(run: Run, backend: str) -> None:
    """http links go to https by redirects, robots.txt is obeyed, other hosts are left alone."""
    crawl = run(backend, f"https://{DOCS}/3/", *HTTPS)
    assert (crawl.status, crawl.errors) == (0, "")
    assert crawl.fetched(DOCS) == PAGES | {"/robots.txt": 2}  # one for each scheme
    assert not crawl.fetched(WWW)
    assert not crawl.fetched(OLD)
    assert crawl.asked == [DOCS]
    report = crawl.report
    assert report["statuses"] == {"200": 3, "301": 1, "404": 1}
    assert report["errors"] == {"forbidden": 1}  # by robots.txt
    # The first request begins at once, and each of the others after a delay.
    assert report["elapsed_s"] >= (len(PAGES) - 2) * CRAWL_DELAY_S
    assert crawl.ledgers[DOCS]["handshakes"]["failed"] == 0


def test_a_crawl_that_begins_with_http_ends_with_https(run: Run) -> None:
    crawl = run("async_await", f"http://{DOCS}/3/", *HTTPS)
    assert (crawl.status, crawl.errors) == (0, "")
    assert crawl.fetched(DOCS) == PAGES | {"/robots.txt": 2}  # one for each scheme


def test_lenient_scope_takes_in_the_other_hosts(run: Run) -> None:
    """Two more hosts; the certificate of one has expired."""
    crawl = run("async_await", f"https://{DOCS}/3/", "--lenient", *HTTPS)
    assert crawl.status == 0
    assert crawl.fetched(WWW)["/about.html"] == 1
    assert not crawl.fetched(OLD)
    assert crawl.asked == [DOCS, OLD, WWW]


def test_the_systems_store_is_trusted_by_default(run: Run) -> None:
    crawl = run("async_await", f"https://{DOCS}/3/", *POLITELY)
    assert crawl.status == 1
    assert not crawl.fetched(DOCS)
    assert crawl.report["errors"] == {"untrusted": 1}
    crawl = run("async_await", f"https://{DOCS}/3/", *POLITELY, SSL_CERT_FILE=CA)
    assert crawl.status == 0
    assert crawl.report["statuses"]["200"] == 3


def test_an_expired_certificate_and_a_name_that_is_none(run: Run) -> None:
    crawl = run("async_await", f"https://{OLD}/", *HTTPS)
    assert crawl.status == 1
    assert not crawl.fetched(OLD)
    assert crawl.report["errors"] == {"expired": 1}
    assert "expired" in crawl.errors
    crawl = run("async_await", "https://nowhere.test/", *HTTPS)
    assert crawl.status in (1, 2)
    assert "nowhere.test" in crawl.errors
