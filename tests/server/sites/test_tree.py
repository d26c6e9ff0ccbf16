"""Trees: the same for the same seed, and with everything that they promise."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.sites import reference
from server.sites.site import SiteError, digest_of
from server.sites.specs import make_site

AUTHORITY = "127.0.0.1:8000"


@given(
    pages=st.integers(1, 400),
    fanout=st.integers(1, 12),
    seed=st.integers(),
    authority=st.sampled_from([AUTHORITY, "[::1]:99", "127.0.0.1:80", None]),
)
@settings(max_examples=settings().max_examples // 3, deadline=None)
def test_an_independent_crawl_of_a_tree_finds_what_was_built(
    pages: int, fanout: int, seed: int, authority: str | None
) -> None:
    site = make_site(f"tree:{pages}:{fanout}:4096", seed, authority)
    found, page_bytes = reference.crawl(site.find, authority or "localhost")
    assert found == site.expected()
    assert site.digest == digest_of(found)
    assert site.pages == pages
    assert site.urls == len(found)
    assert site.page_bytes == page_bytes == pages * 4096


@given(seed=st.integers(0, 50), size=st.integers(2000, 5000))
@settings(max_examples=10, deadline=None)
def test_a_tree_is_a_function_of_its_seed(seed: int, size: int) -> None:
    first = make_site(f"tree:60:5:{size}", seed, AUTHORITY)
    again = make_site(f"tree:60:5:{size}", seed, AUTHORITY)
    other = make_site(f"tree:60:5:{size}", seed + 1, AUTHORITY)
    payloads = {key: one.payload for key, one in first.routes.items()}
    assert payloads == {key: one.payload for key, one in again.routes.items()}
    assert first.digest == again.digest != other.digest


@pytest.mark.parametrize(
    ("spec", "authority", "digest"),
    [
        (
            "tree:200:5:2048",
            None,
            "4b6993bd3d41779c9d6af855c916e7ca0554ccb1fc88d81c84a018108ce92a07",
        ),
        (
            "tree:1500:5:2048",
            AUTHORITY,
            "a6731fac73c541f2d785c4fc66c0dc233f13fb65716078775de7a503f9e01192",
        ),
        (
            "list:1000:2048",
            None,
            "831e588a31f498cb5b595852b0f00a09fef1ef0fe1d83ca22b3b5dbba797894b",
        ),
    ],
)
def test_a_site_stays_the_same_from_release_to_release(
    spec: str, authority: str | None, digest: str
) -> None:
    """A changed generator makes old results incomparable: change this only on purpose."""
    assert make_site(spec, 1, authority).digest == digest


def test_a_small_tree_has_every_special_kind() -> None:
    site = make_site("tree:200:5:2048", 1, AUTHORITY)
    expected = site.expected()
    statuses = Counter(status for status, _ in expected.values())
    assert statuses[200] == 200
    assert statuses[404] == 2
    redirects = sum(statuses[code] for code in (301, 302, 303, 307, 308))
    assert redirects == 10
    assert all(resource.size == 2048 for resource in site.routes.values() if resource.status == 200)
    assert any("?" in key for key in expected)
    assert any("%C3%A9" in key for key in expected)
    assert any("%c3%af" in key for key in expected)
    assert any("%20" in key for key in expected)
    everything = b"".join(resource.payload for resource in site.routes.values())
    for needle in (b'"../', b'"./', b"&amp;", b"//127.0.0.1", b"<!-- <a", b"mailto:", b"<base"):
        assert needle in everything
    locations = [resource.location for resource in site.routes.values() if resource.location]
    targets = Counter(reference.resolve(f"http://{AUTHORITY}/moved/0", one) for one in locations)
    assert max(targets.values()) > 1, "no two redirects merge"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("tree:-1", "whole numbers"),
        ("list:1_0", "whole numbers"),
        ("list:1:1:100", "LINES must be from 0 to 99, not 100"),
        ("tree:1000000:5:65536", "8 GiB"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec: str, says: str) -> None:
    with pytest.raises(SiteError, match=says):
        make_site(spec, 1, None)


def test_the_size_a_tree_asks_for_is_enough() -> None:
    with pytest.raises(SiteError) as caught:
        make_site("tree:300:40:100", 1, AUTHORITY)
    spec = str(caught.value).partition("write ")[2].partition(" ")[0]
    assert make_site(spec, 1, AUTHORITY).pages == 300
