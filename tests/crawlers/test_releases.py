"""The crawlers on every other CPython that is found, with the standard library alone."""

from __future__ import annotations

import json
import subprocess
from functools import cache

from bench.launch import ROOT
from bench.machine import interpreters
from crawlers.registry import MODELS
from tests.server.fixture_server import Running

CRAWL = """
import json, sys
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
url, *names = sys.argv[1:]
try:
    backends = [registry.load(name) for name in names]
except registry.BackendError as error:
    sys.exit(str(error))
reports = [backend.crawl(Job((url,), slots=6), NullRecorder()) for backend in backends]
print(json.dumps({each.backend: [each.digest, each.mechanism] for each in reports}))
"""


@cache
def here() -> list[interpreters.FoundInterpreter]:
    """Those that are found, the earliest first."""
    return sorted(interpreters.find()[0], key=lambda each: each.version)


def crawl(each: interpreters.FoundInterpreter, *arguments: str) -> tuple[int, str, str]:
    """Crawl a URL with some backends in another interpreter: exit code, output and errors."""
    command = [*each.command, "-c", CRAWL, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_a_variant_of_some_releases(tree: Running) -> None:
    """It crawls where it can, on the standard library alone, and says why where it cannot."""
    able = [each for each in here() if each.version >= (3, 14)]
    unable = [each for each in here() if each not in able]
    for each in able[-1:]:
        code, out, errors = crawl(each, tree.url, "subinterpreters")
        assert code == 0, errors
        digest, mechanism = json.loads(out)["subinterpreters"]
        assert digest == tree.ready["digest"]
        assert mechanism["subinterpreters"] >= 1
    for each in unable[-1:]:
        _, _, errors = crawl(each, tree.url, "subinterpreters")
        assert "backend subinterpreters needs Python 3.14" in errors
        assert "pip install" not in errors


def test_the_models_find_every_page_on_every_release(tree: Running) -> None:
    """CPython 3.11.0 to 3.11.4 lost links without an error: their ``re`` was faulty."""
    for each in here():
        code, out, errors = crawl(each, tree.url, *MODELS)
        assert code == 0, (each.name, errors)
        found = {name: digest for name, (digest, _) in json.loads(out).items()}
        assert found == dict.fromkeys(MODELS, tree.ready["digest"]), each.name
