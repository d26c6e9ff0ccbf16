"""The crawlers on every other CPython that is found, with the standard library alone."""

from __future__ import annotations

import json
import subprocess

import pytest

from bench.launch import ROOT
from bench.machine import interpreters
from crawlers.registry import MODELS
from tests.crawlers.conftest import FixtureServer

CRAWL = """
import json, sys
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
try:
    backend = registry.load(sys.argv[1])
except registry.BackendError as error:
    sys.exit(str(error))
report = backend.crawl(Job((sys.argv[2],), slots=6), NullRecorder())
print(json.dumps([report.backend, report.digest, report.mechanism]))
"""
CRAWL_ALL = """
import json, sys
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
url, *names = sys.argv[1:]
crawls = {name: registry.load(name).crawl(Job((url,), slots=6), NullRecorder()) for name in names}
print(json.dumps({name: report.digest for name, report in crawls.items()}))
"""
SINCE = {"asyncio_eager": (3, 12), "subinterpreters": (3, 14)}


@pytest.mark.parametrize("name", SINCE)
def test_a_variant_of_later_releases(name: str, tree: FixtureServer) -> None:
    """It crawls where it can, on the standard library alone, and says why where it cannot."""
    found, _ = interpreters.find()
    if not any(each.version >= SINCE[name] for each in found):
        pytest.skip(f"no CPython of {SINCE[name]} or later on PATH or under pyenv")
    for each in found:
        done = subprocess.run(
            [*each.command, "-c", CRAWL, name, tree.url],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if each.version >= SINCE[name]:
            assert done.returncode == 0, done.stderr
            backend, digest, mechanism = json.loads(done.stdout)
            assert (backend, digest) == (name, tree.digest)
            if name == "subinterpreters":
                assert mechanism["subinterpreters"] >= 1
                assert mechanism["parser"] == "python"
        else:
            assert f"backend {name} needs Python 3." in done.stderr


def test_a_variant_of_earlier_releases_says_so_instead_of_what_to_install() -> None:
    """The extra has no curio for Python 3.12 and later."""
    later = [each for each in interpreters.find()[0] if each.version >= (3, 12)]
    if not later:
        pytest.skip("no CPython of 3.12 or later on PATH or under pyenv")
    for each in later:
        done = subprocess.run(
            [*each.command, "-c", CRAWL, "curio", "http://127.0.0.1/"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "backend curio needs Python 3.11 or earlier" in done.stderr
        assert "pip install" not in done.stderr


def test_the_models_find_every_page_on_every_release(tree: FixtureServer) -> None:
    """CPython 3.11.0 to 3.11.4 lost links without an error: their ``re`` was faulty."""
    for each in interpreters.find()[0]:
        done = subprocess.run(
            [*each.command, "-c", CRAWL_ALL, tree.url, *MODELS],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, (each.name, done.stderr)
        assert json.loads(done.stdout) == dict.fromkeys(MODELS, tree.digest), each.name
