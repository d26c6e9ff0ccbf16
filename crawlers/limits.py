"""The limit that a crawler meets first: open descriptors."""

from __future__ import annotations

import resource

from crawlers.job import JobError

SPARE = 64
"""Descriptors kept for everything that is no connection."""


def ensure_descriptors(slots: int, each: int = 1) -> None:
    """Make room for ``each`` connections per slot, raising the soft limit where needed.

    Raises :class:`JobError` when the hard limit is too low, with the numbers.
    """
    needed = slots * each + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise JobError(
            f"{slots * each} connections need {needed} descriptors, and this process "
            f"may open {hard}: use at most --concurrency {max((hard - SPARE) // each, 1)}, "
            "or raise the limit (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
