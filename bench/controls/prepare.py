"""Get a control ready to run in a worker."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from bench.controls import bare, bare_close, shared
from crawlers.job import CrawlReport, Job
from crawlers.recorder import ProgressRecorder, TimesRecorder


def prepare(name: str, job: Job) -> Callable[[Job, TimesRecorder], CrawlReport]:
    """Get a control ready for a job; the result runs it, and counts as the recorder does."""
    if name == "bare":
        return lambda job, recorder: bare.crawl(job, counter(recorder))
    if name == "bare_tls":
        # Imported here: ssl is large, and the memory of the other controls is measured too.
        from bench.controls import bare_tls

        origin = bare_tls.warm_up(job)
        return lambda job, recorder: bare_tls.crawl(job, origin)
    if name == "bare_close":
        return lambda job, recorder: bare_close.crawl(job)
    answers = shared.fetch_all(job)
    return lambda job, recorder: shared.crawl(job, counter(recorder), answers)


def counter(recorder: TimesRecorder) -> Callable[[], None]:
    """A function that counts one exchange where the harness can see it."""
    if not isinstance(recorder, ProgressRecorder):
        return lambda: None
    ended, place = recorder.ended, count()  # a place of its own: there are no times to settle

    def one() -> None:
        ended[next(place)] = 1.0

    return one
