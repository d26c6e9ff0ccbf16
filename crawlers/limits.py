"""The first limit that a crawler meets: open descriptors."""

from __future__ import annotations

import resource

from crawlers.job import JobError

SPARE = 64
"""Descriptors reserved for everything besides connections."""


def ensure_descriptors(slots: int) -> None:
    """Make room for a connection per slot; raise the soft limit if needed.

    Raises :class:`JobError` when the hard limit is too low, with the numbers.
    """
    needed = slots + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise JobError(
            f"{slots} connections need {needed} descriptors, but this process may open {hard}: "
            + f"use at most --concurrency {hard - SPARE}, or " * (hard > SPARE)
            + "raise the limit (ulimit -Hn)"
        )
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (ValueError, OSError, OverflowError) as error:  # above fs.nr_open, for instance
        raise JobError(f"{slots} connections need {needed} descriptors: {error}") from error
