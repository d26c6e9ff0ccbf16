"""The controls: they fetch what they claim, and count each exchange."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from bench.controls import CONTROLS, FAMILY, REPEATS, programs
from bench.controls.programs import answer_size, prepare
from bench.sides.protocol import own_times
from bench.sides.servers import Server
from crawlers import callbacks, registry
from crawlers.job import Job
from crawlers.recorder import ProgressRecorder, TimesRecorder

PAGES = 300


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(f"list:{PAGES}:2048", seed=1, cores=[]) as running:
        yield running


def listed(server: Server, pages: int = PAGES) -> Job:
    urls = tuple(f"{server.prefix}/p/{number}" for number in range(pages))
    return Job(urls, slots=10, follow=False)


@pytest.mark.parametrize("name", ["bare", "stripped"])
def test_a_control_counts_its_exchanges_as_a_backend_does(server: Server, name: str) -> None:
    ended = memoryview(bytearray(8 * 2 * REPEATS * PAGES)).cast("d")
    job = listed(server)
    report = prepare(name, job)(job, ProgressRecorder(ended, own_times(len(ended))))
    assert report.pages == PAGES
    assert sum(at > 0 for at in ended) == REPEATS * PAGES
    assert callbacks.crawl(job, TimesRecorder()).digest == server.digest, "all is as it was"


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("bare", f"list:{PAGES}:2048"),
        ("stripped", f"list:{PAGES}:2048"),
        ("stripped", "tree:120:10:2048"),
    ],
)
def test_a_part_is_left_out_and_every_page_asked_for_equally_often(
    name: str, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``bare`` once searched each answer for its length, which counted as sockets."""
    with Server(site, seed=1, cores=[]) as server:
        is_list = site.startswith("list")
        job = listed(server) if is_list else Job((f"{server.prefix}/",), slots=10)
        crawl = prepare(name, job)
        server.reset()
        read = Mock(wraps=answer_size)
        monkeypatch.setattr(programs, "answer_size", read)
        for part in ("Frontier", "Exchange", "read_page"):
            monkeypatch.setattr(callbacks, part, None)
        report = crawl(job, TimesRecorder())
        assert read.call_count <= 1
        ledger = server.ledger()
        assert (ledger.requests, ledger.distinct) == (REPEATS * server.urls, server.urls)
        assert (ledger.connections_opened, len(report.rows)) == (10, server.urls)


def test_no_control_can_be_taken_for_a_backend() -> None:
    assert not CONTROLS.keys() & set(registry.names())
    assert {control.family for control in CONTROLS.values()} == {FAMILY}


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: y\r\ncontent-length:7\r\nZ: 1\r\n\r\n",
    ],
)
def test_the_size_of_an_answer_is_its_head_and_its_length(head: bytes) -> None:
    assert answer_size(head) == len(head) + 7
    assert answer_size(head + b"1234567") == len(head) + 7
    for incomplete in (head[:-1], head[: head.lower().index(b"ngth")]):
        with pytest.raises(ValueError):
            answer_size(incomplete)
