"""README's own command, as a reader would check a headline with it.

``python -m tools.recheck`` crawls a tree of 16,000 pages and one of 2,000 with
``python -m crawlers NAME URL --concurrency 100``, round after round, and prints the processor time
of a page: the difference of the two, over the pages that they differ by, so that the start of the
interpreter drops out. The server is pinned to the last processor. The crawler is pinned to nothing.
``--no-bytecode`` starts it as on the first day of a clone, without cached bytecode.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack
from statistics import median
from typing import Final

from bench import text
from bench.run.servers import Server

PAGES: Final = (16_000, 2_000)
NAMES: Final = ("callbacks", "threads", "threads_one_processor", "generators", "async_await")


def used() -> tuple[float, int]:
    """Processor seconds and page faults of all children that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime, found.ru_minflt


def crawl(name: str, url: str, environment: dict[str, str]) -> tuple[float, int]:
    """Processor seconds and page faults of one crawl."""
    before = used()
    command = [sys.executable, "-m", "crawlers", name, url, "--concurrency", "100"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = used()
    return after[0] - before[0], after[1] - before[1]


def recheck(names: list[str], rounds: int, *, bytecode: bool) -> str:
    """The table: microseconds for a page, their range, over the first, faults for a page."""
    environment = dict(os.environ)
    if not bytecode:
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": os.devnull}
    last = [max(os.sched_getaffinity(0))]
    cost, faults = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    with ExitStack() as stack:
        sites = [f"tree:{pages}:10:2048" for pages in PAGES]
        servers = [stack.enter_context(Server(site, seed=1, cores=last)) for site in sites]
        for _ in range(rounds):
            for name in names:
                (long_s, long_faults), (short_s, short_faults) = (
                    crawl(name, f"{server.prefix}/", environment) for server in servers
                )
                cost[name].append(1e6 * (long_s - short_s) / (PAGES[0] - PAGES[1]))
                faults[name].append((long_faults - short_faults) / (PAGES[0] - PAGES[1]))
    base = median(cost[names[0]])
    rows = [
        [
            name,
            f"{median(cost[name]):.1f}",
            f"{min(cost[name]):.1f}–{max(cost[name]):.1f}",
            f"{median(cost[name]) / base:.2f}",
            f"{median(faults[name]):.2f}",
        ]
        for name in names
    ]
    head = ["backend", "µs per page", "range", f"× {names[0]}", "page faults per page"]
    return "\n".join(text.markdown_table(head, rows, right=4))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.recheck",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--backends", default=",".join(NAMES), metavar="A,B", help="the first = 1")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--no-bytecode", action="store_true", help="do not use cached bytecode")
    options = parser.parse_args()
    print(recheck(options.backends.split(","), options.rounds, bytecode=not options.no_bytecode))
    print(f"\nPython {sys.version.split()[0]}, medians of {options.rounds} rounds.")


if __name__ == "__main__":
    main()
