"""Variants that need a later Python than the one that runs the tests, on one that is found."""

from __future__ import annotations

import json
import subprocess

import pytest

from bench import interpreters
from bench.process import ROOT
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
            timeout=60,
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
