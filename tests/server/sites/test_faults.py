"""The fault site: which pages it has, and which bytes each kind stands for."""

from __future__ import annotations

import hashlib
import random
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.sites.fault_kinds import FAULTS, KINDS, End, Page, pieces
from server.sites.faults import Faulty, make_faults, read_pages, seeded


@given(st.integers(1, 2000), st.integers(0, 9))
def test_a_fault_site_is_a_tree_and_a_function_of_its_seed(size: int, seed: int) -> None:
    pages = list(seeded(size, FAULTS, seed))
    assert pages == list(seeded(size, FAULTS, seed))
    linked = [link for page in pages for link in page.links if link != "/"]
    assert sorted(linked) == sorted(page.path for page in pages[1:])
    assert all(page.kind == "page" for page in pages if len(page.links) > 1)


def test_a_large_enough_site_has_every_fault() -> None:
    kinds = {page.kind for page in seeded(400, FAULTS, 1)}
    assert kinds == {"page", *FAULTS}


@given(
    st.sampled_from(sorted(set(KINDS) - {"huge_attribute", "addresses"})),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_cuts_do_not_change_what_is_sent(kind: str, cuts: list[int]) -> None:
    page = Page("/x", kind, ("/a",), cuts=tuple(cuts))
    wire = KINDS[kind](page, random.Random(1))
    sent = pieces(page, wire)
    assert b"".join(sent) == wire.data + wire.glued
    assert all(sent)
    assert not wire.glued or sent[-1].endswith(wire.glued)
    assert wire.end in End


def test_pages_are_read_from_json() -> None:
    assert read_pages([{"path": "/", "links": ["/a"], "cuts": [1]}]) == [
        Page("/", links=("/a",), cuts=(1,))
    ]
    with pytest.raises(ValueError):
        read_pages({"path": "/"})


def test_a_fault_site_stays_the_same_from_release_to_release() -> None:
    """A changed generator makes old results incomparable: change this only on purpose."""
    kinds = [kind for kind in FAULTS if kind != "bomb"]  # zlib's output depends on its release
    sha = hashlib.sha256()
    with closing(make_faults(f"faults:400:{','.join(kinds)}", 1, None)) as site:
        for key, resource in site.routes.items():
            assert isinstance(resource, Faulty)
            page, wire = site.wire(resource)
            sha.update(key + page.kind.encode() + wire.data + wire.glued + wire.end.name.encode())
    assert sha.hexdigest() == "db87a39583866e20f0c73c4d046f315a40f8f5475bf71b750f65a0e6f630de15"
