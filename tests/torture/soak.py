"""Crawls a broken site again and again in one process: does its memory grow?

With ``python -m tests.torture.soak`` each backend fetches 200,000 URLs. Its memory is
flat if the slope is below eight bytes per URL. If it is not, the number of blocks that
Python holds tells a leak from a fragmented heap.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import threading
from array import array
from collections.abc import Sequence
from typing import Any

from rich.progress import track

from bench.launch import ROOT
from bench.machine import memory
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from crawlers.registry import BackendError
from tests.server.fixture_server import running
from tests.torture import keep

KINDS = (
    *("interim", "close_after", "reset_after", "surplus", "pipelined", "null_bytes", "bomb"),
    *("wrong_charset", "reset_before", "reset_in_head", "reset_in_body", "close_before"),
    *("close_in_head", "close_in_body", "close_in_chunks", "bad_chunk", "bad_status_line"),
    *("bad_length", "interim_storm"),
)
"""All faults except those that take a timeout, or send megabytes."""

SITE = ("--site", f"faults:2000:{','.join(KINDS)}")
SLOTS = 20
WARM_SHARE = 0.2
"""The first fifth does not count: caches fill, and the allocator finds its size."""
FLAT_BYTES = 8.0
"""Growth per URL that counts as flat: half of the smallest object that Python has."""
FLAT_BLOCKS = 0.001
"""More blocks per URL than this is a leak: one object kept for every thousand URLs."""
SKIPPED = 3


def soak(name: str, urls: int) -> list[tuple[int, ...]]:
    """(URLs so far, bytes of user memory, blocks held, descriptors, threads) after each crawl."""
    backend = registry.load(name)
    samples = array("q")  # a list of tuples would be blocks that are held
    done = 0
    with running(*SITE) as server:
        job = Job((f"http://{server.ready['listening']}/",), slots=SLOTS, max_tries=2)
        while done < urls:
            report = backend.crawl(job, NullRecorder())
            assert report.errors, "the site has faults, and the crawl met none"
            done += len(report.rows)
            del report
            gc.collect()
            used, source = memory.user_memory(os.getpid())
            if used is None:
                raise SystemExit(f"no figure for this process's memory: {source}")
            blocks, threads = sys.getallocatedblocks(), threading.active_count()
            samples.extend((done, used, blocks, len(os.listdir("/proc/self/fd")), threads))
    return list(zip(*[iter(samples)] * 5, strict=True))


# Imports for judging are local, because the soaked process does not need them.


def judge(samples: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Decide whether memory is flat, by the Theil–Sen slope, which tolerates odd samples."""
    from scipy.stats import theilslopes

    kept = [sample for sample in samples if sample[0] >= WARM_SHARE * samples[-1][0]]
    growth = [
        float(theilslopes([sample[column] for sample in kept], [sample[0] for sample in kept])[0])
        for column in (1, 2)
    ]
    return {
        "urls": samples[-1][0],
        "bytes_per_url": growth[0],
        "blocks_per_url": growth[1],
        "flat": growth[0] < FLAT_BYTES,
        "leaks": growth[1] > FLAT_BLOCKS,
        "descriptors": [kept[0][3], kept[-1][3]],
        "threads": [kept[0][4], kept[-1][4]],
        "samples": [sample[:2] for sample in samples],
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.soak", description=__doc__)
    parser.add_argument("--urls", type=int, default=200_000, help="URLs that each backend fetches")
    parser.add_argument("--backends", metavar="A,B", help="these only (default: the four models)")
    parser.add_argument("--all", action="store_true", help="every backend, also the variants")
    parser.add_argument(
        "--only", metavar="BACKEND", help="only this one, in this process; prints JSON"
    )
    options = parser.parse_args()
    if options.only:
        try:
            print(json.dumps(soak(options.only, options.urls)))
        except BackendError as error:
            print(error, file=sys.stderr)
            return SKIPPED
        return 0
    named = options.backends.split(",") if options.backends else list(registry.MODELS)
    names = registry.names() if options.all else named
    found: dict[str, Any] = {}
    for name in track(names, "soaking"):
        command = [sys.executable, "-m", "tests.torture.soak", "--only", name]
        command += ["--urls", str(options.urls)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode == SKIPPED:
            found[name] = {"skipped": done.stderr.strip()}
        elif done.returncode:
            print(done.stderr, file=sys.stderr)
            return 1
        else:
            found[name] = judge(json.loads(done.stdout))
            found[name]["python"] = platform.python_version()
    keep("soak", found)
    return int(any(row.get("leaks", False) for row in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
