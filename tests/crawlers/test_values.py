"""The small modules: job, origins, page, registry, recorder, limits, summary, stop."""

from __future__ import annotations

import gzip
import json
import resource
import signal
import socket
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from selectors import EVENT_READ
from unittest.mock import Mock

import pytest

from crawlers import generators, limits, registry
from crawlers.http import Exchange
from crawlers.job import (
    MAX_ROBOTS,
    Address,
    CrawlReport,
    Fetch,
    Job,
    JobError,
    Origin,
    PageResult,
)
from crawlers.loop import Loop
from crawlers.origins import in_scope, make_origin, origin_prefix
from crawlers.page import charset, content_type, decoded, read_page
from crawlers.recorder import WINDOW, DueRecorder, NullRecorder, TimesRecorder, WindowRecorder
from crawlers.sockets import begin_connect, new_socket
from crawlers.stop import Stop
from crawlers.summary import url_line, why_not_fetched
from tests.crawlers.exchanges import ORIGIN, fetch_of
from tests.crawlers.test_main import run

JOB = Job(("http://site.test/",))
FETCH = fetch_of("/dir/x")
packed = partial(gzip.compress, mtime=0)
"""The same bytes in every process: they name tests."""


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"urls": ()}, "no URL"),
        ({"slots": 0}, "slots"),
        ({"max_tries": 0}, "max_tries"),
        ({"max_redirects": -1}, "max_redirects"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"deadline_s": -1.0}, "deadline_s"),
        ({"deadline_s": float("inf")}, "deadline_s"),
        ({"deadline_s": float("nan")}, "deadline_s"),
        ({"timeout_s": 1e300}, "timeout_s"),
        ({"delay_s": 1e300}, "delay_s"),
        ({"follow": False, "schedule": (float("inf"),)}, "due times"),
        ({"follow": False, "schedule": (-1.0,)}, "due times"),
        ({"schedule": (0.0,)}, "schedule"),
        ({"schedule": (0.0, 1.0), "follow": False}, "at most one due time"),
        ({"cafile": "authority.pem", "insecure": True}, "choose one"),
    ],
)
def test_a_bad_job_says_what_is_wrong(settings: dict[str, object], says: str) -> None:
    with pytest.raises(JobError, match=says):
        Job(**{"urls": ("http://x/",), **settings})  # type: ignore[arg-type]


def test_a_try_keeps_its_address() -> None:
    first, second = Address(2, ("127.0.0.1", 1)), Address(2, ("127.0.0.2", 1))
    fetch = Fetch("http://x/", origin := Origin("http://x", [first, second], b""), "/")
    assert fetch.place is None
    taken = [fetch.address]
    origin.addresses.reverse()
    assert [*taken, fetch.address, fetch.place] == [first, first, first]


def test_sockets_send_at_once_and_a_failed_one_is_closed() -> None:
    with new_socket(Address(2, ())) as sock:
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    with pytest.raises(OSError):
        begin_connect(Address(10, ("127.0.0.1", 1)))  # left open, it would be a ResourceWarning


def test_a_server_with_both_kinds_of_addresses_is_tried_over_ipv4_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts = ("127.0.0.2", "127.0.0.1")  # the resolver's order is kept
    places = [Address(10, ("::1", 80, 0, 0)), *(Address(2, (host, 80)) for host in hosts)]
    entries = [(place.family, socket.SOCK_STREAM, 6, "", place.sockaddr) for place in places]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)
    assert make_origin("http://x", JOB).addresses == [*places[1:], places[0]]


