"""Feeds bytes from libFuzzer to everything that reads bytes from strangers.

``python -m tests.torture.fuzz`` gives the exchange and the link extractor some
millions of inputs each (``pip install atheris`` first). A target fails if it
raises an undocumented error, if an input takes longer than a few seconds, or if the
process grows beyond its limit.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crawlers.http import Exchange
from crawlers.job import Fetch, Origin
from crawlers.kinds import ERROR_KINDS
from crawlers.links import extract
from crawlers.page import read_page
from crawlers.urls import normalise
from server.sites.fault_kinds import KINDS, Page
from tests.torture import document

TIMEOUT_S = 5
MEMORY_MB = 1024
MAX_BYTES = 16384
MAX_BODY = 4096
DONE = re.compile(r"Done (\d+) runs in (\d+) second")
ORIGIN = Origin("http://site.test", [], b" HTTP/1.1\r\n\r\n")


def exchange(data: bytes) -> None:
    """A response has the same, documented outcome whole and cut in two places."""
    outcomes = []
    first, second = (data[0], data[1]) if len(data) > 1 else (0, 0)
    for cut in (0, first, first + second):
        fetch = Fetch("http://site.test/", ORIGIN, "/")
        made = Exchange(fetch, MAX_BODY)
        for piece in filter(None, (data[2 : 2 + cut], data[2 + cut :])):
            made.feed(piece)
        made.feed(b"")
        page = read_page(fetch, made, follow=True)
        assert made.done
        assert made.error is None or made.error in ERROR_KINDS
        assert made.error is None or made.status is None
        assert len(made.body) <= MAX_BODY + len(data)
        outcomes.append((made.status, page.error, page.redirect, page.checksum, page.links))
    ended = [outcome for outcome in outcomes if outcome[0] is not None]
    assert len({outcome[:2] for outcome in outcomes}) == 1, outcomes
    assert all(outcome == ended[0] for outcome in ended)


def extractor(data: bytes) -> None:
    """The links of a page are normal URLs, whatever the page contains."""
    charset = (None, "utf-8", "utf-16", "shift_jis", "no-such")[data[0] % 5] if data else None
    for url in extract(data[1:], "http://site.test/a/b", charset):
        assert url.startswith(("http://", "https://"))
        assert url.isascii()
        assert normalise(url, url) == url


TARGETS: dict[str, Callable[[bytes], None]] = {
    "exchange": exchange,
    "extractor": extractor,
}


def seeds(target: str) -> list[bytes]:
    """Inputs to start from: every fault, and odd pages."""
    rng = random.Random(1)
    page = Page("/x", links=("/a", "../b?c=d#e", "//other.test/", "caf\xe9"))
    wires = [kind(page, rng) for kind in KINDS.values()]
    answers = [(wire.data + wire.glued)[:MAX_BYTES] for wire in wires]
    if target == "exchange":
        return [b"\x10\x20" + answer for answer in answers]
    return [b"\0" + page.body, b"\1<base href=\"/x/\"><A HREF='a&amp;b'>", *answers]


def fuzz(target: str, arguments: list[str]) -> None:
    """Hand the target to libFuzzer, which ends the process."""
    import atheris

    atheris.Setup([sys.argv[0], *arguments], atheris.instrument_func(TARGETS[target]))
    atheris.Fuzz()


def run(target: str, runs: int, seconds: int, seed: int) -> dict[str, Any]:
    """Fuzz one target in its own process, and count the inputs."""
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds(target)):
            Path(folder, str(number)).write_bytes(data)
        limits = {
            "runs": runs, "max_total_time": seconds, "seed": seed, "timeout": TIMEOUT_S,
            "rss_limit_mb": MEMORY_MB, "max_len": MAX_BYTES, "artifact_prefix": f"{folder}/",
        }  # fmt: skip
        flags = [f"-{name}={value}" for name, value in limits.items()]
        done = subprocess.run(
            [sys.executable, "-m", "tests.torture.fuzz", "--target", target, *flags, folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    counted = DONE.search(done.stderr)
    if counted is None or done.returncode:
        print(done.stderr[-4000:], file=sys.stderr)
    return {
        "inputs": int(counted[1]) if counted else None,
        "failed": None if counted and not done.returncode else f"exit status {done.returncode}",
    }


def to_markdown(found: Mapping[str, Any]) -> str:
    rows = []
    for target, outcome in found["targets"].items():
        inputs = "unknown" if outcome["inputs"] is None else f"{outcome['inputs']:,}"
        rows.append([target, inputs, outcome["failed"] or "none"])
    return (
        f"atheris {found['atheris']}, inputs of up to {MAX_BYTES:,} bytes, {TIMEOUT_S} s each at "
        f"most, {MEMORY_MB} MB for the process.\n\n"
        + document.table(["target", "inputs", "failures"], rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000_000, help="for each target")
    parser.add_argument("--seconds", type=int, default=1800, help="limit for all of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=TARGETS, help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    if options.target:
        fuzz(options.target, rest)
    found: dict[str, Any] = {"atheris": version("atheris"), "seed": options.seed}
    print(f"two processes, at most {options.seconds} s", flush=True)
    with ThreadPoolExecutor(len(TARGETS)) as pool:
        jobs = {
            target: pool.submit(run, target, options.runs, options.seconds, options.seed)
            for target in TARGETS
        }
    found["targets"] = {target: job.result() for target, job in jobs.items()}
    document.keep("fuzz", found)
    document.fill("fuzz", to_markdown(found))
    return int(any(outcome["failed"] for outcome in found["targets"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
