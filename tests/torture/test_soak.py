"""One process crawls a broken site again and again: Python holds no more from crawl to crawl."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings

from crawlers.registry import MODELS
from tests.programs import python
from tests.server.fixture_server import running

FAULTS = """
    interim close_after reset_after surplus pipelined null_bytes bomb wrong_charset reset_before
    reset_in_head reset_in_body close_before close_in_head close_in_body close_in_chunks bad_chunk
    bad_status_line bad_length interim_storm
"""
KINDS = FAULTS.split()
"""All faults except those that take a timeout, or send megabytes."""

CRAWLS = min(10 + settings().max_examples // 10, 100)
MOST_BLOCKS = 0.05
"""More blocks per URL than this is a leak: one object kept for every twenty URLs."""

SOAK = """
import gc, json, linecache, os, sys, threading
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
name, url, crawls = sys.argv[1], sys.argv[2], int(sys.argv[3])
backend, job, done = registry.load(name), Job((url,), slots=20, max_tries=2), 0
for _ in range(crawls):
    report = backend.crawl(job, NullRecorder())
    assert report.errors, "the site has faults, and the crawl met none"
    done += len(report.rows)
    del report
    gc.collect()
    # asyncio may log a connection that was reset; the traceback loads its files: 1,948 blocks.
    linecache.clearcache()
    held = sys.getallocatedblocks(), threading.active_count(), len(os.listdir("/proc/self/fd"))
    print(json.dumps([done, *held]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_what_a_process_holds_does_not_grow(name: str) -> None:
    with running("--site", f"faults:1000:{','.join(KINDS)}") as server:
        url = f"http://{server.ready['listening']}/"
        done = python("-c", SOAK, name, url, str(CRAWLS))
    assert done.returncode == 0, done.stderr
    # The first crawls do not count: caches fill.
    first, *_, last = [json.loads(line) for line in done.stdout.splitlines()][CRAWLS // 3 :]
    assert last[2:] == first[2:]
    assert (last[1] - first[1]) / (last[0] - first[0]) < MOST_BLOCKS