def test_origins_resolve_with_the_options_of_the_job() -> None:
    origin = make_origin("http://127.0.0.1:8000", Job(("http://x/",), keep_alive=False))
    assert origin.addresses == [Address(2, ("127.0.0.1", 8000))]
    assert b"Host: 127.0.0.1:8000\r\n" in origin.head_tail
    assert b"Connection: close" in origin.head_tail
    assert not origin.keep_alive
    assert origin_prefix("http://a.b:1/c?d") == "http://a.b:1"
    for url in ("nonsense", "http://a.b"):
        with pytest.raises(JobError, match="not a normal URL"):
            origin_prefix(url)


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("http://www.site.test/", True),
        ("http://site.test:8080/", True),
        ("http://notsite.test/", False),
        ("https://site.test/", True),
        ("ftp://site.test/", False),
        ("http://test/", False),
        ("http://127.0.0.1:9/", True),
        ("http://10.1.0.1/", False),
    ],
)
def test_lenient_scope(url: str, inside: bool) -> None:
    """Names are shortened, addresses are not."""
    assert in_scope(url, ["http://site.test", "http://127.0.0.1"]) is inside


def answered(head: bytes, body: bytes = b"") -> Exchange:
    """A finished exchange."""
    exchange = Exchange(FETCH)
    exchange.feed(b"HTTP/1.1 " + head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert exchange.done
    return exchange


LINK = b'<a href="y?a=1&amp;b=2#z">y</a>'


def test_only_html_answered_200_has_links() -> None:
    page = read_page(FETCH, answered(b"200 OK\r\nContent-Type: Text/HTML", LINK), True)
    assert page.links == ["http://site.test/dir/y?a=1&b=2"]
    for head in (
        b"200 OK\r\nContent-Type: text/plain",
        b"200 OK",
        b"404 No\r\nContent-Type: text/html",
        b"200 OK\r\nContent-Type: text/htmlx",
        b"200 OK\r\nContent-Type: ; text/html",
        b"200 OK\r\nContent-Type: text/html, text/plain",
        b"200 OK\r\nContent-Type: text/html\r\nContent-Type: image/png",
        b"200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip",
    ):
        assert read_page(FETCH, answered(head, LINK), True).links is None
    for head in (
        b"200 OK\r\nContent-Type: application/xhtml+xml",
        b"200 OK\r\nContent-Type: image/png\r\nContent-Type: text/html",
        b"200 OK\r\nContent-Type: text/html\r\nContent-Type: nonsense",
    ):
        assert read_page(FETCH, answered(head, LINK), True).links


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"text/html; charset=a", ("text/html; charset=a", True, "a")),
        (b"text/html; charset=a, text/html", ("text/html", True, "a")),
        (b"text/html; charset=a, Text/HTML; charset=b", ("Text/HTML; charset=b", True, "b")),
        (b"text/plain; charset=a, text/html, */*", ("text/html", True, None)),
        (b'text/html; x="a, image/png"; charset=b', None),
        (b"text", ("text", False, None)),
    ],
)
def test_types(value: bytes, found: tuple[str, bool, str | None] | None) -> None:
    """The last type of a list counts; a comma in quotes makes no list."""
    assert content_type(value) == (found or (value.decode(), True, "b"))


def rules(size: int = 0) -> bytes:
    return b"User-agent: *\nDisallow: /private\n" + b"#" * size


PACKED = zlib.compress(rules())


@pytest.mark.parametrize(
    ("codings", "body", "found"),
    [
        ([], b"\0", b"\0"),
        (["gzip"], packed(rules()), rules()),
        (["x-gzip"], packed(b"User-") + packed(b"agent"), b"User-agent"),
        (["deflate"], PACKED, rules()),
        (["deflate"], PACKED[2:-4], rules()),  # as some servers send it
        (["deflate", "gzip"], packed(PACKED), rules()),
        (["gzip"], packed(rules(MAX_ROBOTS - len(rules()))), rules(MAX_ROBOTS - 33)),
        (["gzip"], packed(rules(MAX_ROBOTS)), None),
        (["gzip"], packed(bytes(MAX_ROBOTS + 1)), None),
        (["gzip"], packed(bytes(1000)) * 1000, None),
        (["gzip"], packed(rules())[:-5], None),
        (["gzip"], packed(rules()) + b"more", None),
        (["gzip"], rules(), None),
        (["br"], b"", None),
        (["gzip", "br"], b"x", None),
    ],
)
def test_what_cannot_be_decoded_is_no_robots_txt(
    codings: list[str], body: bytes, found: bytes | None
) -> None:
    assert decoded(body, codings) == found


