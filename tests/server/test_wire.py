"""The fixture server and the models in memory: the same requests, cut in any way."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.connection import MAX_HEAD
from tests.server.fixture_server import get
from tests.server.wire import CASES, HOSTS, Case, Fixture, Models, statuses

SERVERS: dict[str, type[Fixture] | type[Models]] = {"fixture": Fixture, "models": Models}
each_server = pytest.mark.parametrize("name", SERVERS)


def answered(server: Fixture | Models, sent: bytes) -> str:
    """What a request comes to, in the words of the table."""
    written, ends = server.talk(sent)
    words = re.findall(r"^HTTP/1\.1 (\d+) ", written.decode("latin-1"), re.MULTILINE)
    assert (b"Connection: close\r\n" in written) == ends
    return " ".join([*words, *(["closes"] if ends else [])])


@each_server
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_answer_is_what_the_table_says(name: str, case: Case) -> None:
    server = SERVERS[name]()
    for _ in range(2):  # the second time the rest of the head is known
        assert answered(server, case.sent) == getattr(case, name)
    alone, ends = server.talk(case.sent)
    if ends:
        assert (
            server.talk(case.sent + get("/")) == server.talk(case.sent, get("/")) == (alone, ends)
        )


@each_server
@pytest.mark.parametrize("answer", HOSTS)
def test_a_host_is_a_host(name: str, answer: str) -> None:
    server = SERVERS[name]()
    for host in HOSTS[answer]:
        assert answered(server, b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host) == answer
        old = answered(server, b"GET / HTTP/1.0\r\nHost: %b\r\n\r\n" % host)
        assert old == answer.removesuffix(" closes") + " closes"


@each_server
@given(cases=st.lists(st.sampled_from(CASES), min_size=1, max_size=5), data=st.data())
@settings(max_examples=4 * settings().max_examples)
def test_no_split_of_the_bytes_changes_the_answers(
    name: str, cases: list[Case], data: st.DataObject
) -> None:
    server = SERVERS[name]()
    sent = b"".join(case.sent for case in cases)
    whole = server.talk(sent, end=True)
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=20).map(sorted))
    if len(sent) < 300 and data.draw(st.booleans()):
        cuts = list(range(len(sent)))
    edges = zip([0, *cuts], [*cuts, len(sent)], strict=True)
    pieces = [sent[start:stop] for start, stop in edges if start < stop]
    for forgets in (True, False):
        if forgets:
            server.forget()
        assert server.talk(*pieces, end=True) == whole


@each_server
def test_the_heads_remembered_are_bounded(name: str) -> None:
    server = SERVERS[name]()
    for number in range(3 * server.most):
        server.talk(get("/", f"X-Number: {number}"))
    server.talk(get("/", f"X: {'y' * 8000}"))
    assert 0 < len(server.remembered) <= server.most
    assert max(map(len, server.remembered)) < 100


@each_server
@pytest.mark.parametrize("tail", [b"Host: x\r\n\r\n", b"\r\n"])
def test_what_another_client_sent_does_not_change_a_request(name: str, tail: bytes) -> None:
    """The end of an HTTP/1.0 head had closed the connections of clients that send the same."""
    server = SERVERS[name]()
    heads = (b"GET / HTTP/1.1\r\n" + tail, b"GET / HTTP/1.0\r\nX: HTTP/1.1\r\n" + tail)
    for first, second in permutations(heads):
        server.forget()
        before = server.talk(second)
        server.forget()
        server.talk(first)
        assert server.talk(second) == before


@each_server
def test_every_answer_for_a_page_has_the_same_head_and_head_has_no_body(name: str) -> None:
    server = SERVERS[name]()
    full, _ = server.talk(get("/"))
    last, _ = server.talk(get("/", "Connection: close"))
    assert last.replace(b"Connection: close\r\n", b"") == full
    for _ in range(2):
        head, _ = server.talk(get("/", method="HEAD"))
        assert full.startswith(head)
        assert head.endswith(b"\r\n\r\n")


@each_server
def test_a_head_of_just_the_limit_is_served(name: str) -> None:
    server = SERVERS[name]()
    room = MAX_HEAD - len(get("/", "X: "))
    for size, status in ((room, 200), (room + 1, 431)):
        assert statuses(server.talk(get("/", f"X: {'y' * size}"))[0]) == [status]
