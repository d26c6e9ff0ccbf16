"""Times in records: a distribution, and those of mixed load."""

from __future__ import annotations

from bench.schema.base import Record


class Latency(Record):
    """A latency distribution, in milliseconds.

    ``hdr`` is a histogram of integer microseconds, as base64 of HdrHistogram's V2 compressed
    encoding. The percentiles come from it. ``p99_9_ms`` is None below 10,000 samples, because
    fewer than ten would lie beyond it.
    """

    count: int
    min_ms: float
    mean_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p99_9_ms: float | None
    max_ms: float
    hdr: str


class Work(Record):
    """The pages of a trial that needed processor time of the client, and all the others.

    Nobody waits for a page alone: the times of the others show what the work did to them.
    Both kinds are response times, from the due time; a page that needed work was answered
    when that was done.
    """

    every: int  # one page in so many
    seed: int  # decides which
    work_ms: float  # what it should take alone
    round_us: float  # what a round takes alone, measured once in each campaign
    rounds: int  # for each page
    pages: int  # worked on
    expected: int
    check: int  # what the work came to
    check_expected: int
    cpu_ms: float  # processor time for each page that needed work
    wall_ms: float  # the same by the clock: longer where the thread did not have the processor
    threads: int  # in how many threads of all processes it was done
    others: Latency | None
    worked: Latency | None
