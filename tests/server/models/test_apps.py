"""The application of the stacks."""

from __future__ import annotations

from server.models.apps import parts_of
from server.models.conversation import PART
from server.sites.site import Resource


def test_a_large_body_is_one_object_for_all_requests() -> None:
    """aiohttp holds it until a slow reader has taken it: each copy was a megabyte."""
    page = Resource(200, "text/plain", bytes(PART + 1))
    (one,), (other,) = (list(parts_of(page)) for _ in range(2))
    assert one == (page.body, False)
    assert one[0] is other[0]