def test_redirects_are_resolved() -> None:
    page = read_page(FETCH, answered(b"302 Found\r\nLocation: ../up#there"), True)
    assert page.redirect == "http://site.test/up"
    assert page.error is None
    page = read_page(FETCH, answered(b"302 Found\r\nLocation: javascript:alert(1)"), True)
    assert (page.redirect, page.error) == (None, "bad_redirect")
    assert read_page(FETCH, answered(b"302 Found"), False).error is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("text/html", None),
        ("text/html; charset=UTF-8", "UTF-8"),
        ('text/html; a=b; Charset="latin-1"', "latin-1"),
        ("text/html; charset=", None),
        ("text/html; charset", None),
    ],
)
def test_charset(kind: str, name: str | None) -> None:
    assert charset(kind) == name


def report(rows: dict[str, PageResult], **settings: object) -> CrawlReport:
    """A report of given rows."""
    made: dict[str, object] = {
        "backend": "test",
        "root": "http://site.test/",
        "concurrency": 1,
        "elapsed_s": 2.0,
        "stopped": None,
        "rows": rows,
        "mechanism": {},
        "prefix": "http://site.test",
    }
    return CrawlReport(**{**made, **settings})  # type: ignore[arg-type]


def rows() -> dict[str, PageResult]:
    """A page, a redirect and a failure."""
    page, redirect, failure = PageResult(200, 5, 7), PageResult(302, 0, 0), PageResult(None, 0, 0)
    redirect.redirect = "http://site.test/"
    failure.error = "timeout"
    return {
        "http://site.test/": page,
        "http://site.test/r": redirect,
        "http://site.test/f": failure,
    }


def test_the_digest_does_not_know_the_port_nor_the_order() -> None:
    here = report(rows())
    there = report(
        {url.replace("site.test", "site.test:81"): row for url, row in reversed(rows().items())},
        prefix="http://site.test:81",
    )
    assert here.digest == there.digest
    for path, name, value in (("", "checksum", 8), ("", "status", 404), ("f", "error", "reset")):
        changed = rows()
        setattr(changed[f"http://site.test/{path}"], name, value)
        assert report(changed).digest != here.digest


def test_why_a_root_was_not_fetched() -> None:
    found = rows()
    assert why_not_fetched(report(found), "http://site.test/r") is None
    assert "timeout" in (why_not_fetched(report(found), "http://site.test/f") or "")
    found["http://site.test/r"].redirect = "http://elsewhere.test/"
    assert "--lenient" in (why_not_fetched(report(found), "http://site.test/r") or "")


def test_a_hostile_type_does_not_steer_the_terminal() -> None:
    page = PageResult(200, 1, 1)
    page.content_type = "text/\x1b[2Jhtml"
    assert "\x1b" not in url_line("http://site.test/", page)


def test_backends_from_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "c10k_broken.py").write_text("raise ValueError('\\x1b[31mno')")
    (tmp_path / "c10k_leaves.py").write_text("raise SystemExit(3)")
    places = {
        "mine": f"{__name__}:MINE",
        "odd": f"{__name__}:JOB",
        "broken": "c10k_broken:BACKEND",
        "gone": "no_such_module:BACKEND",
        "leaves": "c10k_leaves:BACKEND",
    }
    group = {name: EntryPoint(name, place, registry.GROUP) for name, place in places.items()}
    monkeypatch.setattr(registry, "_foreign", lambda: group)
    assert registry.names()[-5:] == sorted(places)
    assert registry.load("mine") is MINE
    assert registry.about("mine") is MINE
    with pytest.raises(registry.BackendError, match="not a Backend"):
        registry.load("odd")
    listed = run("--list").stdout
    assert "\x1b" not in listed
    lines = {line.split()[0]: line for line in listed.splitlines()}
    assert lines.keys() == set(registry.names())
    for name in ("broken", "gone", "leaves"):
        with pytest.raises(registry.BackendError, match="cannot be imported"):
            registry.load(name)
        assert "cannot be imported" in registry.about(name).summary
        assert registry.about(name).missing == registry.about(name).summary
        assert "cannot be imported" in lines[name]


