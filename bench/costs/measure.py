"""Counts everything: each backend, workload, instrument and hash seed, at N and at 2 N pages."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.costs import crawls, instruments
from bench.costs.crawls import CrawlError, Place
from bench.costs.instruments import Instrument
from bench.costs.record import Costs, CostsError, Header, Sample
from bench.launch import OWN_PYTHON, ROOT
from bench.machine.probes import environment
from bench.plan import backends, workloads
from bench.plan.cast import Cast
from bench.plan.workloads import SITE_SEED, WARMUP_SITE, Point
from bench.run.runner import own_command
from bench.run.servers import Server, ServerError
from bench.text import now

WORKLOADS: dict[str, Callable[[int, int, Cast], Point]] = {
    "fetch": workloads.fetch,
    "crawl": workloads.throughput,
}
"""What is crawled, by the names of DESIGN and of the charts."""


@dataclass(frozen=True, slots=True)
class CostsOptions:
    """How much to count."""

    backends: Sequence[str] | None = None
    workloads: Sequence[str] = tuple(WORKLOADS)
    instruments: Sequence[str] = instruments.NAMES
    pages: int = 500
    slots: int = 100
    seeds: Sequence[int] = (1, 2, 3)
    source: str = "auto"


@dataclass(frozen=True, slots=True)
class Sites:
    """A workload's two points, each with its server."""

    points: tuple[Point, Point]
    servers: tuple[Server, Server]


def run(options: CostsOptions, report: Callable[[Sample, int, float], None]) -> Costs:
    """Count, and give each sample and the seconds it took to ``report`` as it comes.

    Raises :class:`bench.errors.BenchError` for a backend that cannot be used, when nothing can
    be counted here, or without the fixture server.
    """
    known = backends.look_up(options.backends)
    names = backends.choose(known, options.backends)
    found = instruments.find(options.instruments, options.source)
    usable = [each for each in found if each.missing is None]
    if not usable:
        raise CostsError("; ".join(each.missing or "" for each in found))
    header = Header(
        created=now(),
        command=own_command(sys.argv),
        environment=environment.collect(ROOT),
        pages=options.pages,
        slots=options.slots,
        seeds=list(options.seeds),
        tools={each.name: each.tool for each in usable},
        missing={each.name: each.missing for each in found if each.missing},
    )
    samples = []
    for sample, seconds in count_all(options, names, usable):
        report(sample, options.pages, seconds)
        samples.append(sample)
    return Costs(header, tuple(samples))


def count_all(
    options: CostsOptions, names: Sequence[str], usable: Sequence[Instrument]
) -> Iterator[tuple[Sample, float]]:
    """Every sample, and the seconds it took."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-")))
        try:
            warmup = stack.enter_context(Server(WARMUP_SITE, seed=SITE_SEED, cores=[]))
            for workload in options.workloads:
                with ExitStack() as of_workload:
                    sites = open_sites(workload, options, of_workload)
                    for name in names:
                        compile_first(name, sites, warmup, scratch)
                        for instrument in usable:
                            for seed in options.seeds:
                                began = time.monotonic()
                                sample = take(
                                    name, workload, instrument, seed, sites, warmup, scratch
                                )
                                yield sample, time.monotonic() - began
        except ServerError as error:
            raise CostsError(str(error)) from None


def open_sites(workload: str, options: CostsOptions, stack: ExitStack) -> Sites:
    """The two sites of a workload, being served."""
    cast = Cast(1)
    first, second = (
        WORKLOADS[workload](options.slots, pages, cast)
        for pages in (options.pages, 2 * options.pages)
    )
    servers = tuple(
        stack.enter_context(Server(point.site, seed=SITE_SEED, cores=[]))
        for point in (first, second)
    )
    return Sites((first, second), (servers[0], servers[1]))


def compile_first(name: str, sites: Sites, warmup: Server, scratch: Path) -> None:
    """Crawl once, uncounted: Python compiles a module when it is first imported.

    What is wrong with the crawl shows in the counted ones.
    """
    place = Place(sites.servers[0], warmup, scratch)
    with suppress(CrawlError):
        crawls.count(name, sites.points[0], instruments.kernel(), 0, place)


def take(
    name: str,
    workload: str,
    instrument: Instrument,
    seed: int,
    sites: Sites,
    warmup: Server,
    scratch: Path,
    python: Sequence[str] = OWN_PYTHON,
) -> Sample:
    """One sample: the counts of N and of 2 N pages, or why there are none."""
    try:
        small, large = (
            crawls.count(name, point, instrument, seed, Place(server, warmup, scratch, python))
            for point, server in zip(sites.points, sites.servers, strict=True)
        )
    except CrawlError as error:
        return Sample(
            backend=name,
            workload=workload,
            instrument=instrument.name,
            seed=seed,
            status="void" if error.void else "failed",
            reason=str(error),
        )
    return Sample(
        backend=name,
        workload=workload,
        instrument=instrument.name,
        seed=seed,
        status="ok",
        counts={cost: (small.get(cost, 0), large.get(cost, 0)) for cost in {**small, **large}},
    )
