"""Site specs: a bad one gets a message that says what to change."""

from __future__ import annotations

import pytest

from server.sites.site import SiteError
from server.sites.specs import make_site


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("tree:200:50:2048", "write tree:200:50:3"),
        ("tree:0:5:2048", "PAGES must be from 1"),
        ("tree:5:0:2048", "FANOUT must be from 1"),
        ("tree:a:5:2048", "whole numbers"),
        ("tree:1:2:3:4", "of the form tree:PAGES:FANOUT:BYTES"),
        ("tree:-1:5:2048", "whole numbers"),
        ("tree:1000000:5:67108864", "do not fit"),
        ("list:0:10", "N must be from 1"),
        ("list:2000000:10", "N must be from 1 to 1000000"),
        ("dir:", "not a site"),
        ("dir:/nonexistent/folder", "no such directory"),
        ("forest", "not a site"),
        ("", "not a site"),
    ],
)
def test_a_bad_spec_says_what_to_change(spec: str, said: str) -> None:
    with pytest.raises(SiteError) as caught:
        make_site(spec, 1, None)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
