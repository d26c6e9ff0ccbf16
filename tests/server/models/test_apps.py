"""The application of the stacks."""

from __future__ import annotations

from server.models.apps import body_of
from server.models.conversation import PART
from server.sites.site import Resource


def test_a_large_body_is_one_object_for_all_requests() -> None:
    """aiohttp holds it until a slow reader has taken it: each copy was a megabyte."""
    page = Resource(200, "text/plain", bytes(PART + 1))
    assert body_of(page) == page.body
    assert body_of(page) is body_of(page)