@pytest.mark.parametrize("name", registry.names())
def test_a_description_survives_json_and_does_not_crawl(name: str) -> None:
    backend = registry.about(name)
    copy = registry.Backend(**json.loads(json.dumps(backend.facts())))
    assert copy == backend
    assert copy.against == backend.against
    with pytest.raises(registry.BackendError, match=r"registry\.load"):
        copy.crawl(JOB, NullRecorder())


def _never(job: Job, recorder: object) -> CrawlReport:
    raise AssertionError


MINE = registry.Backend("mine", "summary", "changes", "async", 99, _never)


def test_descriptor_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 1000))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: raised.append(pair))
    limits.ensure_descriptors(10)
    assert raised == []
    limits.ensure_descriptors(500)
    limits.ensure_descriptors(936)  # as many as the next message names
    assert raised == [(500 + limits.SPARE, 1000), (1000, 1000)]
    with pytest.raises(JobError, match=r"need 1064 .* --concurrency 936"):
        limits.ensure_descriptors(1000)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (12, 12))
    with pytest.raises(JobError, match="may open 12: raise the limit"):  # not --concurrency 1
        limits.ensure_descriptors(2)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", Mock(side_effect=ValueError("above nr_open")))
    with pytest.raises(JobError, match="need 1064 descriptors: above nr_open"):
        limits.ensure_descriptors(1000)


def test_only_a_start_after_its_due_time_is_late() -> None:
    times, due = TimesRecorder(), DueRecorder()
    for recorder in (times, due):
        for started in (1.0, 1.0005, 1.5, 2.0):
            recorder.record(0, 1.0, started, 3.0)
    due.settle()
    assert (times.late, times.response) == (due.late, due.response) == (2, [2.0] * 4)
    assert sorted(times.service) == due.service == [1.0, 1.5, 1.9995, 2.0]


def test_a_window_ends_after_so_many_exchanges() -> None:
    recorder = WindowRecorder()
    for _ in range(2 * WINDOW + 1):
        recorder.record(0, 0.0, 1.0, 3.0)
    assert [row[0] for row in recorder.used] == [0, WINDOW, 2 * WINDOW]
    assert len(recorder.service) == 2 * WINDOW + 1
    for before, after in zip(recorder.used, recorder.used[1:], strict=False):
        assert all(a <= b for a, b in zip(before, after, strict=True))  # counters only grow


def test_stop_gives_reasons_and_restores_handlers() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop(Job(("http://x/",), deadline_s=60.0, timeout_s=0.4)) as stop:
        now = time.monotonic()
        assert stop.tick_s == pytest.approx(0.1)
        assert stop.reason(now) is None
        assert stop.reason(now + 61) == "deadline"
        signal.raise_signal(signal.SIGINT)
        assert vars(Stop)["noticed"] is None
        assert stop.reason(now) == "interrupted"
        assert stop.reason(now + 1) == "interrupted"
        assert Stop.noticed is not None
        assert Stop.noticed[0] == now, "when it was first seen"
        assert 0 < Stop.noticed[1] <= time.process_time()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL, "the second one strikes"
    with Stop(JOB) as stop:
        assert vars(Stop)["noticed"] is None
        assert stop.reason(float("1e300")) is None
    with ThreadPoolExecutor() as pool:  # only the main thread may have handlers
        assert pool.submit(Stop(JOB).__enter__).result().reason(0.0) is None
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("sent", "kept"), [(b"", True), (b"x", False), (None, False)])
def test_an_idle_connection_is_closed_only_if_something_came(
    sent: bytes | None, kept: bool
) -> None:
    """asyncio's loop may say ready when the bytes have been read already."""
    here, there = socket.socketpair()
    loop = Loop()
    with here, there:
        here.setblocking(False)
        slot = generators.Slot(0, loop)
        slot.sock, slot.origin = here, ORIGIN
        loop.selector.register(here, EVENT_READ, None)
        if sent is None:
            there.close()
        elif sent:
            there.send(sent)
        generators.notice(slot)
        assert (slot.origin is not None) is kept
    loop.close()
