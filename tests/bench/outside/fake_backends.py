"""Backends that go wrong, each in its own way, as an outside distribution would ship them.

``fake_backends-1.0.dist-info`` beside this file registers them under the
entry-point group; tests put this folder on ``PYTHONPATH``.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from unittest.mock import patch

from crawlers import callbacks, registry
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.registry import Backend, CrawlFunction

_real = registry.load("callbacks").crawl
_crawls = 0


def _timed() -> bool:
    """Whether this is the timed crawl: the one after the warm-up."""
    global _crawls
    _crawls += 1
    return _crawls > 1


def _hang(job: Job, recorder: Recorder) -> CrawlReport:
    if _timed():
        time.sleep(600)
    return _real(job, recorder)


def _crash(job: Job, recorder: Recorder) -> CrawlReport:
    if _timed():
        raise RuntimeError("this backend gave up")
    return _real(job, recorder)


def _killed(job: Job, recorder: Recorder) -> CrawlReport:
    if _timed():
        os.kill(os.getpid(), signal.SIGKILL)
    return _real(job, recorder)


def _lazy(job: Job, recorder: Recorder) -> CrawlReport:
    """Leaves out half of the site."""
    return _real(replace(job, exclude="[02468]") if _timed() else job, recorder)


def _greedy(job: Job, recorder: Recorder) -> CrawlReport:
    """Opens more connections than it was given slots."""
    return _real(replace(job, slots=2 * job.slots) if _timed() else job, recorder)


def _twice(job: Job, recorder: Recorder) -> CrawlReport:
    """Fetches everything twice, and reports it once."""
    if _timed():
        _real(job, recorder)
    return _real(job, recorder)


def _talking(job: Job, recorder: Recorder) -> CrawlReport:
    """Prints where the worker's protocol is spoken."""
    print('{"event": "result", "digest": "forged"}')
    return _real(job, recorder)


def _hasty(job: Job, recorder: Recorder) -> CrawlReport:
    """Sends the first byte of the next request with each request."""

    def send(slot: callbacks.Slot) -> None:
        slot.exchange.request = slot.exchange.request[slot.exchange.reused :] + b"G"
        usual(slot)

    usual = callbacks.Slot.send
    with patch.object(callbacks.Slot, "send", send if _timed() else usual):
        return _real(job, recorder)


def _fake(name: str, crawl: CrawlFunction) -> Backend:
    return Backend(name, "goes wrong", "everything", "fake", 99, crawl)


hang = _fake("hang", _hang)
crash = _fake("crash", _crash)
killed = _fake("killed", _killed)
lazy = _fake("lazy", _lazy)
greedy = _fake("greedy", _greedy)
twice = _fake("twice", _twice)
talking = _fake("talking", _talking)
hasty = _fake("hasty", _hasty)
